import csv
import io
import math
import re
import shutil
from dataclasses import replace

import pytest

from repro.store.results import Record, Results
from tests.cli.conftest import CELL, cells_of_line
from tests.tiny_models import save_tiny_model

NEAR = "toy/1/bm25/dl"
DL, DEEP = (f"costa/1/sparse.bm25/{column}" for column in ("dl19.ndcg10", "dev.r1000"))


@pytest.fixture
def own(measured):
    [found] = (measured / "store" / "bm25").glob("*/run.trec")
    return found


@pytest.fixture
def other(own, tmp_path):
    """The same documents in another order, by their position in each ranking."""
    path = tmp_path / "other.trec"
    lines = [line.split() for line in own.read_text().splitlines()]
    path.write_text("".join(f"{q} Q0 {d} 1 {(7 * int(r)) % 11}.{r} me\n" for q, _, d, r, _, _ in lines))
    return path


def test_our_own_run_is_ours(repro, own):
    [found] = repro("compare", own, CELL, "--scale", "tiny", "--format", "json").json
    [test] = found["tests"]
    assert found["id"] == CELL.replace("sparse.bm25", "yours")
    assert found["value"] == test["value"] > 0
    assert (test["p"], test["permutation_p"], test["effect_size"]) == (None, 1.0, None)
    assert test["ties"] == found["queries"] and test["by"] == "measured"
    assert (test["rmse"], test["kendall_union"]) == (0.0, pytest.approx(1))
    assert test["rank_biased_overlap"] == pytest.approx(1)


def test_a_file_in_a_folder_that_is_called_like_a_paper_is_a_run(repro, own, tmp_path, monkeypatch):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "mine.run").write_bytes(own.read_bytes())
    monkeypatch.chdir(tmp_path)
    [found] = repro(f"compare toy/mine.run {CELL} --scale tiny --format json").json
    assert found["source"] == "toy/mine.run"


def test_markdown_has_the_tests_and_how_deep_a_run_goes(repro, own, other):
    table = ("compare", other, own, CELL, "--scale", "tiny", "--format")
    first, second = repro(*table, "json").json
    lines = repro(*table, "markdown").out.splitlines()
    tests = [line for line in lines if line.startswith(f"| {first['column']} | ")]
    assert len(tests) == len(first["tests"]) + len(second["tests"]) == 4
    assert sum(f"| {test['p']:.3g} |" in "".join(tests) for test in first["tests"]) == 2
    assert first["beats"] == [] and second["beats"] == ["yours"]
    [better] = [line for line in lines if line.startswith("| (u) run | ")]
    assert better.endswith("ᵗ |"), better


def test_scores_of_ours_stand_for_a_run_that_is_gone(repro, own, other):
    shutil.rmtree(own.parent)
    [found] = repro("compare", other, CELL, "--scale", "tiny", "--format", "json").json
    [test] = found["tests"]
    assert test["by"] == "measured" and test["rmse"] > 0 and test["kendall_union"] is None


def test_runs_are_tested_against_ours_and_each_other_query_by_query(repro, own, other):
    first, second = repro("compare", other, own, CELL, "--scale", "tiny", "--format", "json").json
    tests = {test["over"]: test for test in first["tests"]}
    assert set(tests) == {"sparse.bm25", "yours-2"} and first["source"] == str(other)
    test = tests["sparse.bm25"]
    assert test["value"] == second["value"] and test["difference"] == tests["yours-2"]["difference"]
    assert test["difference"] == pytest.approx(first["value"] - second["value"])
    assert test["wins"] + test["ties"] + test["losses"] == first["queries"]
    assert 0 < test["permutation_p"] < 0.05
    assert 0 < test["p"] < test["holm_student_p"] < 0.05
    low, high = test["interval"]
    assert low < test["difference"] < high < 0
    assert math.copysign(1, test["effect_size"]) == -1
    assert second["beats"] == ["yours"]


@pytest.mark.parametrize("verb", ["run", "compare"])
def test_cells_that_the_scale_does_not_measure_are_told_with_why(repro, verb):
    lines = repro(verb, "head_to_head", "--table", "figure-steps", "--scale", "tiny").err.splitlines()
    [told] = [line for line in lines if line.startswith("Not measured: 57 cells. Reasons: ")]
    assert "measured only at scale curves or one like it (" in told


