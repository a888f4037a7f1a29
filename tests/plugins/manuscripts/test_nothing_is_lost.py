"""Cells that earlier versions lost or changed are read, and parts that are not read are findings."""

import pytest

from repro.plugins.manuscripts.auditing import audited
from repro.plugins.manuscripts.reading import read
from repro.plugins.manuscripts.rows import transcribe
from repro.plugins.manuscripts.series import value_of
from tests.plugins.manuscripts.source_tables import cell
from tests.plugins.manuscripts.sources import heads, manuscript, rows, written

TABULAR = r"\begin{table}\begin{tabular}{lcc} Model & MRR@10 & R@1000 \\ \midrule %s \end{tabular}\end{table}"
FIRST = r"BM25 & 18.4 & 85.3 \\ "


def body(folder, lines: str, preamble: str = "") -> list[list[str]]:
    made = manuscript(folder, TABULAR % lines, preamble)
    assert made.lost == ()
    return rows(made.tables[0])


@pytest.mark.parametrize(
    ("written_so", "is_read_as"),
    [
        ("18,4 & 85,30", ["18.4", "85.30"]),
        ("$18{,}4$ & 1.085{,}3", ["18.4", "1085.3"]),
        ("0,184 & 12,345", ["0.184", "12.345"]),  # no decimal points, so each comma is one
        ("18,4±0,2 & 85.3", ["18.4±0.2", "85.3"]),
        ("18.4 & 12,345", ["18.4", "12,345"]),
        ("18.4 & 1{,}024", ["18.4", "1,024"]),
        (r"\num{18.4} & \tablenum{85,3}", ["18.4", "85.3"]),
        (r"\qty{18.4}{\percent} & \qty{12}{\milli\second}", ["18.4 %", "12 ms"]),
    ],
)
def test_a_decimal_comma_is_no_thousands_sign(tmp_path, written_so, is_read_as):
    assert body(tmp_path, rf"BM25 & {written_so} \\")[0][1:] == is_read_as


@pytest.mark.parametrize(
    ("label", "is_read_as"),
    [
        (r"\href{https://x.org/a_b%20c#d}{ANCE}", "ANCE"),
        (r"\url{x.org/a%20b#c}", "x.org/a%20b#c"),
        (r"\verb|a_b%c&d|", "a b%c&d"),
        (r"\lstinline{a_b%c}", "a_b%c"),
    ],
)
def test_a_percent_sign_of_an_address_or_verbatim_is_no_comment(tmp_path, label, is_read_as):
    made = body(tmp_path, FIRST + f"{label} & 33.0 & 95.9 \\\\\nOtter & 39.5 & 98.6 \\\\")
    assert [row[0].replace("_", " ") for row in made] == ["BM25", is_read_as.replace("_", " "), "Otter"]


def test_a_document_command_has_stars_and_optional_arguments(tmp_path):
    define = r"\NewDocumentCommand{\best}{s m O{x}}{\IfBooleanTF{#1}{\underline{#2}}{\textbf{#2}}}"
    define += r"\DeclareDocumentCommand\name{o m}{#2\IfValueT{#1}{ (#1)}\IfNoValueTF{#1}{!}{}}"
    made = body(tmp_path, r"\name{A} & \best{1.5} & \best*{2.5}[y] \\ \name[v2]{B} & 1 & 2 \\", define)
    assert made == [["A!", "**1.5**", "2.5_"], ["B (v2)", "1", "2"]]


