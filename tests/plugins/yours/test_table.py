import numpy as np
import pytest

import repro
from repro.errors import BlockedError, DataError, UsageError
from repro.locations import Locations
from repro.plugins.yours.runs import judgements
from repro.retrieval.evaluation.run_writer import write_run
from repro.retrieval.evaluation.runs import read_run
from repro.running.workspace import Workspace
from tests.changed_code import ROOT
from tests.tiny_models import save_tiny_model

DL19, DL20 = (f"msmarco-passage/trec-dl-{year}/judged" for year in (2019, 2020))


@pytest.fixture
def workspace(tmp_path, real_data, monkeypatch):
    monkeypatch.setenv("REPRO_DATA", str(real_data))
    return Workspace(Locations.resolve(str(tmp_path / "store"), str(tmp_path / "results")))


@pytest.fixture
def runs(real_data):
    return {path.name.partition("-passage")[0]: path for path in sorted((real_data / "runs").iterdir())}


def test_a_run_is_a_row_tested_against_every_row_with_a_public_run(workspace, runs):
    """Scores are ir_measures', p-values scipy's, letters ranx's, Holm's correction by its definition."""
    import ir_measures
    from ranx import Qrels, Run, compare
    from scipy.stats import ttest_rel

    mine = repro.compare("simlm/2", yours=runs["ance.dl19"], workspace=workspace)
    [own] = mine.yours
    [cell] = own.rows[0].cells
    assert (cell.cell.id, own.rows[0].row.label) == ("simlm/2/yours/dl19.ndcg10", "ance.dl19-passage.top1000")
    tests = {test["over"].rpartition(".")[2]: test for test in mine.tests()}
    assert set(tests) == {"bm25", "deepct", "doct5query", "ance"}
    files = {"bm25": "bm25-anserini", "deepct": "deepct", "doct5query": "doct5query", "ance": "ance"}
    grades = judgements(DL19, workspace.data)
    scored = {
        name: {
            m.query_id: m.value
            for m in ir_measures.iter_calc(
                [ir_measures.parse_measure("nDCG@10")], grades, _by_rank(read_run(runs[f"{file}.dl19"]))
            )
        }
        for name, file in files.items()
    }
    queries = sorted(grades)
    values = {name: np.array([by_query[q] for q in queries]) for name, by_query in scored.items()}
    assert cell.measured == pytest.approx(100 * values["ance"].mean(), abs=1e-12)
    p = {name: ttest_rel(values["ance"], other).pvalue for name, other in values.items() if name != "ance"}
    assert {name: tests[name]["p"] for name in p} == pytest.approx(p, rel=1e-9)
    ordered = [*sorted(p, key=p.get), "ance"]  # four tests: the run against the very same one is the fourth
    steps = [min(1.0, (4 - place) * (p | {"ance": 1.0})[name]) for place, name in enumerate(ordered)]
    corrected = [max(steps[: place + 1]) for place in range(4)]
    assert [tests[name]["holm_student_p"] for name in ordered] == pytest.approx([*corrected[:3], None])
    beaten = {name for name in p if tests[name]["holm_student_p"] <= 0.05 and tests[name]["difference"] > 0}
    assert {row.rpartition(".")[2] for row in own.comparison.betters(cell)} == beaten == {"bm25"}
    # ranx, on the same files, finds the same p and so, without a correction, those that lie below .05
    qrels = Qrels({q: {d: max(0, g) for d, g in by.items()} for q, by in grades.items()})
    theirs = compare(
        qrels,
        [Run(_by_rank(read_run(runs[f"{file}.dl19"])), name=name) for name, file in files.items()],
        ["ndcg@10"],
        stat_test="student",
        max_p=0.05,
    )
    found = {frozenset(pair): result["ndcg@10"] for pair, result in theirs.comparisons.items()}
    for name in p:
        result = found[frozenset(("ance", name))]
        assert result["p_value"] == pytest.approx(p[name], rel=1e-6)
        assert bool(result["significant"]) == (p[name] <= 0.05)


def _by_rank(run):
    return {q: {d: float(len(r) - i) for i, (d, _) in enumerate(r)} for q, r in run.items() if len(r)}


