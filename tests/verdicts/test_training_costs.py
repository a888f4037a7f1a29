from types import SimpleNamespace

import pytest

from repro.graph import Node
from repro.verdicts import training_costs
from repro.verdicts.training_costs import Cost, _cost, costs, row_hours, total_hours, untrained_rows

MLM = {"name": "mlm", "version": 1, "path": ""}


def planned(*rows):
    """A plan that measures each (row, column) by a node."""
    cells = [(SimpleNamespace(id=f"{r}/{c}", row=SimpleNamespace(id=r)), node) for r, c, node in rows]
    measurements = [SimpleNamespace(cell=cell, parts=(node,)) for cell, node in cells]
    return SimpleNamespace(measurements=measurements)


def store_of(facts):
    """A store of the trainings with ``facts`` by fingerprint."""
    return SimpleNamespace(
        record=lambda node: {"facts": {"steps": 1} | facts[node.fingerprint]},
        state=lambda node: "stored" if node.fingerprint in facts else "missing",
    )


@pytest.fixture
def trained():
    """Rows a (two seeds, one shared pre-training), b (not stored) and c (no training); and the store."""
    first, other = (Node("pretrain", {"objective": MLM, "seed": seed}) for seed in (1, 2))
    tuned = [Node("finetune", {"objective": MLM, "seed": seed}, {"model": first}) for seed in (1, 2)]
    corpus = Node("corpus", {"dataset": "x"})
    plan = planned(("a", "x", tuned[0]), ("a", "x", tuned[1]), ("b", "x", other), ("c", "x", corpus))
    seconds = zip((first, *tuned), (3600.0, 1800.0, 5400.0), strict=True)
    return plan, store_of({node.fingerprint: {"seconds": s} for node, s in seconds})


def test_hours_of_a_cell_and_row_are_those_of_all_its_trainings_and_unknown_where_one_is_not_stored(trained):
    assert training_costs.training_hours(*trained) == {"a/x": 2.0}
    assert row_hours(*trained) == {"a": 2.0}


def test_the_hours_of_a_row_are_those_of_the_column_that_took_most():
    hours = {"x": 1.0, "y": 3.0, "z": 2.0}
    nodes = {column: Node("finetune", {"objective": MLM, "seed": n}) for n, column in enumerate(hours)}
    facts = {node.fingerprint: {"seconds": 3600 * hours[column]} for column, node in nodes.items()}
    plan = planned(*(("a", column, node) for column, node in nodes.items()))
    assert row_hours(plan, store_of(facts)) == {"a": 3.0}


def test_all_hours_count_a_shared_training_once(trained):
    assert total_hours(*trained) == 3.0  # 1 of pre-training, .5 and 1.5 of fine-tuning


def test_a_row_that_no_training_enters_is_told_from_one_whose_training_is_missing(trained):
    assert untrained_rows(trained[0]) == ["c"]


def test_seconds_of_an_interrupted_training_are_in_proportion_to_its_last_attempt():
    whole = {"steps": 400, "seconds": 100.0, "flops": 10}
    interrupted = {"steps": 400, "seconds": 30.0, "resumed_at": 300, "flops": 10}
    ended_before = {"steps": 400, "seconds": 0.5, "resumed_at": 400, "flops": 10}
    assert _cost([whole]) == Cost(10, 100.0)
    assert _cost([whole, interrupted]) == Cost(10, 110.0)
    assert _cost([whole, interrupted, ended_before]) == Cost(10, None)


def test_the_cost_of_a_row_is_that_of_the_pretraining_which_no_other_row_shares():
    shared, missing = (Node("pretrain", {"objective": MLM, "seed": seed}) for seed in (1, 9))
    own = [Node("pretrain", {"objective": MLM, "seed": seed}, {"model": shared}) for seed in (2, 3)]
    starts = [("base", shared), ("ours", own[0]), ("ours", own[1]), ("lost", missing)]
    tuned = [
        (row, "x", Node("finetune", {"objective": MLM, "seed": number}, {"model": start}))
        for number, (row, start) in enumerate(starts)
    ]
    facts = {
        node.fingerprint: {"steps": 10, "seconds": seconds, "flops": flops}
        for node, seconds, flops in ((shared, 500.0, 70), (own[0], 30.0, 8), (own[1], 50.0, 12))
    }
    assert costs(planned(*tuned), store_of(facts)) == {"ours": Cost(10.0, 40.0)}
