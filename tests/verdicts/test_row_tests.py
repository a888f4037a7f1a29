import json

import pytest

from repro.graph import Node, check_types
from repro.manifest.cells import select
from repro.progress import Progress
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import scale
from repro.store import Store
from repro.store.results import Results
from repro.verdicts import row_tests
from repro.verdicts.compared import Comparison
from repro.verdicts.comparison import compare
from repro.verdicts.plain_values import cells_as_json
from repro.verdicts.row_tests import run_tests


@pytest.fixture
def made(tmp_path):
    """``made(ids)``: a plan at tiny scale whose evaluations and runs lie in the store, made up."""

    def call(*ids, seeds=()):
        cells = select((), tables=(), rows=(), cells=ids)
        found = plan(cells, scale=scale("tiny"), machine=Machine(), seeds=seeds)
        store = Store(tmp_path / "store")
        for number, m in enumerate(found.measurements):
            for part in m.parts:
                store.build(part, lambda out, n=number, p=part: _scores(out, p, n))
        found.look(store)
        return found, store

    return call


def _scores(out, part: Node, number: int) -> None:
    queries = [f"q{i:02d}" for i in range(20)]
    values = [((i * (number + 3)) % 7) / 7 for i in range(20)]
    scores = dict.fromkeys(part.params["measures"], values)
    made = {"queries": queries, "measures": scores, "missing": [], "ignored": 0}
    (out / "scores.json").write_text(json.dumps(made))


def rows_of(dataset: str) -> list[str]:
    cells = [c for c in select((), tables=(), rows=(), cells=()) if c.column.dataset == dataset and c.recipe]
    columns = {}
    for m in plan(cells, scale=scale("tiny"), machine=Machine()).measurements:
        columns.setdefault((m.cell.paper.name, m.cell.table.id, m.cell.column.id), []).append(m.cell.id)
    return next(ids[:2] for ids in columns.values() if len(ids) > 1)


@pytest.mark.parametrize("dataset", ["beir/cqadupstack", "dpr-w100/natural-questions/test"])
def test_averaged_collections_and_answers_are_tested_by_their_scores(made, dataset):
    ids = rows_of(dataset)
    found, store = made(*ids)
    [(key, node)] = row_tests.tests(found, store).items()
    check_types(node)
    assert key[2] == dataset
    assert node.inputs.keys() == {"scores"}
    comparison = Comparison([])
    run_tests(comparison, found, store, Progress())
    assert comparison.untested == []
    told = comparison.tests[key]["measures"][found.measurements[0].measure]
    assert told["names"] == [m.cell.row.id for m in found.measurements]
    assert 0 < told["permutation_p"][0][1] <= 1
    assert sum(told[k][0][1] for k in ("wins", "ties", "losses")) == 20 * len(found.measurements[0].groups[0])


def test_rows_are_compared_at_a_seed_that_both_have(made):
    found, store = made("costa/1/bm25neg.bert/dev.rr10", "costa/1/bm25neg.costa/dev.rr10", seeds=(1, 2))
    runs = {(m.cell.row.id, m.seed): m.runs[0] for m in found.measurements}
    for run in runs.values():
        store.build(run, lambda out: None)
    [node] = row_tests.tests(found, store).values()
    assert node.inputs["runs"] == tuple(run for (_, seed), run in runs.items() if seed == 1)
    store.discard(found.measurements[0].parts[0])
    found.look(store)
    [node] = row_tests.tests(found, store).values()
    assert node.inputs["runs"] == tuple(run for (_, seed), run in runs.items() if seed == 2)


def test_a_cells_record_has_its_tests(made, tmp_path):
    ids = rows_of("beir/cqadupstack")
    found, store = made(*ids)
    comparison = compare(found, Results(tmp_path / "results"))
    run_tests(comparison, found, store, Progress())
    first, second = cells_as_json(comparison)
    assert [t["over"] for t in first["tests"]] == [ids[1].split("/")[2]]
    ours, theirs = first["tests"][0], second["tests"][0]
    assert ours["difference"] == pytest.approx(-theirs["difference"])
    assert ours["permutation_p"] == ours["holm_p"] == theirs["permutation_p"]
    assert (first["effects"], first["order"]) == ([], None)


def test_one_row_alone_has_no_test(made):
    found, store = made(rows_of("beir/cqadupstack")[0])
    assert row_tests.tests(found, store) == {}


def test_a_test_of_scores_that_were_made_again_and_came_out_otherwise_is_made_again_too(made):
    found, store = made(*rows_of("beir/cqadupstack"))
    first, second, later = Comparison([]), Comparison([]), Comparison([])
    run_tests(first, found, store, Progress())
    assert row_tests.stored_tests(found, store) == first.tests
    for number, m in enumerate(found.measurements):
        for part in m.parts:
            store.discard(part)
            store.build(part, lambda out, n=number, p=part: _scores(out, p, 1 - n))
    assert row_tests.stored_tests(found, store) == {}
    run_tests(second, found, store, Progress())
    [means, otherwise] = [next(iter(made.tests.values()))["measures"] for made in (first, second)]
    assert all(means[m]["means"] == otherwise[m]["means"][::-1] for m in means)
    run_tests(later, found, Store(store.root), Progress())
    assert later.tests == second.tests == row_tests.stored_tests(found, store)
