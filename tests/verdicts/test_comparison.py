import shutil
from dataclasses import replace
from statistics import fmean

import pytest

from repro.errors import StageError, StoreError
from repro.manifest.cells import cell, select
from repro.running.measurement import MeasurementBuilder
from repro.running.plan import Plan, plan
from repro.running.records import record
from repro.running.requirements import Machine
from repro.running.runner import Outcome
from repro.running.scale import scale
from repro.store import Store
from repro.store.results import Results
from repro.verdicts.comparison import compare
from tests.made_up_scores import build

RR, RECALL = "costa/1/sparse.bm25/dev.rr10", "costa/1/sparse.bm25/dev.r1000"
AVERAGE, MEMBER = "cotmae_v2/3/bm25/average", "cotmae_v2/3/bm25/scifact"


def planned(*names: str, at: str = "tiny", columns: dict | None = None, **options) -> Plan:
    """The plan of some cells, in whose columns the manifest may say something else."""
    cells = select((), tables=(), rows=(), cells=names)
    changed = [replace(c, column=c.column.model_copy(update=columns or {})) for c in cells]
    return plan(changed, scale=scale(at), machine=Machine(), **options)


@pytest.fixture
def results(tmp_path) -> Results:
    return Results(tmp_path / "results")


@pytest.fixture
def measure(tmp_path, results):
    """``measure(plan, value)``: queries of a new store score that, or ``spread`` off; it is recorded."""

    def call(made: Plan, value: float, recorded: bool = True, spread: float = 0.0) -> tuple[Store, list]:
        shutil.rmtree(tmp_path / "store", ignore_errors=True)
        store = Store(tmp_path / "store")
        for node in made.nodes:
            build(node, store, value, spread)
        made.look(store)
        papers = {m.cell.paper.name for m in made.measurements}
        before = [r for paper in papers for r in results.read(made.scale.name, paper)]
        if recorded:
            record(made, store, results)
        return store, [r for paper in papers for r in results.read(made.scale.name, paper) if r not in before]

    return call


def members() -> tuple[str, ...]:
    return cell(AVERAGE).column.mean_of


def only(made: Plan, results: Results, **how):
    [compared] = compare(made, results, **how).cells
    return compared


def test_a_result_that_differs_is_recorded_shown_and_told(measure, results):
    made = planned(RR)
    measure(made, 0.5)
    _, added = measure(made, 0.4)
    assert [r.measured for r in added] == [0.4]
    assert [r.measured for r in results.read("tiny", "costa")] == [0.5, 0.4]
    assert (only(made, results).measured, only(made, results).outdated) == (0.4, "")
    assert measure(made, 0.4)[1] == []


def test_a_record_names_its_collection_and_an_older_one_takes_its_spread_from_the_store(measure, results):
    made = planned(RR)
    store, [added] = measure(made, 0.5, spread=0.01)
    assert added.collections == ["tiny/passage/dev"]
    assert added.deviation == pytest.approx(0.02 / 2**0.5)
    older = Results(results.root.with_name("older"))
    older.append([replace(added, collections=[], deviation=None)])
    assert only(made, older, store=store).interval == only(made, results).interval
    assert only(made, results).interval.high == pytest.approx(0.5 + 12.706 * 0.01, abs=1e-5)
    alone = only(made, older)
    assert (alone.interval, alone.measured_on, alone.stand_ins) == (None, *[("tiny/passage/dev",)] * 2)


def test_stored_scores_count_where_a_record_says_otherwise(measure, results):
    made = planned(RR)
    measure(made, 0.5)
    store, _ = measure(made, 0.4, recorded=False)
    held = only(made, results, store=store)
    assert (held.measured, held.outdated) == (0.4, "")
    assert "recorded 0.5, stored 0.4: the latter counts" in held.verdict.why
    assert only(made, results).measured == 0.5


def test_the_stored_members_of_an_average_count_too(measure, results):
    made = planned(AVERAGE)
    measure(made, 0.5)
    store, _ = measure(made, 0.4, recorded=False)
    assert only(made, results, store=store).measured == pytest.approx(40)
    assert only(made, results).measured == pytest.approx(50)


