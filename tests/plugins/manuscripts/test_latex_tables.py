"""Rows, columns, spans, rules and heads of LaTeX's tables."""

import pytest

from repro.plugins.manuscripts.layout import layout
from repro.plugins.manuscripts.reading import read
from repro.plugins.manuscripts.vocabulary import measures
from tests.plugins.manuscripts.sources import PREAMBLE, heads, manuscript, rows, written

MAIN = r"""
\begin{table*}[t]
\centering
\caption{Results of \emph{Heron}. Best in bold.}
\label{tab:main_1}
\resizebox{\textwidth}{!}{%
\begin{tabular}{l|cc@{\quad}c}
\toprule
\multirow{2}{*}{Model} & \multicolumn{2}{c}{MS MARCO Dev} & \rotatebox{90}{TREC DL 19} \\
\cmidrule(lr){2-3}\cmidrule(lr){4-4}
 & MRR@10 & R@1k & nDCG@10 \\
\midrule
\multicolumn{4}{c}{\textit{Sparse}} \\
BM25 & 18.7 & 85.7 & 50.1 \\ % as published
\midrule
\multicolumn{4}{c}{\textit{Dense}} \\ \rowcolor{gray!10}
Heron & \textbf{39.9}$^{\dagger}$ & \underline{98.1} & -- \\
\cdashline{1-4}
\multirow{2}{*}{Crane} & 38.0 & 98.6
  & 70.2 \\[2pt]
 & 37.5 & \\
\bottomrule
\end{tabular}}
\begin{tablenotes}\item[$\dagger$] better than BM25, $p<0.05$\end{tablenotes}
\end{table*}
As Table~\ref{tab:main_1} shows, Heron has 39.9.
"""


def test_a_table_with_everything_that_booktabs_offers(tmp_path):
    (table,) = manuscript(tmp_path, MAIN).tables
    assert heads(table) == [
        ["Model", "MS MARCO Dev", "MS MARCO Dev", "TREC DL 19"],
        ["Model", "MRR@10", "R@1k", "nDCG@10"],
    ]
    assert rows(table) == [
        ["Sparse"] * 4,
        ["BM25", "18.7", "85.7", "50.1"],
        ["Dense"] * 4,
        ["Heron", "**39.9**^†", "98.1_", "–"],
        ["Crane", "38.0", "98.6", "70.2"],
        ["Crane", "37.5", "", ""],
    ]
    assert table.rules == {2, 4}
    assert (table.number, table.label, table.width) == ("1", "tab:main_1", 4)
    assert table.caption == "Results of Heron. Best in bold."
    assert table.legend == ("† better than BM25, p<0.05",)
    group, crane = table.body[0][0], table.body[4][0]
    assert group.columns == 4 and table.body[0][3] is group
    assert table.body[5][0] is crane
    assert [row[-1].place.line for row in table.body[3:]] == [20, 23, 24]


def test_prose_has_places_and_numbers_of_floats(tmp_path):
    made = manuscript(tmp_path, MAIN)
    (paragraph,) = made.prose
    assert str(paragraph[0]) == f"{tmp_path}/main.tex:29"
    assert paragraph[1] == "As Table 1 shows, Heron has 39.9."
    assert made.labels == {"tab:main_1": "1"}


ROWS = r"Model & MRR \\ \hline BM25 & 18.7 \\ Heron & 39.9 \\"
HALF = rf"\begin{{tabular}}{{lc}}{ROWS}\end{{tabular}}"
TABULARS = [
    r"\begin{tabular}[t]{lc}%s\end{tabular}",
    r"\begin{tabular*}{\textwidth}{@{\extracolsep{\fill}}lc}%s\end{tabular*}",
    r"\begin{tabularx}{\linewidth}{Xc}%s\end{tabularx}",
    r"\begin{tabulary}{\linewidth}{LC}%s\end{tabulary}",
    r"\begin{longtable}{lc}%s\end{longtable}",
    r"\begin{tabular}{l S[table-format=2.1]}%s\end{tabular}",
    r"\begin{adjustbox}{max width=\textwidth}\begin{tabular}{lc}%s\end{tabular}\end{adjustbox}",
    r"\adjustbox{max width=\textwidth}{\begin{tabular}{lc}%s\end{tabular}}",
    r"\scalebox{0.9}{\begin{tabular}{lc}%s\end{tabular}}",
    r"\begin{threeparttable}\begin{tabular}{lc}%s\end{tabular}\end{threeparttable}",
    r"\begin{table*}[t]\begin{tabular}{lc}%s\end{tabular}\end{table*}",
    r"\begin{sidewaystable}\begin{tabular}{lc}%s\end{tabular}\end{sidewaystable}",
    r"\begin{wraptable}{r}{5cm}\begin{tabular}{lc}%s\end{tabular}\end{wraptable}",
    r"\begin{table}$\begin{array}{lc}%s\end{array}$\end{table}",
    r"{\small\begin{center}\begin{tabular}{lc}%s\end{tabular}\end{center}}",
    r"\setlength{\tabcolsep}{3pt}\renewcommand{\arraystretch}{1.2}\begin{tabular}{lc}%s\end{tabular}",
    r"\newcommand{\bt}{\begin{tabular}{lc}}\bt %s\end{tabular}",
]


