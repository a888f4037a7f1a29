import pytest

from repro.graph import walk
from repro.manifest.cells import cells_of
from repro.manifest.papers import papers
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import scale

STUDY = papers()["head_to_head"]
TABLES = {table.id: table for table in STUDY.manifest.tables if table.id in "12345"}
OBJECTIVES = ("bert", "costa", "cpdae", "cotmae_v2", "simlm")


def planned(name):
    column = TABLES["1"].columns[0].id
    cells = [c for c in cells_of(STUDY, TABLES.values()) if c.column.id == column]
    made = plan(cells, scale=scale(name), machine=Machine())
    rows = {}
    for one in made.measurements:
        rows.setdefault(one.cell.table.id, {})[one.cell.row.id] = one.parts[0]
    return rows


@pytest.fixture(scope="module", params=["full", "small", "small-cpu"])
def rows(request):
    return planned(request.param)


def trained(evaluation, stage):
    found = [n for n in walk([evaluation]) if n.stage == stage]
    return found[-1] if found else None


def pretrainings(evaluation):
    return {n.fingerprint for n in walk([evaluation]) if n.stage == "pretrain"}


def test_every_table_has_the_rows_of_reference_and_the_columns_of_the_first():
    for table in TABLES.values():
        assert {"bm25", "random-weights", "start", *OBJECTIVES} <= {row.id for row in table.rows}
        assert table.columns == TABLES["1"].columns


def test_nothing_is_trained_twice(rows):
    shared = {"2": {"bm25", "random-weights", "start", "cpdae"}, "3": {"bm25"}, "4": {"bm25"}, "5": {"bm25"}}
    for table, same in shared.items():
        fingerprints = {row: node.fingerprint for row, node in rows[table].items()}
        assert {r for r, f in fingerprints.items() if f == rows["1"][r].fingerprint} == same
    for table in "345":
        for row in ("start", *OBJECTIVES):
            first, again = (pretrainings(rows[t][row]) for t in ("1", table))
            assert first == again and (first or row == "start")


def test_equal_flops_are_the_stated_multiples_of_the_common_number_of_steps(rows):
    for row in TABLES["2"].rows:
        if row.id in OBJECTIVES:
            common, own = (trained(rows[table][row.id], "pretrain").params for table in "12")
            multiple = row.with_.get("steps", 1)
            assert own["max_steps"] == pytest.approx(multiple * common["max_steps"], abs=0.5)
            assert own | {"max_steps": common["max_steps"]} == common


def test_all_queries_take_the_steps_of_a_tenth():
    rows = planned("full")
    for row in OBJECTIVES:
        tenth, every = (trained(rows[table][row], "finetune").params for table in "14")
        assert every["epochs"] == pytest.approx(0.1 * tenth["epochs"])
        assert every | {"epochs": tenth["epochs"]} == tenth


@pytest.mark.parametrize(("table", "share", "steps"), [("3", 0.01, 0.1), ("1", 0.1, 0.3)])
def test_few_queries_are_a_sample_by_the_seed_in_fewer_steps(table, share, steps):
    rows = planned("full")
    for row in OBJECTIVES:
        tuned = trained(rows[table][row], "finetune")
        drawn = tuned.inputs["training_set"]
        assert (drawn.stage, drawn.params["share"]) == ("sample", share)
        assert drawn.params["seed"] == tuned.params["seed"]
        every = trained(rows["4"][row], "finetune")
        assert drawn.inputs["training_set"].fingerprint == every.inputs["training_set"].fingerprint
        # 3 epochs of 502,939 queries in batches of 16
        assert tuned.params["max_steps"] == pytest.approx(steps * 3 * 502_939 / 16, rel=1e-3)
        assert tuned.params["epochs"] * share == pytest.approx(3 * steps)


def test_without_hard_negatives_a_query_comes_with_its_own_passage_alone(rows):
    for row in ("random-weights", "start", *OBJECTIVES):
        several, one = (trained(rows[table][row], "finetune").params for table in "15")
        assert several["passages_per_query"] > one["passages_per_query"] == 1
        assert one | {"passages_per_query": several["passages_per_query"]} == several


def test_a_scale_that_caps_steps_alone_makes_equal_flops_equal_tokens():
    rows = planned("tiny")
    assert all(
        rows["2"][row].fingerprint == node.fingerprint for row, node in rows["1"].items() if row in rows["2"]
    )