def test_a_newer_record_of_the_same_scores_counts_for_every_cell_and_average(measure, results):
    measure(planned(AVERAGE), 0.5)
    measure(planned(MEMBER), 0.4)
    held = only(planned(AVERAGE), results)
    row = AVERAGE.removesuffix("average")
    shown = [c.measured for c in compare(planned(*(row + m for m in members())), results).cells]
    assert set(shown) == {40, 50}  # some collections have one stand-in at this scale
    assert not held.outdated and held.measured == pytest.approx(fmean(shown))
    assert "by a newer record" in held.verdict.why


def test_a_damaged_evaluation_is_neither_recorded_nor_believed(measure, results):
    made = planned(RR)
    store, _ = measure(made, 0.5)
    scores = next(store.root.glob("evaluate/*/scores.json"))
    scores.write_text(scores.read_text().replace("0.5", "0.9"))
    with pytest.raises(StoreError, match=r"scores\.json: damaged"):
        record(made, store, results)
    assert only(made, results, store=store).measured == 0.5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"measure": "R@50"}, "recorded as RR@10 in fraction, but the cell is R@50 in fraction"),
        ({"unit": "percent"}, "recorded as RR@10 in fraction, but the cell is RR@10 in percent"),
    ],
)
def test_a_record_of_another_measure_or_unit_is_no_measurement_of_the_cell(measure, results, change, words):
    measure(planned(RR), 0.5)
    corrected = planned(RR, columns=change)
    shown = only(corrected, results)
    assert (shown.measured, shown.verdict.name) == (None, "not run")
    assert words in shown.verdict.why
    measure(corrected, 0.5)
    assert only(corrected, results).measured == (50 if "unit" in change else 0.5)
    assert only(planned(RR), results).measured == 0.5


def test_an_average_of_other_members_or_by_another_measure_is_not_current(measure, results):
    measure(planned(AVERAGE), 0.5)
    assert not only(planned(AVERAGE), results).outdated

    fewer = only(planned(AVERAGE, columns={"mean_of": members()[1:]}), results)
    assert (fewer.current, fewer.outdated) == (False, "the recipe has changed since this was measured")
    assert only(planned(AVERAGE, columns={"unit": "fraction"}), results).measured is None


def test_an_average_is_in_its_own_unit(measure, results):
    made = planned(AVERAGE, columns={"unit": "fraction"})
    measure(made, 0.5)
    assert only(made, results).measured == pytest.approx(0.5)


@pytest.mark.parametrize("order", [({}, {"dev-recall": "success"}), ({"dev-recall": "success"}, {})])
def test_a_choice_that_leaves_the_graph_as_it_is_is_recorded_beside_the_default(measure, results, order):
    plans = [planned(RECALL, overrides=chosen) for chosen in order]
    assert len({made.measurements[0].fingerprint for made in plans}) == 1
    for made in plans:
        measure(made, 0.5)
    for made, chosen in zip(plans, order, strict=True):
        shown = only(made, results)
        assert (shown.measured, shown.outdated, shown.records[0].readings) == (0.5, "", chosen)


def test_a_choice_that_changes_nothing_of_a_cell_is_no_departure_of_it(measure, results):
    chosen = planned(RR, RECALL, overrides={"dev-recall": "success"})
    departures = {m.cell.id: m.departures for m in chosen.measurements}
    assert departures == {RR: {}, RECALL: {"dev-recall": "success"}}
    measure(chosen, 0.5)
    assert only(planned(RR), results).measured == 0.5
    assert only(planned(RECALL), results).measured is None


@pytest.mark.parametrize(
    ("identity", "left"),
    [
        (lambda choices: "same", {}),
        (lambda choices: sorted(choices), {"a": "x", "b": "x"}),
        (lambda choices: bool(choices), {"b": "x"}),  # either alone changes it, so one must stay
        (lambda choices: "b" in choices, {"b": "x"}),
    ],
)
def test_the_choices_that_stay_make_what_was_asked_for(identity, left):
    chosen = {"a": "x", "b": "x"}
    builder = MeasurementBuilder(scale("tiny"), Machine(), chosen)
    assert builder._effective(chosen, {}, lambda one: identity(one.overrides)) == left
    assert identity(left) == identity(chosen)