@pytest.mark.parametrize("frame", TABULARS)
def test_every_tabular_in_every_frame_is_the_same_table(tmp_path, frame):
    (table,) = manuscript(tmp_path, frame.replace("%s", ROWS)).tables
    assert heads(table) == [["Model", "MRR"]]
    assert rows(table) == [["BM25", "18.7"], ["Heron", "39.9"]]
    assert not table.legend


def test_an_array_of_an_equation_is_no_table(tmp_path):
    body = ROWS.join((r"\begin{equation}\begin{array}{lc}", r"\end{array}\end{equation}"))
    (table,) = manuscript(tmp_path, rf"{body}\begin{{tabular}}{{lc}}{ROWS}\end{{tabular}}").tables
    assert table.number == ""


@pytest.mark.parametrize("name", ["verbatim", "lstlisting", "comment", "filecontents"])
def test_what_is_shown_as_it_is_written_is_no_table(tmp_path, name):
    shown = rf"\begin{{{name}}}{HALF.replace('18.7', '99.9')}\end{{{name}}}"
    (table,) = manuscript(tmp_path, shown + HALF.replace("MRR", "{MRR}").replace("lc", "lS")).tables
    assert (heads(table), rows(table)[0]) == ([["Model", "MRR"]], ["BM25", "18.7"])


def test_a_long_table_has_its_head_once_and_no_foot(tmp_path):
    (table,) = manuscript(
        tmp_path,
        r"""\begin{longtable}{lc}
        \caption{All of them.}\label{tab:long}\\ \toprule Model & MRR \\ \midrule \endfirsthead
        \multicolumn{2}{c}{continued} \\ Model & MRR \\ \endhead
        \multicolumn{2}{r}{to be continued} \\ \endfoot \bottomrule \endlastfoot
        BM25 & 18.7 \\ Heron & 39.9 \\
        \end{longtable}""",
    ).tables
    assert (heads(table), rows(table)) == ([["Model", "MRR"]], [["BM25", "18.7"], ["Heron", "39.9"]])
    assert (table.caption, table.number, table.label) == ("All of them.", "1", "tab:long")


HALVES = {
    rf"\begin{{table}}\caption{{Both.}}\label{{t}}{HALF}\hfill{HALF}\end{{table}}": [("1", "Both.", "t")] * 2,
    rf"""\begin{{table}}\begin{{minipage}}{{.5\textwidth}}\caption{{One.}}\label{{a}}{HALF}\end{{minipage}}\hfill
    \begin{{minipage}}{{.5\textwidth}}{HALF}\caption{{Two.}}\label{{b}}\end{{minipage}}\end{{table}}""": [
        ("1", "One.", "a"),
        ("2", "Two.", "b"),
    ],
    rf"""\begin{{table}}\begin{{subtable}}{{.5\textwidth}}{HALF}\caption{{One.}}\label{{a}}\end{{subtable}}
    \begin{{subtable}}[t]{{.5\textwidth}}{HALF}\caption{{Two.}}\end{{subtable}}
    \caption{{Both.}}\label{{t}}\end{{table}}""": [("1a", "Both. One.", "a"), ("1b", "Both. Two.", "t")],
    rf"\begin{{table}}\subfloat[One.]{{{HALF}}}\subfloat[Two.]{{{HALF}}}\caption{{Both.}}\end{{table}}": [
        ("1a", "Both. One.", ""),
        ("1b", "Both. Two.", ""),
    ],
    rf"\begin{{table}}\begin{{tabular}}{{cc}}{HALF} & {HALF}\end{{tabular}}\caption{{Both.}}\end{{table}}": [
        ("1", "Both.", "")
    ]
    * 2,
    rf"\begin{{table}}{HALF}\caption{{One.}}{HALF}\caption{{Two.}}\end{{table}}": [
        ("1", "One.", ""),
        ("2", "Two.", ""),
    ],
    rf"\begin{{figure}}\caption{{F}}\end{{figure}}{HALF}\begin{{table}}\caption*{{No.}}{HALF}\end{{table}}": [
        ("", "", ""),
        ("", "No.", ""),
    ],
}


