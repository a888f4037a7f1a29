"""The known deviations between public runs, computed again."""

import hashlib
import statistics
from itertools import combinations

import pytest

from repro.manifest.papers import ROOT
from repro.manifest.yaml_file import read
from repro.plugins.statements.deviations import FILE, Deviations
from repro.retrieval.evaluation.measures import parse_measure, score
from repro.retrieval.evaluation.runs import read_run
from repro.retrieval.evaluation.text_lines import read_qrels

CONTENT = read(ROOT / "baselines" / FILE, Deviations)
DATASET, QRELS = "msmarco-passage/trec-dl-2019/judged", "dl19-passage"
MEASURES = sorted({pair.measure for pair in CONTENT.known})


@pytest.fixture(scope="module")
def scores(real_data):
    qrels, by_run = read_qrels(real_data / "qrels" / f"qrels.{QRELS}.txt"), {}
    for name, known in CONTENT.runs.items():
        file = real_data / "runs" / known.file
        if file.exists():
            assert hashlib.sha256(file.read_bytes()).hexdigest() == known.sha256, name
            run = read_run(file)
            found = score(run, qrels, MEASURES, ignore_identical_ids=False)
            assert not found.missing, name
            by_run[name] = max(map(len, run.values())), found.measures
    return by_run


@pytest.mark.parametrize("measure", MEASURES)
def test_known_deviations_are_those_of_the_runs_and_no_listed_pair_has_a_smaller_one(scores, measure):
    known = {frozenset(pair.runs): pair for pair in CONTENT.known if pair.measure == measure}
    assert {pair.dataset for pair in known.values()} == {DATASET}
    deep = [name for name, (depth, _) in scores.items() if depth >= parse_measure(measure).cutoff]
    smallest, checked = min(pair.sd for pair in known.values()), 0
    for pair in combinations(deep, 2):
        lists = [scores[name][1][measure] for name in pair]
        differences = [one - other for one, other in zip(*lists, strict=True)]
        sd, lead = statistics.stdev(differences), abs(statistics.fmean(differences))
        assert sd >= smallest - 1e-6, pair
        if stated := known.get(frozenset(pair)):
            assert (sd, lead) == pytest.approx((stated.sd, stated.lead), abs=1e-6), pair
            checked += 1
    assert checked, "no pair of the runs is at hand"
