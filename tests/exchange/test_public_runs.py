import gzip
import hashlib
import re

import pytest
import pytrec_eval

from repro.exchange.public_runs import cells_of_run, public_runs, scorable_cells, split_by_presence
from repro.exchange.run_import import departures
from repro.retrieval.datasets.catalog import dataset
from repro.retrieval.evaluation.judged_runs import read_given
from repro.retrieval.evaluation.measures import score
from repro.retrieval.evaluation.run_writer import write_run
from repro.retrieval.evaluation.runs import read_run, read_run_file
from repro.retrieval.evaluation.text_lines import read_qrels
from repro.running.cell_readings import CellReadings
from tests.floats import close


def test_every_public_run_is_of_a_known_dataset_and_named_once():
    runs = public_runs()
    assert len({run.file for run in runs}) == len({run.sha256 for run in runs}) == len(runs) == 19
    for run in runs:
        assert dataset(run.dataset).judgements == "qrels"


def test_public_runs_are_rows_of_papers_and_both_toolkits_of_bm25_are_there():
    every = scorable_cells()
    by_run = {run.file: cells_of_run(run, every) for run in public_runs()}
    assert sum(bool(within) for within, _ in by_run.values()) >= 8
    systems = {c.row.system for within, _ in by_run.values() for c in within}
    assert systems == {"bm25", "ance", "deepct", "doct5query", "tas-b", "retromae", "contriever"}
    toolkits = {run.toolkit for run in public_runs() if run.system == "bm25"}
    assert toolkits == {"Anserini", "PyTerrier", "Pyserini"}


def test_every_public_run_names_the_repository_the_commit_and_the_file_that_it_is_from():
    for run in public_runs():
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}, [^ ].*", run.source or ""), run.file


def test_the_files_are_what_is_said_of_them(real_data):
    there, _ = split_by_presence(real_data / "runs")
    assert len(there) >= 10
    for run in there:
        path = real_data / "runs" / run.file
        assert hashlib.sha256(path.read_bytes()).hexdigest() == run.sha256
        assert max(map(len, read_run_file(path, strict=False).rankings.values())) == run.depth


@pytest.mark.parametrize(
    ("file", "ndcg"),
    [("bm25-pyterrier.dl19-passage.top1000.trec.gz", 0.4795), ("ance.dl20-passage.top1000.trec.gz", 0.6447)],
)
def test_an_imported_run_scores_as_trec_eval_scores_its_file(real_data, tmp_path, file, ndcg):
    [run] = [run for run in public_runs() if run.file == file]
    short = "dl19-passage" if "2019" in run.dataset else "dl20-passage"
    qrels = read_qrels(real_data / "qrels" / f"qrels.{short}.txt")
    path = real_data / "runs" / file
    write_run(tmp_path, read_given(path, qrels, ignore_identical_ids=False).rankings, "x")
    ours = score(read_run(tmp_path / "run.trec"), qrels, ["nDCG@10", "R@1000"], ignore_identical_ids=False)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "recall.1000"})
    with gzip.open(path, "rt") as lines:
        theirs = evaluator.evaluate(pytrec_eval.parse_run(lines))
    for measure, name in (("nDCG@10", "ndcg_cut_10"), ("R@1000", "recall_1000")):
        expected = [theirs[qid][name] for qid in ours.queries]
        close(ours.measures[measure], expected)
    assert ours.means["nDCG@10"] == pytest.approx(ndcg, abs=5e-5)


def test_the_readings_of_a_public_run_are_those_of_the_rows_that_it_is_of():
    every = scorable_cells()
    for run in public_runs():
        cells, _ = cells_of_run(run, every)
        followed = departures(cells, run.readings, CellReadings()) if cells else {}
        assert all(of_cell.keys() <= run.readings.keys() for of_cell in followed.values()), run.file
        assert bool(run.readings) == (run.system == "bm25")


@pytest.mark.parametrize(
    ("toolkit", "cell", "departs"),
    [
        ("Anserini", "costa/1/sparse.bm25/dl19.ndcg10", {"bm25-parameters": "anserini-default"}),
        ("Anserini", "simlm/2/sparse.bm25/dl19.ndcg10", {"bm25-text": "as-distributed"}),
        ("mended", "simlm/2/sparse.bm25/dl19.ndcg10", {}),
        ("mended", "cotmae_v2/1/bm25/dl20.ndcg10", {}),
        ("tilde", "costa/1/sparse.bm25/dl19.r1000", {}),
    ],
)
def test_a_run_departs_from_a_row_only_by_what_changes_the_row_in_that_column(toolkit, cell, departs):
    dataset = "2020" if "dl20" in cell else "2019"
    named = [r for r in public_runs() if toolkit in (r.toolkit, *r.file.partition(".")[0].split("-"))]
    [run] = [run for run in named if run.system == "bm25" and dataset in run.dataset]
    cells, _ = cells_of_run(run, scorable_cells())
    assert departures(cells, run.readings, CellReadings())[cell] == departs