@pytest.mark.parametrize("source", HALVES)
def test_two_tables_side_by_side_are_two(tmp_path, source):
    tables = manuscript(tmp_path, source).tables
    assert [(t.number, t.caption, t.label) for t in tables] == HALVES[source]
    assert all(rows(table) == [["BM25", "18.7"], ["Heron", "39.9"]] for table in tables)


@pytest.mark.parametrize(
    "line",
    [
        r"\hline\hline",
        r"\Xhline{2\arrayrulewidth}",
        r"\hhline{==}",
        r"\midrule[1pt]",
        r"\specialrule{1pt}{2pt}{2pt}",
        r"\noalign{\smallskip}\hline\noalign{\smallskip}",
        r"\arrayrulecolor{gray}\hline",
        r"\hdashline[1pt/1pt]",
        r"\cmidrule[1pt](lr){1-2}",
        r"\thick",
    ],
)
def test_a_line_is_a_line_however_it_is_drawn(tmp_path, line):
    thick = r"\newcommand{\thick}{\noalign{\ifnum0=`}\fi\hrule height 1pt\futurelet\reserved\xhline}"
    body = rf"{line} k & 1 \\ {line} BM25 & 18.7 \\ {line} Heron & 39.9 \\ {line}"
    (table,) = manuscript(tmp_path, rf"\begin{{tabular}}{{lc}}{body}\end{{tabular}}", thick).tables
    assert (heads(table), rows(table)) == ([["k", "1"]], [["BM25", "18.7"], ["Heron", "39.9"]])
    assert table.rules == {1} and not table.notes


DOWN = [["x", "1.0", "2.0"], ["x", "3.0", "4.0"]]
SPANS = {
    r"A & B & C \\ \midrule \multirow{2}{*}{x} & 1.0 & 2.0 \\ & 3.0 & 4.0 \\": DOWN,
    r"A & B & C \\ \midrule & 1.0 & 2.0 \\ \multirow{-2}{*}{x} & 3.0 & 4.0 \\": DOWN,
    r"A & B & C \\ \midrule \multirow[c]{2}{3cm}[1ex]{x} & 1.0 \\ \cmidrule{2-3} & 3.0 & 4.0 \\": [
        ["x", "1.0", ""],
        ["x", "3.0", "4.0"],
    ],
    r"A & B & C \\ \midrule \multicolumn{2}{c}{\multirow{2}{*}{x}} & 2.0 \\ \multicolumn{2}{c}{} & 4.0 \\": [
        ["x", "x", "2.0"],
        ["x", "x", "4.0"],
    ],
    r"A & B & C \\ \midrule x & {\bf 1.0} & 2.0 \\ & & \\ \addlinespace[2pt] y & 3.0 & 4.0": [
        ["x", "**1.0**", "2.0"],
        ["y", "3.0", "4.0"],
    ],
}


@pytest.mark.parametrize("source", SPANS)
def test_spans_go_over_their_rows_and_columns(tmp_path, source):
    (table,) = manuscript(tmp_path, rf"\begin{{tabular}}{{lcc}}{source}\end{{tabular}}").tables
    assert rows(table) == SPANS[source]