def test_several_runs_are_several_rows_and_each_column_tells_what_it_lacks(workspace, runs):
    mine = repro.compare("simlm/2", yours=[runs["ance.dl19"], runs["ance.dl20"]], workspace=workspace)
    [own] = mine.yours
    assert [[c.cell.column.id for c in row.cells] for row in own.rows] == [["dl19.ndcg10"], ["dl20.ndcg10"]]
    assert any(f"has other topics than {DL20}" in text for text in own.rows[0].left_out)
    assert any("dev.rr10" in text and "dev/small" in text for text in own.rows[0].left_out)
    [costa] = repro.compare(
        "costa/1", yours=[runs["ance.dl19"], runs["ance.dl20"]], workspace=workspace
    ).yours
    assert [row.row.id for row in costa.rows] == ["yours"]
    assert "none of the run's 54 queries" in costa.left_out[0]
    assert mine.summary.cells == repro.compare("simlm/2", workspace=workspace).summary.cells


def test_a_run_that_ends_above_the_cut_of_a_measure_is_scored_and_said(workspace, runs):
    [own] = repro.compare("costa/1", yours=runs["bm25-anserini.dl19"], workspace=workspace).yours
    cut = {c.cell.column.id: c.cut_at for c in own.rows[0].cells}
    assert cut == {"dl19.ndcg10": None, "dl19.r1000": 100}
    both = repro.compare(
        "costa/1", yours=[runs["ance.dl19"], runs["bm25-anserini.dl19"]], workspace=workspace
    )
    label = "bm25-anserini.dl19-passage.top100"
    said = f"R(rel=2)@1000: computed on the top 100 (the run of {label} contains no more)."
    assert said in both.to_latex()


def test_a_difference_is_in_the_unit_of_the_scores_that_it_is_of(workspace, runs):
    mine = repro.compare("simlm/2/sparse.deepct/dl19.ndcg10", yours=runs["ance.dl19"], workspace=workspace)
    [test] = mine.tests()
    assert test["unit"] == "percent"
    assert test["difference"] == pytest.approx(test["value"] - test["over_value"]) and test["difference"] > 9
    assert 1 < test["low"] < test["difference"] < test["high"] < 20 and test["rmse"] > 9


def test_what_cannot_be_scored_leaves_the_others_in_the_table(workspace, runs, tmp_path):

    broken = tmp_path / "broken.run"
    broken.write_text("1 Q0 2 1 x t\n")
    save_tiny_model(tmp_path)
    mine = repro.compare(
        "costa/1", yours=[broken, tmp_path / "model", runs["ance.dl19"]], workspace=workspace
    )
    [own] = mine.yours
    assert [row.row.id for row in own.rows] == ["yours-3"]
    faulty, blocked = own.left_out
    assert "broken.run:1: the score 'x' is not a finite float32 number" in faulty
    assert blocked.startswith("model: the documents of msmarco-passage")


def test_what_no_column_can_score_says_why(workspace, runs, tmp_path):
    other = tmp_path / "other.run"
    other.write_text("nobody Q0 d 1 2.0 t\n")
    with pytest.raises(DataError, match=r"none of the run's 1 queries.*"):
        repro.compare("simlm/2", yours=other, workspace=workspace)
    with pytest.raises(
        UsageError, match=f"no column is scored on beir/scifact. The table's datasets: .*{DL19}"
    ):
        repro.compare("simlm/2", yours=runs["ance.dl19"], dataset="beir/scifact", workspace=workspace)
    with pytest.raises(BlockedError, match="are not in"):
        repro.compare("cotmae_v2/3/bm25/fiqa", yours=runs["ance.dl19"], workspace=workspace)


def test_latex_frame_and_scores_by_query_have_the_row(workspace, runs):
    mine = repro.compare("costa/1", yours=runs["ance.dl19"], workspace=workspace)
    text = mine.to_latex()
    assert r"(t)~ance.dl19-passage.top1000 & " in text and "measured: ance.dl19-passage.top1000." in text
    assert mine.to_frame().loc["costa/1/yours/dl19.ndcg10", "measured"] == pytest.approx(0.653703, abs=1e-5)
    scores = mine.scores_by_query().to_frame()
    of_mine = scores[(scores.row == runs["ance.dl19"].name) & (scores.measure == "nDCG@10")]
    assert len(of_mine) == 43 and of_mine.score.mean() == pytest.approx(0.653703, abs=1e-5)
    assert set(scores.row) == {runs["ance.dl19"].name, "sparse.bm25", "sparse.deepct"}


