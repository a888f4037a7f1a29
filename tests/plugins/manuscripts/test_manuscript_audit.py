"""Every fault planted in an invented source is found at its line, and is told in the formats of programs."""

import json
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from repro.plugins.manuscripts.auditing import audited, findings
from repro.plugins.manuscripts.checks import CHECKS
from repro.plugins.manuscripts.checks.arithmetic import Seen
from repro.plugins.manuscripts.checks.quotes import _is_exchanged
from repro.plugins.manuscripts.series import Value
from repro.plugins.manuscripts.source_tables import Manuscript, Place, SourceCell
from tests.cli.conftest import folders as folders
from tests.cli.conftest import repro as repro
from tests.plugins.manuscripts import written_tables
from tests.plugins.manuscripts.invented_source import source
from tests.plugins.manuscripts.source_tables import table

PLANTED = [  # severity, check, what is changed into what, words of the finding
    ("error", "average", "0.655|0.501", "0.655|0.519", "mean of TREC-COVID to SciFact is 0.5006"),
    ("doubt", "average", "0.655|0.501", "0.655|0.462", "It fits without SciFact"),
    ("error", "sum", "80|120|1100", "80|120|1110", "sum of Train to Test is 1100"),
    ("error", "delta", "(+15.4)", "(+14.5)", "The difference from BM25 is +15.4"),
    ("doubt", "bold", "**94.7**|", "**91.7**|", "is bold but not the best. The best of its group is 92.8"),
    ("note", "bold", "_26.1_|74.0", "_26.1_|76.9", "76.9 is not bold but equals one that is"),
    ("doubt", "underline", "_87.3†_", "_85.3†_", "85.3 is underlined but not the second best"),
    ("error", "mark", "34.1†|", "17.9†|", "The mark means significantly better than BM25"),
    ("doubt", "mark", "34.1†|", "18.7†|", "which has 18.7"),
    ("note", "decimals", "_92.8_", "_92.80_", "7 numbers of the column have 1 decimals"),
    ("doubt", "unit", "0.654|0.237", "65.4|0.237", "65.4 is a percentage among fractions"),
    ("doubt", "unit", "**71.4†**", "**0.714†**", "0.714 is a fraction among percentages"),
    ("error", "range", "**98.0†**", "**108.0†**", "108.0 is no possible value of R@1000"),
    ("error", "cut-off", "_75.1_|91.2", "_75.1_|72.1", "75.1 is above 72.1 of MS MARCO passage dev R@1000"),
    ("doubt", "queries", "73.71", "73.72", "are multiples of 1/3610"),
    ("note", "two-values", "33.0 (+14.3)", "33.2 (+14.5)", "and 33.0 at paper.tex:9"),
    ("note", "published", "|95.9†|", "|96.9†|", "96.9 is no known value"),
    ("doubt", "prose", "reaches 38.2", "reaches 38.4", "The text quotes 38.4 from Table 1"),
    ("doubt", "prose", "from 18.7 to 38.2", "from 18.7 to 38.6", "Table 1 lacks 38.6"),
    ("doubt", "prose", "by 1.6 points", "by 2.6 points", "Their numbers include 38.2 and 36.6"),
    ("doubt", "prose", "MRR@10 of 25.0", "MRR@10 of 25.4", "The table has 25.0 at paper.tex"),
]


def test_a_source_without_faults_has_no_finding():
    assert findings(source(), Seen(set)) == []


@pytest.mark.parametrize(("severity", "check", "old", "new", "words"), PLANTED, ids=lambda each: str(each))
def test_a_planted_fault_is_found_and_nothing_else(severity, check, old, new, words):
    found = findings(source(old, new), Seen(set))
    [finding] = [f for f in found if f.check in (check, *CHECKS.keys() - {"published"})]
    assert (finding.severity, finding.check) == (severity, check)
    assert words in finding.text, finding


def test_a_fault_is_planted_for_every_check_of_tables_and_prose():
    elsewhere = {"claim", "depth", "ignore", "shade", "significance", "spread", "unread"}
    assert {check for _, check, *_ in PLANTED} == CHECKS.keys() - elsewhere


def _of(*tables, prose=()):
    made = Manuscript(Path("paper.tex"), tables, tuple((Place(Path("paper.tex"), 9), text) for text in prose))
    return [(f.severity, f.check, f.place.line) for f in findings(made, Seen(set))]


BEIR, BEST = "Model|NFCorpus|FiQA|SciFact|ArguAna", "Z|**31.2**|**22.2**|**63.2**|44.2"
LETTERS = "Letters: significant improvement over that row (t-test)."