HEADS = {
    r"\toprule k & 1 & 5 & 20 \\ \midrule BM25 & 18.7 & 20.1 & 30.2 \\ \bottomrule": 1,
    r"\hline Model & \multicolumn{2}{c}{Dev} \\ \hline & MRR & R \\ \hline BM25 & 18.7 & 85.7 \\ \hline": 2,
    r"\hline Model & \multicolumn{2}{c}{Dev} \\ \hline & MRR & R \\ BM25 & 18.7 & 85.7 \\ \hline": 2,
    r"Model & MRR & R \\ BM25 & 18.7 & 85.7 \\": 1,
    r"Setting & Small & Large \\ rate & 5$\times10^{-5}$ & 3$\times10^{-5}$ \\ batch & 512 & 64 \\": 1,
    r"Model & MRR & R \\ \multicolumn{3}{l}{Sparse} \\ BM25 & 18.7 & 85.7 \\": 1,
    r"\toprule Model & MRR & R \\ \midrule \multicolumn{3}{l}{Sparse} \\ \midrule BM25 & 18.7 & 85.7 \\": 1,
    r"\toprule Model & MRR & R \\ \midrule Sparse & & \\ BM25 & 18.7 & 85.7 \\": 1,
    r"\toprule Data & Queries & Texts \\ \midrule Dev & 6,980 & 8.8M \\ Test & 43 & 8.8M \\": 1,
    r"\toprule & \multicolumn{2}{c}{Dev} \\ \cmidrule{2-3} & MRR & R \\ \hline X & - & -\\ Y & .1 & 2\\": 2,
    r"\hline Model & MRR & R \\ \hline Heron & n/a & words \\ \hline BM25 & 18.7 & 85.7 \\ \hline": 1,
    r"\hline BM25 & 18.7 & 85.7 \\ \hline Heron & 39.9 & 98.1 \\ \hline": 0,
}


@pytest.mark.parametrize("source", HEADS)
def test_the_head_ends_where_values_begin(tmp_path, source):
    (table,) = manuscript(tmp_path, rf"\begin{{tabular}}{{lccc}}{source}\end{{tabular}}").tables
    assert len(table.head) == HEADS[source]


def test_tables_above_each_other_in_one_are_two(tmp_path):
    part = r"\multicolumn{2}{c}{%s}\\ \midrule Model & MRR\\ \midrule BM25 & 18.7\\ \hline Heron & 39.9\\"
    source = part % "Dev" + part % "Test"
    tabular = rf"\begin{{tabular}}{{lc}}{source}\end{{tabular}}"
    tables = manuscript(tmp_path, rf"\begin{{figure}}{tabular}\caption{{F}}\end{{figure}}").tables
    assert [heads(table)[0] for table in tables] == [["Dev", "Dev"], ["Test", "Test"]]
    assert all(rows(table) == [["BM25", "18.7"], ["Heron", "39.9"]] for table in tables)
    assert [(table.rules, table.number) for table in tables] == [({1}, "")] * 2


def test_lines_are_those_of_the_file_a_cell_is_written_in(tmp_path):
    written(tmp_path, "\n\nBM25 & 18.7 \\\\\n% a comment\nHeron & \\heron \\\\\n", "parts/rows.tex")
    written(tmp_path, "% macros\n\\newcommand{\\heron}{39.9}\n", "macros.sty")
    body = "\\begin{tabular}{lc}\nModel & MRR \\\\ \\hline\n\\input{parts/rows}\n\\end{tabular}\n"
    written(tmp_path, "\\usepackage{graphicx,macros}\n" + PREAMBLE + body + "\\end{document}")
    (table,) = read(tmp_path).tables
    assert [str(row[1].place) for row in (*table.head, *table.body)] == [
        f"{tmp_path}/main.tex:5",
        f"{tmp_path}/parts/rows.tex:3",
        f"{tmp_path}/parts/rows.tex:5",
    ]
    assert table.body[1][1].text == "39.9"


@pytest.mark.parametrize(
    "order", [r"\input{a}", r"\input a ", r"\include{a}", r"\subfile{a}", r"\import{./}{a}"]
)
def test_files_are_read_in_where_they_are_named(tmp_path, order):
    part = r"\documentclass[main]{subfiles}\begin{document}" + HALF + r"\end{document} Not printed."
    written(tmp_path, HALF if "subfile" not in order else part, "a.tex")
    made = manuscript(tmp_path, f"Before.\n\n{order}\n\nAfter.")
    assert len(made.tables) == 1
    assert [text for _, text in made.prose][-1] == "After."