@pytest.mark.parametrize("verb", ["plan", "compare"])
def test_the_reasons_add_up_to_the_cells_without_a_measurement(repro, verb):
    said = repro(verb, "costa", "--table", "1", "--scale", "tiny").err
    number, reasons = re.search(r"(?i)not measured: (\d+) cells\. Reasons: (.*)", said).groups()
    counts = [int(count) for count in re.findall(r"\((\d+)\)", reasons)]
    assert len(counts) > 1 and sum(counts) == int(number) == (6 if verb == "plan" else 66)


def test_the_table_shows_print_ours_and_yours_and_the_tests(repro, other):
    said = repro("compare", other, CELL, "--scale", "tiny")
    assert said.status == 0
    lines = said.out.splitlines()
    assert lines[0].startswith("costa table 1: ") and any("0.187" in line for line in lines)
    assert any(line.startswith("t other") for line in lines), said.out
    [test] = [cells_of_line(line) for line in lines if line.startswith("dev.rr10 ")]
    assert test[2:4] == ["a BM25", "measured"]
    assert "other: tiny/passage/dev: TREC, 150 of 150 judged queries, 100 documents a query" in said.err


@pytest.mark.parametrize("form", ["csv", "latex", "json", "markdown"])
def test_the_row_is_in_every_format(repro, other, form):
    said = repro("compare", other, CELL, "--scale", "tiny", "--format", form)
    words = {"latex": "(t)~other & ", "markdown": " other | – → "}.get(form, "/yours/")
    assert said.status == 0 and words in said.out, said.out


def test_scores_of_queries_are_of_yours_and_of_what_it_is_tested_against(repro, own):
    said = repro("compare", own, CELL, "--scale", "tiny", "--per-query", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(said.out)))
    assert len(rows) == 300 and {row["row"] for row in rows} == {"run.trec", "sparse.bm25"}


def test_a_run_stands_beside_print_and_is_kept_where_that_is_asked_for(
    repro, real_data, monkeypatch, folders
):
    monkeypatch.setenv("REPRO_DATA", str(real_data))
    run = real_data / "runs" / "bm25-anserini.dl19-passage.top100.trec.gz"
    [found] = repro("compare", run, DL, "--format", "json").json
    assert round(found["value"], 4) == 0.5058
    assert [(test["by"], test["ties"]) for test in found["tests"]] == [("run by Anserini", 43)]
    kept = repro("compare", run, "costa", "--table", "1", "--row", "bm25", "--record")
    assert kept.status == 0 and "1 new records, 1 in all" in kept.err, kept.err
    [record] = Results(folders / "results").read("full", "costa")
    assert (record.cell, record.origin["file"]) == (DL, run.name)
    refused = repro("compare", run, "costa", "--table", "1", "--record")
    assert "Name it, e.g. --row ROW" in refused.refusal


def test_runs_are_scored_without_a_paper(repro, own, other):
    judged = ("--dataset", "tiny/passage/dev", "--measure", "MRR@10", "--measure", "AP")
    found = repro("compare", own, other, *judged, "--format", "json").json
    assert [(line["row"], line["measure"]) for line in found] == [
        ("yours-1", "RR@10"),
        ("yours-1", "AP"),
        ("yours-2", "RR@10"),
        ("yours-2", "AP"),
    ]
    shown = repro("compare", own, *judged)
    assert shown.status == 0 and shown.out.startswith("runs scored by the judgements of tiny/passage/dev")