@pytest.mark.parametrize(
    ("head", "body", "caption", "told"),
    [
        ("Model|MRR@100 on MS MARCO passage dev", "BM25|18.7", "", [("note", "depth", 2)]),
        ("Model|nDCG@10", "(a) BM25|50.6\n(b) Otter|60.1 a", LETTERS, []),
        (
            "Model|A (3)|B (1)|Avg. (4)",
            "X|20.0|40.0|25.0\nY|30.0|40.0|32.5\nZ|30.0|50.0|40.0",
            "",
            [("error", "average", 4)],
        ),
        (
            "Model|NFCorpus|FiQA|SciFact|ArguAna",
            "BM25|33.0|23.6|66.5|31.5\nOtter|34.1†|30.1†|67.0†|31.5†",
            "† significantly better than the best baseline, t-test",
            [("doubt", "mark", 3)],
        ),
        ("Model|Latency (ms)|MRR@10", "A|**9**|**33**\nB|12|31\nC|20|30\nD|30|29", "", []),
        (BEIR, f"X|31.0|22.0|63.0|44.0\nY|31.1|22.1|63.1|44.1\n{BEST}", "nDCG@10", [("note", "bold", 4)]),
        # what differences, capped recall, seeds, and averages of nobody knows what say is left alone
        ("Model|R@100|R@1000", "A|75.1|91.2\nB|77.0|92.0\nΔ|1.9|0.8", "", []),
        ("Model|R_cap@100|R_cap@1000", "A|75.1|71.2\nB|77.0|92.0\nC|78.1|93.0", "", []),
        ("Model|NQ test Top-20", "A|59.11\nB|73.72\nC|80.12", "Means of 5 seeds.", []),
        # pairs are two series, also of rows
        ("|A|B|C", "NQ: S / U|10 / 20|30 / 40|50 / 60\nMean|15.0|36.0|55.0", "", [("error", "average", 3)]),
        ("Model|P / R|F1", "A|1.5 / 2.5|2.0\nB|3.5 / 2.5|3.0", "", []),
        ("Model|P|F1", "A|1.5 / 2.5|2.0\nB|3.5|3.0\nC|3.6|3.1", "", [("note", "unread", 2)]),
        ("Model|Avg.|X|Y", "A|30.0|20.0|40.0\nB|99.0|21.0|41.0\nC|55.0|22.0|44.0", "", []),
    ],
)
def test_a_check_says_what_it_can_tell_and_else_nothing(head, body, caption, told):
    assert _of(table(head, body, caption)) == told


def test_rows_of_differences_and_of_averages_are_checked_as_columns_are():
    head = "|Otter|Heron|Stork"
    body = "NFCorpus|30.1|31.2|33.0\nFiQA|23.6|24.0|25.1\nSciFact|60.0|61.0|65.0\nAvg.|37.9|38.7|41.9"
    assert _of(table(head, body)) == [("error", "average", 5)]
    head = "Model|NFCorpus|FiQA|SciFact|ArguAna|DBPedia|Touché"
    body = "BM25|30.1|23.6|60.0|31.5|30.0|36.7\nStork|33.0|25.1|65.0|41.0|40.0|30.1\n"
    assert _of(table(head, body + "Δ|+2.9|+1.5|+5.0|+9.5|+10.0|-6.6")) == []
    assert _of(table(head, body + "Δ|+2.9|+1.5|+5.0|+9.5|+11.0|-6.6")) == [("error", "delta", 4)]
    body = "BM25|30.1|23.6|66.0|31.5|30.0|36.7\nOtter|29.1|20.6|67.0|30.5|29.0|36.1\n"
    body += "Stork|33.0|25.1|65.0|41.0|40.0|30.1\n"
    assert _of(table(head, body + "Δ|+2.9|+1.5|-2.0|+9.5|+10.0|-6.6")) == []  # from the best other row
    assert _of(table(head, body + "Δ|+2.9|+1.5|-2.0|+9.5|+11.0|-6.6")) == [("error", "delta", 5)]


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("Stork is the best of all models on FiQA.", [("doubt", "claim", 9)]),
        ("Stork outperforms Heron on FiQA.", [("doubt", "claim", 9)]),
        (
            "The best of all models on the binary problem was Stork, with 0.50 on FiQA.",
            [],
        ),  # of another table
        ("Stork outperforms all other models in both the Chat and Empathy domains.", []),
        ("Stork provides the strongest evidence on time.", []),
        ("A basic strategy is to take the token of Stork with the highest probability in each step.", []),
        ("Stork significantly improves FiQA.", [("note", "significance", 9)]),
        ("Stork did not significantly improve FiQA.", []),
        ("It brings no statistically significant gain.", []),
    ],
)
def test_a_sentence_is_judged_by_a_table_of_its_system_and_score(sentence, told):
    assert _of(table("Model|FiQA|SciFact", "Heron|23.6|60.0\nStork|20.1|65.0"), prose=(sentence,)) == told


