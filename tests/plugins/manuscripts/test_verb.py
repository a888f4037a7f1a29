"""``repro audit FILE``: lines, programs' formats, exit statuses, comments that set findings aside."""

import json

import pytest

from tests.cli.conftest import folders as folders
from tests.cli.conftest import repro as repro

SOURCE = r"""\documentclass{article}
\begin{document}
\begin{table}\caption{Passages}
\begin{tabular}{lrr}
\toprule
 & \multicolumn{2}{c}{MS MARCO passage dev} \\
Model & R@100 & R@1000 \\
\midrule
Otter & 65.8 & 85.7 \\
Heron & 75.1 & 72.1 \\
Stork & 88.7 & 98.0 \\
\bottomrule
\end{tabular}
\end{table}
\end{document}
"""
LINE = "error [cut-off] Heron, MS MARCO passage dev R@100: 75.1 is above 72.1 of MS MARCO passage dev R@1000"


@pytest.fixture
def paper(tmp_path, monkeypatch):
    """``paper(text)``: a source in the folder where commands run."""
    monkeypatch.chdir(tmp_path)

    def write(text=SOURCE, name="paper.tex"):
        (tmp_path / name).write_text(text)
        return name

    return write


def test_a_finding_is_a_line_with_its_place_as_of_a_compiler(repro, paper):
    said = repro("audit", paper())
    assert said.status == 0 and said.err == "1 table: 1 error, 0 doubts, 0 notes\n"
    assert said.out == f"paper.tex:10: {LINE}; no ranking has less of R in 1000 ranks than in 100\n"


def test_strict_is_status_one_for_errors_and_doubts_alone(repro, paper):
    assert repro("audit", paper(), "--strict").status == 1
    note = SOURCE.replace("72.1", "93.0").replace(
        "Stork", "Stork & 88.7 & 97.0 \\\\ % repro: ignore[sum]\nStork"
    )
    assert repro("audit", paper(note), "--strict").status == 0


@pytest.mark.parametrize("reason", ["% repro: ignore[cut-off] typed so", "% repro: ignore[bold, cut-off]"])
@pytest.mark.parametrize("place", ["72.1 \\\\ {}", "72.1 \\\\"])
def test_a_comment_on_the_line_or_alone_above_it_sets_a_finding_aside(repro, paper, reason, place):
    text = SOURCE.replace("72.1 \\\\", place.format(reason))
    text = text if reason in text else text.replace("Heron", f"{reason}\nHeron")
    told = repro("audit", paper(text), "--format", "json").json
    assert [(f["check"], f["says"]) for f in told if f["check"] != "ignore"] == []
    assert len(told) == reason.count("bold")  # which sets nothing aside


@pytest.mark.parametrize(
    ("comment", "says"),
    [
        ("ignore[unit]", "nothing of unit is set aside here"),
        ("ignore[cutoff]", "there is no check 'cutoff' (did you mean 'cut-off'?)"),
        ("ignore", "this comment names no check"),
    ],
)
def test_a_comment_that_sets_nothing_aside_is_told(repro, paper, comment, says):
    [note, error] = repro("audit", paper(f"% repro: {comment}\n{SOURCE}"), "--format", "json").json
    assert (note["severity"], note["check"], note["line"]) == ("note", "ignore", 1)
    assert note["says"].startswith(says) and error["check"] == "cut-off"


def test_programs_read_json_sarif_and_commands_of_a_workflow(repro, paper):
    [row] = repro("audit", paper(), "--format", "json").json
    assert (row["file"], row["line"], f"{row['severity']} [{row['check']}] {row['says']}") == (
        "paper.tex",
        10,
        LINE,
    )
    log = json.loads(repro("audit", paper(), "--format", "sarif").out)
    assert log["version"] == "2.1.0" and "2.1.0" in log["$schema"]
    [run] = log["runs"]
    [result], rules = run["results"], run["tool"]["driver"]["rules"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("paper.tex", 10)
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == "cut-off" and result["level"] == "error"
    assert "75.1" in result["message"]["text"] and run["tool"]["driver"]["name"]
    said = repro("audit", paper(SOURCE.replace("Heron", "100\\% Heron"), "a,b.tex"), "--format", "github").out
    assert said.startswith(
        "::error file=a%2Cb.tex,line=10,title=repro audit%3A cut-off::100%25 Heron, MS MARCO"
    )


def test_a_name_of_a_paper_is_the_paper_and_a_path_of_the_name_is_told(repro, paper, tmp_path):
    paper(name="costa")
    said = repro("audit", "costa", "--references", "--format", "json")
    assert said.json[0]["paper"] == "costa" and "which ./costa names" in said.err
    assert "[cut-off]" in repro("audit", "./costa").out