def test_braces_that_do_not_match_are_told_with_what_could_be_read(tmp_path):
    made = manuscript(
        tmp_path,
        r"\begin{table}\begin{tabular}{lc}Model & MRR\\ BM25 & {\bf 18.7\\ X & 1.0\\\end{tabular}\end{table}",
    )
    assert len(made.tables) == 1 and any("is still open" in text for _, text in made.lost)


def test_a_float_without_an_end_hides_no_other(tmp_path):
    made = manuscript(tmp_path, rf"\begin{{table}}{HALF}\begin{{table}}{HALF}\end{{table}}")
    assert [rows(table)[0] for table in made.tables] == [["BM25", "18.7"]] * 2
    assert [text for _, text in made.lost] == ["\\begin{table} has no \\end"]


CONTINUED = (
    r"Way & F1 & EM \\ \hline Oak, & \multirow{2}{*}{1.2} & \multirow{2}{*}{3.4} \\ Elm & & \\ Ash & 1 & 2 \\"
)
LISTS = r"Model & F1 & Model & F1 \\ \midrule Oak & 1.2 & Elm & 1.3 \\ Ash & 1.4 & Fir & 1.5 \\"
BLOCK = r"Tree & Way & F1 \\ \hline & a & 1.1 \\ Oak & b & 1.2 \\ \hline & a & 1.3 \\ Elm & b & 1.4 \\"
MATRIX = (
    r" & A & B \\" + "".join(rf"row{'abcd'[n]} & {n} & 1{n} \\" for n in range(4)) + r"\hline all & 6 & 46 \\"
)


@pytest.mark.parametrize(
    ("source", "head", "labels"),
    [
        (r"Way & A & B \\ \midrule Rate & 5e-05 & 1e-05 \\ Batch & 8 & 4.5 \\", 1, ["Rate", "Batch"]),
        (r"Way & $< 50\%$ & B \\ \hline Oak & 9.1\% & 2\% \\ Elm & 1\% & 3\% \\", 1, ["Oak", "Elm"]),
        (r" & \multicolumn{2}{c}{Oak} \\ \hline & dev & test \\ \hline X & 12 & 345 \\", 2, ["X"]),
        (MATRIX, 1, ["rowa", "rowb", "rowc", "rowd", "all"]),
        (BLOCK, 1, ["Oak a", "Oak b", "Elm a", "Elm b"]),
        (BLOCK.replace("Oak", r"\multirow{3}{*}{Oak}"), 1, ["Oak a", "Oak b", "Elm a", "Elm b"]),
        (
            r"Map & F1 & EM \\ \hline 1 & 1.2 & 3.4 \\ 2 & 5.6 & 7.8 \\ all & 1.5 & 3.5 \\",
            1,
            ["1", "2", "all"],
        ),
        (r"Way & F1 & EM \\ \hline \citet{oak2019} & 1.2 & 3.4 \\ Elm & 5.6 & 7.8 \\", 1, ["oak2019", "Elm"]),
        (CONTINUED, 1, ["Oak, Elm", "Ash"]),
        (r"Way & F1 & EM \\ \hline Oak & 1.2 & \\ & & 3.4 \\ Elm & 5.6 & 7.8 \\", 1, ["Oak", "Elm"]),
        (LISTS, 1, ["Oak", "Ash", "Elm", "Fir"]),
    ],
)
def test_rows_below_a_heading_have_their_own_labels(tmp_path, source, head, labels):
    tables = manuscript(tmp_path, rf"\begin{{tabular}}{{lccc}}{source}\end{{tabular}}").tables
    plans = [layout(table, measures) for table in tables]
    found = [
        f"{group} {plan.label(row)}".strip()
        for plan in plans
        for row, group in zip(plan.rows, plan.groups, strict=True)
    ]
    assert (len(tables[0].head), found) == (head, labels)


def test_empty_formulas_commas_in_brackets_and_tabulars_of_macros_are_read(tmp_path):
    preamble = r"\newcommand{\cell}[1]{{$$#1}}\newcommand{\open}{\begin{tabular}{lcc}}"
    body = (
        r"\open Way & F1 & K \\ \hline Oak & \cell{1.2} & (1,1) \\ Elm & \cell{3.4} & (2,3) \\ \end{tabular}"
    )
    (table,) = manuscript(tmp_path, body, preamble).tables
    assert rows(table) == [["Oak", "1.2", "(1,1)"], ["Elm", "3.4", "(2,3)"]]