def test_a_substitute_for_data_is_a_departure_whatever_it_changes():
    builder = MeasurementBuilder(scale("full"), Machine(), {"a": "x"})
    assert builder._effective({"a": "x"}, {"a": "not here"}, lambda one: "same") == {"a": "x"}


@pytest.mark.parametrize("name", [RR, AVERAGE])
def test_a_cell_whose_stage_failed_is_failed_whatever_was_recorded_before(measure, results, name):
    made = planned(name)
    measure(made, 0.5)
    failed = Outcome(failed={made.measurements[0].fingerprint: StageError("bm25 failed on purpose")})
    shown = only(made, results, outcome=failed)
    assert (shown.verdict.name, shown.measured) == ("failed", None)
    told = f"bm25 failed on purpose; on record: {'0.5' if name == RR else '50'}"
    assert shown.verdict.why.startswith(f"{told}; unknown code: ")


def test_of_seeds_that_change_nothing_the_newest_measurement_counts(measure, results):
    measure(planned(RR, seeds=(1, 2)), 0.5)
    measure(planned(RR), 0.4)
    assert only(planned(RR, seeds=(1, 2)), results).measured == 0.4


def test_records_of_seeds_that_are_not_asked_for_say_so(measure, results):
    trained = "costa/1/hardneg.bert/dev.rr10"
    measure(planned(trained, seeds=(1, 2)), 0.5)
    shown = only(planned(trained), results)
    assert (shown.measured, shown.current) == (0.5, False)
    assert shown.outdated == "measured with --seeds 1,2, which this selection does not include"
    assert shown.outdated in shown.verdict.why
    assert not only(planned(trained, seeds=(1, 2)), results).outdated


def test_an_older_record_is_not_averaged_with_one_of_a_seed_that_nobody_asked_for(measure, results):
    trained = "costa/1/hardneg.bert/dev.rr10"
    _, [added] = measure(planned(trained), 0.2)
    results.path("tiny", "costa").unlink()
    results.append([replace(added, fingerprint="0" * 64)])
    measure(planned(trained, seeds=(1,)), 0.8)
    shown = only(planned(trained), results)
    assert (shown.measured, shown.outdated) == (0.2, "the recipe has changed since this was measured")


def test_no_recipe_is_said_to_have_changed_where_the_data_are_not_here(measure, results):
    made = planned(MEMBER, at="full")
    _, [added] = measure(made, 0.5)
    results.path("full", "cotmae_v2").unlink()
    results.append([replace(added, fingerprint="0" * 64)])
    assert only(made, results).outdated.startswith("the recipe has changed")
    made.states.clear()
    assert only(made, results).outdated.startswith("its inputs are not all here")


@pytest.mark.parametrize(
    "choices, name",
    [
        ({}, "inconclusive"),
        ({"first-version-retriever": "authors-checkpoint"}, "higher"),
        ({"first-version-retriever": "authors-checkpoint", "passage-titles": "none"}, "not comparable"),
    ],
)
def test_a_row_measured_with_its_authors_model_is_judged_as_encoded_again_and_says_so(
    measure, results, choices, name
):
    made = planned("cotmae_v2/1/cotmae/dev.rr10", at="full", overrides=choices)
    measure(made, 0.396)  # 39.4 is published; 0.2 points may be luck of a training, not of an encoding
    shown = only(made, results)
    assert shown.verdict.name == name
    said = "with the authors' own model (first-version-retriever is authors-checkpoint)"
    assert (said in shown.verdict.why) is (len(choices) == 1)


@pytest.mark.needs_plugins
def test_what_others_report_stands_beside_a_cell_and_changes_no_verdict(results, monkeypatch):
    names = (RR, AVERAGE, MEMBER, "simlm/2/dense.ance/dev.rr10")
    beside = compare(planned(*names, at="full"), results).cells
    monkeypatch.setattr("repro.verdicts.comparison.notes", lambda cell: ())
    without = compare(planned(*names, at="full"), results).cells
    assert {c.cell.id for c in beside if c.notes} >= {RR, "simlm/2/dense.ance/dev.rr10"}
    assert [replace(c, notes=()) for c in beside] == without