def test_comparing_a_run_writes_nothing(repro, other, measured):
    before = {p: p.is_file() and p.read_bytes() for p in measured.rglob("*")}
    assert repro("compare", other, CELL, "--scale", "tiny").status == 0
    assert {p: p.is_file() and p.read_bytes() for p in measured.rglob("*")} == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no/such.trec", CELL], "there is no run file 'no/such.trec'"),
        (["none.yaml", CELL], "none.yaml"),
        (["other.trec"], "--scale needs a paper's table"),
        (["other.trec", CELL, "--measure", "AP"], "--measure cannot be combined with a paper's table"),
        (["other.trec", CELL, "--record"], "at full scale"),
        ([CELL, "--per-query"], "--per-query needs a run or an encoder of yours"),
        ([CELL, "--dataset", "tiny/passage/dev"], "--dataset needs a run or an encoder of yours"),
        (["csta"], "'csta' is not a known paper"),
        (["csta/1"], "'csta' is not a known paper. Did you mean costa?"),
        (["other.trec", DL], "none of the run's 150 queries is among the 40 judged ones"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(repro, other, monkeypatch, arguments, words):
    monkeypatch.chdir(other.parent)
    assert words in repro("compare", *arguments, "--scale", "tiny").refusal


def test_a_file_named_like_a_paper_does_not_hide_it(repro, measured, monkeypatch):
    monkeypatch.chdir(measured)
    shutil.copy(__file__, "costa")
    said = repro("compare costa --table 1 --scale tiny")
    assert said.status == 0
    assert "costa table 1: " in said.out and "0.388" in said.out


def test_json_has_the_tests_and_what_stands_against_print(repro, measured):
    [found] = repro(f"compare {CELL} --scale tiny --format json").json
    assert (found["tests"], found["effects"], found["order"]) == ([], [], None)


def test_csv_has_the_numbers_of_what_was_measured(repro, measured):
    selection = ("compare", "costa", "--table", "1", "--scale", "tiny", "--measured")
    [row] = csv.DictReader(io.StringIO(repro(*selection, "--format", "csv").out))
    [found] = repro(*selection, "--format", "json").json
    assert (row["cell"], row["row"], row["column"]) == (CELL, "sparse.bm25", "dev.rr10")
    assert (row["dataset"], row["measure"]) == (found["dataset"], found["measure"])
    assert (row["dataset"], row["collections"]) == ("msmarco-passage/dev/small", "tiny/passage/dev")
    assert float(row["published"]) == found["published"] == 0.187
    assert float(row["measured"]) == found["measured"]
    assert [float(row["low"]), float(row["high"])] == found["interval"]
    assert found["interval"][0] < found["measured"] < found["interval"][1]
    assert row["difference"] == row["published_inside"] == ""


def test_what_fails_is_shown_alone_and_the_counts_are_of_all(repro, toy, folders):
    near = Record("toy/1/bm25/dev", "full", 0.17, None, "f" * 64, 9, 0, "RR@10", "fraction")
    Results(folders / "results").append([near, replace(near, cell="toy/1/other/dev", measured=0.1)])
    said = repro("compare --failing")
    rows = csv.DictReader(io.StringIO(repro("compare --failing --format csv").out))
    assert [row["cell"] for row in rows] == ["toy/1/bm25/dev"]
    counts = "Measured 2 of 3 published cells (1 distinct measurement): 0 pass, 1 fail, 1 neither."
    assert counts in said.err


def test_without_a_selection_it_is_everything(repro, toy):
    assert repro("compare") == repro("compare --all") and repro("compare").status == 0
    for verb in (["tables"], ["report", "figures"]):
        assert repro(*verb).out == repro(*verb, "toy").out


def test_a_pipe_gets_the_table_of_a_terminal_and_a_program_a_line_a_cell(repro, measured, monkeypatch):
    selection = ("costa", "--table", "1", "--scale", "tiny")
    lines = list(csv.DictReader(io.StringIO(repro("compare", *selection, "--format", "csv").out)))
    assert len(lines) == 66
    assert [line["published"] for line in lines if line["cell"] == CELL] == ["0.187"]
    piped = repro("compare", *selection).out
    monkeypatch.setenv("COLUMNS", "80")
    said = repro("compare", *selection)
    shown = said.out.splitlines()
    assert set(piped.split()) == set(said.out.split())
    assert "Fine-tuning with official BM25 negatives" in shown
    assert all(len(line) <= 80 for line in shown)
    assert said.err.startswith("Measured 1 of 58 published cells and 0 of 8 reference cells. ")
    assert any(line.startswith("substitute data: tiny/passage/dev replaces") for line in shown)


def test_sentences_beside_a_table_have_their_line_ends_between_words(repro, folders, monkeypatch):
    selection = ("compare", "cotmae_v2", "--table", "3", "--row", "cotmae_v2")
    piped = repro(*selection)
    monkeypatch.setenv("COLUMNS", "80")
    shown = repro(*selection)
    assert len(max(piped.err.splitlines(), key=len)) > 80 >= len(max(shown.err.splitlines(), key=len))
    assert shown.err.split() == piped.err.split()


def test_what_others_report_is_in_every_form_and_changes_nothing_else(repro, toy, report):
    def forms():
        rows = csv.DictReader(io.StringIO(repro("compare --format csv").out))
        objects = repro("compare --format json").json
        return next(r for r in rows if r["cell"] == NEAR), next(one for one in objects if one["id"] == NEAR)

    row, alone = forms()
    assert (row["others_count"], row["others"], alone["others"]) == ("0", "", [])
    report(NEAR, "0.2012", "0.19")
    row_beside, beside = forms()
    assert [one["value"] for one in beside["others"]] == [0.19, 0.2012]
    assert beside | {"others": []} == alone
    told = {key: value for key, value in row_beside.items() if key.startswith("others")}
    assert row_beside | {key: row[key] for key in told} == row
    assert told == {
        "others": "0.19",
        "others_count": "2",
        "others_least": "0.19",
        "others_most": "0.2012",
        "others_how": "checkpoint",
        "others_match": "exact",
        "others_by": "A toolkit",
        "others_at": "https://github.com/a/b/issues/1",
    }
    assert "0.19 to 0.20" in repro("compare").out


def test_a_measure_that_looks_deeper_than_the_scale_searches_says_so(repro, measured, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    note = "substitute data: tiny/passage/dev replaces msmarco-passage/dev/small"
    assert repro(f"run {DEEP} --scale tiny").status == 0
    deep = f"{note}; R@1000: computed on the top 100 (this scale retrieves no more)"
    assert deep in repro(f"compare {DEEP} --scale tiny").out
    said = repro(f"compare {CELL} --scale tiny")
    assert note in said.out and "R@1000" not in f"{said.out}{said.err}"
    [found] = repro(f"compare {DEEP} --scale tiny --format json").json
    assert (found["measure"], found["cut_at"]) == ("R@1000", 100)
    text = repro("tables costa --table 1 --scale tiny --out", measured / "here")
    assert text.status == 0
    assert "R@1000: computed on the top 100" in (measured / "here/costa-table1.tex").read_text()


def test_a_table_is_printed_in_each_format_and_then_not_written(repro, toy, folders):
    def printed(form, verb="tables"):
        said = repro(verb, "toy", "--table", "1", "--format", form)
        assert said.status == 0
        return said

    latex, markdown = printed("latex").out, printed("markdown").out
    assert repro("tables toy --table 1 --out", folders / "here").status == 0
    assert latex == (folders / "here/toy-table1.tex").read_text(encoding="utf-8")
    assert markdown.startswith("toy, table 1: ") and "\n| BM25 | 0.1" in markdown
    assert [printed(form, "compare").out for form in ("latex", "markdown")] == [latex, markdown]
    assert [one["id"] for one in printed("json").json] == [
        one["id"] for one in printed("json", "compare").json
    ]
    assert printed("csv").out == printed("csv", "compare").out
    assert not (folders / "results/tables").exists()
    refused = repro("tables --format latex --out here").sentence
    assert refused == "--format cannot be combined with --out"


def test_a_command_that_leaves_out_its_encoder_fails_as_for_the_encoder_alone(
    repro, tmp_path, real_data, monkeypatch
):
    monkeypatch.setenv("REPRO_DATA", str(real_data))
    save_tiny_model(tmp_path)
    run = real_data / "runs" / "ance.dl19-passage.top1000.trec.gz"
    said = repro("compare", run, tmp_path / "model", "costa/1/sparse.bm25/dl19.ndcg10")
    assert said.status == 4 and "ance.dl19" in said.out
    assert any(
        line.startswith("model: the documents of msmarco-passage/rocketqa are not in")
        for line in said.err.splitlines()
    )


def test_equal_seeds_are_refused(repro):
    said = repro("compare costa --table 1 --scale tiny --seeds 1,1")
    assert said.status == 2 and "seed 1 is given twice. Remove one" in said.err


def test_a_fault_in_a_pipe_is_named_without_a_folder(repro, own, monkeypatch, tmp_path):
    (tmp_path / "q").write_text("1 0 a 1\n")
    for words in ("-", "--qrels", tmp_path / "q", "--measure", "RR@10"), (own, "-", CELL, "--scale", "tiny"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"q1 Q0 a\n")))
        said = repro("compare", *words)
        assert said.status == 2 and "repro-" not in said.err and "stdin:1: 3 columns" in said.err
