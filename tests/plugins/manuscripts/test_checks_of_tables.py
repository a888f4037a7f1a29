"""Checks of systems in columns, of repeated systems, of averages over tables, and a draft's coverage."""

import json
import tarfile
from pathlib import Path

import pytest

from repro.plugins.manuscripts.auditing import audited
from repro.plugins.manuscripts.draft_commands import coverage
from tests.cli.conftest import folders as folders
from tests.cli.conftest import repro as repro
from tests.plugins.manuscripts.sources import written

REFEREE = Path(__file__).with_name("referee")
HINTS = (("Collection & BM25", " & BM25"), (" The best value of each row is shaded.", ""))
ALL_OFF = (("$-$1.8", "$-$2.9"), ("$-$2.3", "$-$1.1"), ("$-$0.6", "$-$2.6"), ("$-$4.2", "$-$3.1"))


def found(folder, name: str, *changes: tuple[str, str]) -> set[tuple[str, str]]:
    text = (REFEREE / name).read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = written(folder, text, Path(name).name)
    return {(f.severity, f.check) for f in audited(path, is_known_compared=False).findings}


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("dune.tex", HINTS, set()),
        ("dune.tex", (*HINTS, ("56.6 & 49.1 & 61.5", "49.1 & 56.6 & 61.5")), {("doubt", "two-values")}),
        ("dune.tex", (("54.5 & 70.1 & 56.6", "54.5 & 70.1 & 57.6"),), {("doubt", "two-values")}),
        ("gale.md", (("| Collection |", "| |"), ("36.3 | **38.5**", "**36.3** | 38.5")), {("doubt", "bold")}),
        ("alpine.tex", (("NQ & 3,452 & 2,681,468", "NQ & 3,452 & 2,681,468 & 3"),), {("doubt", "unread")}),
        ("alpine.tex", (("0.7 GB", "0..7 GB"),), {("note", "unread")}),
        ("alpine.tex", (("& 51.4 & --", "& 52.4 & --"),), {("doubt", "delta")}),
        ("alpine.tex", ALL_OFF, {("note", "delta")}),
        ("cobalt.tex", ((r"70.9 $\pm$ 2.4", r"70.9 $\pm$ 24"),), {("note", "spread")}),
        ("fjord/fjord.tex", (("& 41.8 \\\\", "& 42.9 \\\\"),), {("error", "average")}),
    ],
)
def test_a_fault_is_found_also_without_hints(tmp_path, name, changes, expected):
    assert {f for f in found(tmp_path, name, *changes) if f[1] not in ("prose", "claim")} == expected


@pytest.mark.parametrize("shade", ['bgcolor="#cfc"', 'style="background-color: #cfc"'])
def test_a_shaded_cell_of_html_is_the_best(tmp_path, shade):
    rows = [(32.5, 66.5, 23.6, 31.0), (33.5, 67.5, 22.6, 32.0), (30.5, 60.5, 24.6, 33.0)]
    marked = {33.5, 66.5, 24.6, 33.0}
    cells = [[f"<td {shade if value in marked else ''}>{value}</td>" for value in row] for row in rows]
    lines = [f"<tr><td>{name}</td>{''.join(row)}</tr>" for name, row in zip("ABC", cells, strict=True)]
    head = "<tr><th>Model<th>NFCorpus<th>SciFact<th>FiQA<th>ArguAna</tr>"
    text = f"<table><caption>nDCG@10</caption>{head}{''.join(lines)}</table>"
    [finding] = audited(written(tmp_path, text, "a.html"), is_known_compared=False).findings
    assert (finding.check, finding.says) == ("shade", "A, SciFact: 66.5 is shaded but not the best")


def test_the_readme_of_an_archive_is_compared(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for name in ("README.md", "fjord.tex"):
        text = (REFEREE / "fjord" / name).read_text(encoding="utf-8")
        (source / name).write_text(text.replace("44.9 | 67.1", "44.9 | 68.3"), encoding="utf-8")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.add(source, "source")
    assert [f.check for f in audited(tmp_path / "a.tar.gz").findings] == ["two-values"]


def test_a_known_value_is_compared_with_no_translation_and_reported_if_far(tmp_path):
    text = (REFEREE / "alpine.tex").read_text(encoding="utf-8")
    made = audited(written(tmp_path, text.replace("BM25 & 18.4", "BM25 & 28.4")))
    [finding] = [each for each in made.findings if each.check == "published"]
    assert "28.4 is no known value" in finding.says
    assert audited(REFEREE / "harbor.csv").findings == []


def test_the_coverage_of_a_draft_counts_every_cell(tmp_path, capsys):
    text = (REFEREE / "alpine.tex").read_text(encoding="utf-8").replace("24 ms", "2x4 ms")
    path = written(tmp_path, text)
    coverage.main([str(path), "--format", "json"], standalone_mode=False)
    [made] = json.loads(capsys.readouterr().out)
    assert (made["cells"], made["unread"], len(made["tables"])) == (135, 1, 5)
    assert made["tables"][4]["unread"] == [{"text": "'2x4 ms' is not read", "place": f"{path}:119"}]
    assert made["checked"]["averages and sums"] == 7  # two columns of averages have no parts
    coverage.main([str(path)], standalone_mode=False)
    shown = capsys.readouterr().out
    assert "135 numbers are read, 1 cells are not" in shown and "row ridgeline is open" in shown


def test_a_folder_may_be_the_current_one(tmp_path, monkeypatch, folders, repro):
    (tmp_path / "main.tex").write_text(
        r"\begin{tabular}{lr}\hline Model & MRR@10\\ \hline A & 33.5\\ B & 36.6\\ \hline\end{tabular}"
    )
    monkeypatch.chdir(tmp_path)
    assert repro("audit .").out.startswith("Read 1 table with 2 numbers.")
    said = repro("show coverage costa main.tex")
    assert (said.status, said.err) == (
        2,
        "repro: main.tex is a draft. Name papers or drafts in one command, not both.\n",
    )