def test_papers_at_hand_have_a_wrong_bold_number_and_success_that_no_number_of_queries_gives(tmp_path):
    told: Counter[tuple[str, str]] = Counter()
    for paper in written_tables.papers_of_results():
        (tmp_path / "paper.tex").write_text(written_tables.latex(written_tables.results(paper)))
        told.update((paper.name, f.check) for f in audited(tmp_path / "paper.tex").findings)
    assert {each for each in told if each[1] == "mark"}  # their captions are not transcribed
    told = Counter({each: count for each, count in told.items() if each[1] != "mark"})
    assert told == {("costa", "bold"): 1, ("retromae", "queries"): 6}


MORE = "".join(f"{name},32.{name}\n" for name in range(1, 6))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_comment_is_counted_in_the_lines_of_its_table(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_text("Model,MRR@10\nA\u2028\fB,31.0\n# repro: ignore[range] x\nC,136.0\n" + MORE, encoding)
    assert audited(path).findings == []


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
    monkeypatch.chdir(tmp_path)

    def write(text=SOURCE, name="paper.tex"):
        (tmp_path / name).write_text(text)
        return name

    return write


def test_a_finding_is_a_line_with_its_place_as_of_a_compiler(repro, paper):
    said = repro("audit", paper())
    assert said.status == 0 and said.err == ""
    summary = "Read 1 table with 6 numbers. Not read: 0 cells.\n1 error, 0 doubts, 0 notes\n"
    assert said.out == f"{summary}paper.tex:10: {LINE}. R cannot decrease from 100 to 1000 ranks.\n"


def test_several_files_have_one_summary_and_each_finding_once(repro, paper):
    parts = paper(), paper("Nothing here.", "intro.tex"), paper(r"\input{paper}", "book.tex")
    said = repro("audit", *parts, "--strict")
    assert said.status == 1 and said.out.count(LINE) == 1
    summary = "Read 2 tables with 12 numbers. Not read: 0 cells.\n1 error, 0 doubts, 0 notes\n"
    assert said.out.startswith(summary)
    assert said.err == "intro.tex contains no table\n"
    assert repro("audit", "intro.tex").sentence == "intro.tex contains no table"


def test_strict_is_status_one_for_errors_and_doubts_alone(repro, paper):
    assert repro("audit", paper(), "--strict").status == 1
    useless = "Stork & 88.7 & 97.0 \\\\ % repro: ignore[sum]\nStork"
    note = SOURCE.replace("72.1", "93.0").replace("Stork", useless)
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
        ("ignore[unit]", "The comment suppresses no finding of unit"),
        ("ignore[cutoff]", "'cutoff' is not a known check. Did you mean cut-off?"),
        ("ignore", "The comment names no check"),
    ],
)
def test_a_comment_that_sets_nothing_aside_is_told(repro, paper, comment, says):
    [note, error] = repro("audit", paper(f"% repro: {comment}\n{SOURCE}"), "--format", "json").json
    assert (note["severity"], note["check"], note["line"]) == ("note", "ignore", 1)
    assert note["says"].startswith(says) and error["check"] == "cut-off"


def test_programs_read_json_sarif_and_commands_of_a_workflow(repro, paper):
    [row] = repro("audit", paper(), "--format", "json").json
    assert (row["file"], row["line"]) == ("paper.tex", 10)
    assert f"{row['severity']} [{row['check']}] {row['says']}" == LINE
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