@pytest.mark.parametrize("results", [None, ROOT / "results"])
def test_the_printed_run_of_a_row_is_the_tested_one_in_all_columns(
    runs, real_data, monkeypatch, tmp_path, results
):
    """BM25's Anserini run has 100 documents, so R@1000 needs PyTerrier's, which covers both columns."""
    monkeypatch.setenv("REPRO_DATA", str(real_data))
    workspace = Workspace(Locations.resolve(str(tmp_path / "store"), str(results or tmp_path / "results")))
    mine = repro.compare("costa/1", yours=runs["ance.dl19"], workspace=workspace)
    tests = {(test["column"], test["over"]): test for test in mine.tests()}
    printed = {
        (c.cell.column.id, c.cell.row.id): c.imported[-1]
        for c in mine.comparison.cells
        if c.imported and (c.cell.column.id, c.cell.row.id) in tests
    }
    assert {("dl19.ndcg10", "sparse.bm25"), ("dl19.r1000", "sparse.bm25")} <= set(printed)
    for place, run in printed.items():
        assert tests[place]["over_value"] == pytest.approx(run.measured, abs=1e-12)
        assert tests[place]["by"] == f"run by {run.maker}" == "run by PyTerrier"
    assert "Others: runs by others, scored here (PyTerrier)." in mine.to_latex()


DATASET = "tiny/passage/dev"


@pytest.fixture
def run_file(tmp_path):
    run = {
        query: [(document, 1.0) for document in list(judged)[:1]]
        for query, judged in judgements(DATASET).items()
    }
    write_run(tmp_path, run, "mine")
    return tmp_path / "run.trec"


def test_runs_are_scored_by_a_dataset_and_tested_among_themselves(run_file):
    scores = repro.compare(yours=[run_file, run_file], dataset=DATASET, measures=["R@1", "AP"])
    wanted = sum(1 / len(judged) for judged in judgements(DATASET).values()) / len(judgements(DATASET))
    frame = scores.to_frame()
    assert frame.loc[f"yours/{DATASET}/yours-1/R@1", "measured"] == pytest.approx(wanted)
    assert {(test["row"], test["over"], test["p"], test["permutation_p"]) for test in scores.tests()} == {
        ("yours-1", "yours-2", None, 1.0),
        ("yours-2", "yours-1", None, 1.0),
    }
    assert "Runs scored by the judgements of" in scores.to_latex()


def test_a_file_of_judgements_scores_by_whatever_measure(run_file, tmp_path):
    grades = judgements(DATASET)
    lines = (f"{q} 0 {d} {g}\n" for q, by_document in grades.items() for d, g in by_document.items())
    (tmp_path / "my.qrels").write_text("".join(lines))
    by_file, by_set = (
        [c.measured for c in repro.compare(yours=run_file, measures=["MRR@10", "P@1", "AP"], **given)]
        for given in ({"qrels": tmp_path / "my.qrels"}, {"dataset": DATASET})
    )
    assert by_file == by_set and len(by_file) == 3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"dataset": DATASET, "measures": "RR@10"}, "measures takes several names, not the text 'RR@10'"),
        ({"yours": None}, "a run or an encoder of type NoneType cannot be used. A run is a file, a dict"),
        ({"yours": [b"a.run"]}, "a run or an encoder of type bytes cannot be used"),
        ({"yours": ""}, "a run or an encoder of type str cannot be used"),
        ({"yours": {}}, "a run or an encoder of type dict cannot be used"),
        ({"qrels": [1]}, "judgements of type list cannot be used. Judgements are a file, a dict"),
        (
            {"dataset": DATASET, "measures": [10]},
            "a measure is a name or an object of ir_measures, not a int",
        ),
        ({}, "name a table, e.g. PAPER/1"),
        ({"dataset": DATASET}, "tiny/passage/dev has no usual measure. Name one, e.g. --measure nDCG@10"),
        ({"dataset": DATASET, "measures": ["nothing@3"]}, "nothing@3"),
        ({"dataset": "msmarco"}, "'msmarco' is not a known dataset"),
    ],
)
def test_what_cannot_be_scored_is_refused(run_file, given, words):
    with pytest.raises(UsageError, match=words):
        repro.compare(**{"yours": run_file, **given})