@pytest.mark.parametrize(
    "table",
    [
        r"""\begin{NiceTabular}{lcccc}[hvlines]\CodeBefore\rowcolor{gray!15}{1} & \Body
        \Block{2-1}{Model} & \Block{1-2}{TREC DL} & & \Block{1-2}{BEIR} & \\ & 2019 & 2020 & FiQA & SciFact \\
        BM25 & 50.6 & 48.0 & 23.6 & \cellcolor{green!20}66.5 \\ \CodeAfter \tikz \draw (1) -- (2) & ;
        \end{NiceTabular}""",
        r"""\begin{tblr}{colspec={lcccc}}\toprule
        \SetCell[r=2]{l} Model & \SetCell[c=2]{c} TREC DL & & \SetCell[c=2]{c} BEIR & \\
        & 2019 & 2020 & FiQA & SciFact \\\midrule
        {BM\\25} & 50.6 & 48.0 & 23.6 & \SetCell{bg=green9} 66.5 \\\end{tblr}""",
    ],
)
def test_merged_heads_of_packages_cover_their_columns(tmp_path, table):
    made = manuscript(tmp_path, rf"\begin{{table}}{table}\end{{table}}")
    assert heads(made.tables[0]) == [
        ["Model", "TREC DL", "TREC DL", "BEIR", "BEIR"],
        ["Model", "2019", "2020", "FiQA", "SciFact"],
    ]
    assert rows(made.tables[0])[0][1:] == ["50.6", "48.0", "23.6", "66.5"] and made.lost == ()
    assert "green" in made.tables[0].body[0][4].shade


def test_units_and_exponents_are_part_of_a_number():
    assert transcribe(cell("8.8M")).text == "-" and transcribe(cell("8.8M")).remainder == "8.8M"
    numbers = {"8.8M": 8_800_000, "110k": 110_000, "1.2e3": 1200, "1.5×10^2": 150}
    numbers |= {"38.2(3)": 38.2, "0.568 (±0.004)": 0.568, "$1,186.1": 1186.1, "7,281k": 7_281_000}
    numbers |= {"38.1 (61.1)": 38.1, "00.89 (23.39)": 0.89, "32.5% (65/200)": 32.5, "-0.43 (0.2)": -0.43}
    numbers |= {
        "5e-05": 5e-5,
        "10^-6": 1e-6,
        "3×10^-4": 3e-4,
        "108s": 108,
        "2.3\u2009pp": 2.3,
        "1,431×": 1431,
    }
    assert {text: float(value_of(cell(text), 0).number) for text in numbers} == numbers


@pytest.mark.parametrize(
    ("name", "text", "line", "says"),
    [
        ("a.tex", TABULAR % "A & \\textbf{18.4 & 85.3 \\\\\nB & 1.5 & 2.5 \\\\" + "}", 1, "is still open"),
        ("a.tex", "\\begin{table}\\begin{tabx} A & B & C \\\\ 1 & 2 & 3\\end{tabx}\\end{table}", 1, "This t"),
        ("a.csv", "Model,FiQA,SciFact\nBM25,23,6,66,5\n", 2, "This row has 5 cells, and the others have 3"),
        ("a.md", "|M|FiQA|R@5|\n|-|-|-|\n|A|1.5|2.5|\n|B|1.5|2.5|3|\n", 4, "This row has 4 cells"),
        ("a.csv", "Model,FiQA,SciFact\nBM25,23.6,66.5\nANCE,8 or 9,50.7\n", 3, "'8 or 9' in a column"),
    ],
)
def test_a_part_that_is_not_read_is_a_finding(tmp_path, name, text, line, says):
    whole = text if name != "a.tex" else f"{text}\n{TABULAR % FIRST}"
    found = [f for f in audited(written(tmp_path, whole, name)).findings if f.check == "unread"]
    assert any(f.place.line == line and says in f.says for f in found), found


def test_tables_of_semicolons_have_decimal_commas(tmp_path):
    text = "sep=;\nModel;Dev, MRR@10;Dev, R@1000;TREC, nDCG@10\nBM25;18,4;85,3;50,6\nANCE;33,0;95,9;64,8\n"
    made = read(written(tmp_path, text, "a.csv"))
    assert rows(made.tables[0]) == [["BM25", "18.4", "85.3", "50.6"], ["ANCE", "33.0", "95.9", "64.8"]]