def test_no_format_prints_what_a_name_of_a_file_hides_in_it(repro, paper):
    name = paper(SOURCE.replace("Heron", "He\x1b[31mron\u202e"), "::error::%\nb\x1b]0;t\x07\u202e.tex")
    said = {form: repro("audit", name, "--format", form) for form in ("sarif", "github", "json")}
    said["terminal"] = repro("audit", name)
    for each in said.values():
        assert not {"\x1b", "\x07"} & set(each.out + each.err)
        assert "\n::" not in f"\n{each.out}".removeprefix("\n::error file=") and "\nb" not in each.out
    finding = said["terminal"].out.split("\n", 2)[2]
    assert finding.startswith(r"\x3a:error::%\nb\x1b]0;t\x07\u202e.tex:10: error [cut-off] He")
    place = r"file=%3A%3Aerror%3A%3A%25%0Ab\x1b]0;t\x07\u202e.tex,line=10,"
    assert said["github"].out.startswith(f"::error {place}title=repro audit%3A cut-off::He")
    assert said["json"].json[0]["file"] == name
    [result] = json.loads(said["sarif"].out)["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert "%0Ab%1B" in uri and uri.isascii()


def test_a_name_of_a_paper_is_the_paper_and_a_path_of_the_name_is_told(repro, paper, tmp_path):
    paper(name="costa")
    said = repro("audit", "costa", "--references", "--format", "json")
    assert said.json[0]["paper"] == "costa" and "./costa names the path" in said.err
    assert "[cut-off]" in repro("audit", "./costa").out


KNOWN = SOURCE.replace("Otter & 65.8 & 85.7", "ANCE & 65.8 & 94.9").replace("75.1 & 72.1", "75.1 & 82.1")


def test_values_of_known_systems_are_notes_that_an_option_turns_off(repro, paper):
    [note] = repro("audit", paper(KNOWN), "--format", "json").json
    assert (note["severity"], note["check"], note["line"]) == ("note", "published", 9)
    assert "ANCE: 1 of 1 values are no known ones" in note["says"]
    assert "95.9 %, costa/3/ance/dev.r1000" in note["why"]
    assert repro("audit", paper(KNOWN), "--no-known", "--format", "json").json == []


def test_the_summary_counts_what_was_read_and_goes_to_standard_error_beside_data(repro, paper):
    text = SOURCE.replace("88.7", "8B.7")
    said = repro("audit", paper(text), "--format", "json")
    assert said.err.startswith("Read 1 table with 5 numbers. Not read: 1 cell.\n")
    assert said.err.endswith("1 error, 0 doubts, 1 note\n")
    assert repro("audit", paper(text)).out.startswith("Read 1 table with 5 numbers. Not read: 1 cell.\n")


def test_a_caption_that_names_a_measure_makes_its_columns_certain():
    made = table("Model|P|MRR@10", "A|38.9|37.9\nB|25.9|36.9", "MS MARCO passage dev. P denotes P@1.")
    assert _of(made) == [("error", "cut-off", 2)]
    made = table("Model|MS MARCO passage dev", "BM25|18.7", "MRR@100")
    assert _of(made) == [("note", "depth", 2)]


def test_tables_of_other_settings_are_not_compared():
    head, rows = "Model|Ponds nDCG@10|Lakes nDCG@10", "A|30.1|40.1\nB|31.1|41.1\nC|32.1|42.1\nD|33.1|43.1"
    other = "\n".join(line.replace(".1", ".4") for line in rows.split("\n"))
    assert _of(table(head, rows), table(head, other, first=20)) == []
    other = rows.replace("41.1", "41.4")
    assert _of(table(head, rows), table(head, other, first=20)) == [("note", "two-values", 22)]
    swapped = rows.replace("41.1", "x").replace("42.1", "41.1").replace("x", "42.1")
    assert _of(table(head, rows), table(head, swapped, first=20)) == [("doubt", "two-values", 22)]


@pytest.mark.parametrize(
    ("heads", "sentence"),
    [
        ("MRR@10 | Latency (ms)", "Otter is the fastest of all in Table 1."),
        ("MRR@10 | p", "Differences are significant in all cases."),
        (" | ", "Otter outperforms BM25 on all datasets."),
    ],
)
def test_columns_without_numbers_or_headings_are_no_obstacle(tmp_path, heads, sentence):
    path, cells = tmp_path / "paper.md", "41.2 | –" if heads.strip(" |") else "41.2 | 39.5"
    rows = "".join(f"| {name} | {cells} |\n" for name in ("BM25", "DPR", "Otter"))
    table = f"| System | {heads} |\n|---|---|---|\n{rows}"
    path.write_text(f"# Otter: A\n\nTable 1: nDCG@10 on NQ.\n\n{table}\n{sentence}\n")
    assert not [f for f in audited(path).findings if f.severity == "error"]


def test_a_list_of_many_numbers_is_compared_in_any_order():
    texts = [f"{51 + number}.{number % 10}" for number in range(14)]
    values = [Value(SourceCell(text, Place(Path("x"), 1)), Decimal(text), 1, 0) for text in texts]
    assert _is_exchanged(texts[::-1], values) and not _is_exchanged([*texts[:-1], "9.9"], values)
    assert not _is_exchanged([*texts[:-1], texts[0]], values)
