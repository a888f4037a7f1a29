"""``repro convert-records``: older records get measure, unit and digest, and what proved these is said."""

import json
from dataclasses import asdict

import pytest

from repro.locations import Locations
from repro.manifest.cells import select
from repro.running.conversion import convert
from repro.running.plan import plan
from repro.running.records import record, stored_records
from repro.running.scale import scale
from repro.running.workspace import Workspace
from repro.store.record_lines import line_of
from tests.made_up_scores import build

RR, RECALL = "costa/1/sparse.bm25/dev.rr10", "costa/1/sparse.bm25/dev.r1000"
AVERAGE = "cotmae_v2/3/bm25/average"


@pytest.fixture
def workspace(tmp_path) -> Workspace:
    return Workspace(Locations(tmp_path / "store", tmp_path / "results", None))


def _measured(workspace, *names, **options) -> list:
    """The records of cells that a store now holds the scores of."""
    cells = select((), tables=(), rows=(), cells=names)
    made = plan(cells, scale=scale("tiny"), machine=workspace.machine, **options)
    for node in made.nodes:
        build(node, workspace.store, 0.5)
    made.look(workspace.store)
    return stored_records(made, workspace.store)


def _older(workspace, records, **changes) -> None:
    """Write records as earlier versions did."""
    for r in records:
        path = workspace.results.path("tiny", r.cell.split("/")[0])
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = {k: v for k, v in asdict(r).items() if k not in ("measure", "unit", "assumed")}
        with path.open("a") as stream:
            stream.write(json.dumps(kept | changes) + "\n")


def test_stored_scores_prove_measure_and_unit_also_of_an_average(workspace):
    records = _measured(workspace, RR, AVERAGE)
    _older(workspace, records)
    converted = list(convert(workspace.results, workspace))
    assert sum(len(one.proved) for one in converted) == len(records)
    assert not any(one.assumed for one in converted)
    for paper in ("costa", "cotmae_v2"):
        assert workspace.results.read("tiny", paper) == [r for r in records if r.cell.startswith(paper)]


@pytest.mark.parametrize("change", [{}, {"measured": 0.7}, {"fingerprint": "f" * 64}])
def test_what_nothing_stored_proves_is_told_and_keeps_its_value(workspace, tmp_path, change):
    _older(workspace, _measured(workspace, RR), **change)
    store = tmp_path / ("store" if change else "other")
    elsewhere = Workspace(Locations(store, tmp_path / "results", None))
    [one] = convert(elsewhere.results, elsewhere)
    assert ([r.cell for r in one.assumed], one.proved) == ([RR], [])
    [kept] = workspace.results.read("tiny", "costa")
    assert (kept.measure, kept.unit, kept.assumed) == ("RR@10", "fraction", True)
    assert kept.measured == change.get("measured", 0.5)
    if not change:
        [again] = convert(workspace.results, workspace)
        assert len(again.proved) == 1
        assert not workspace.results.read("tiny", "costa")[0].assumed


def test_a_choice_that_changes_nothing_of_the_cell_is_no_longer_in_its_record(workspace):
    chosen = {"dev-recall": "success"}
    _older(workspace, _measured(workspace, RR, RECALL, overrides=chosen), readings=chosen)
    list(convert(workspace.results, workspace))
    kept = {r.cell: (r.readings, r.measure) for r in workspace.results.read("tiny", "costa")}
    assert kept == {RR: ({}, "RR@10"), RECALL: (chosen, "Success@1000")}


def test_a_cell_that_the_manifest_has_no_more_keeps_its_value_by_an_unknown_measure(workspace):
    _older(workspace, _measured(workspace, RR), cell="costa/1/gone/dev.rr10")
    list(convert(workspace.results, workspace))
    [kept] = workspace.results.read("tiny", "costa")
    assert (kept.measure, kept.unit, kept.assumed, kept.measured) == ("", "", True, 0.5)


def test_lines_that_prove_themselves_stay_as_they_are(workspace):
    records = _measured(workspace, RR)
    path = workspace.results.path("tiny", "costa")
    path.parent.mkdir(parents=True)
    path.write_bytes(line_of(records[0]))
    _older(workspace, records)
    first = path.read_bytes().splitlines()[0]
    list(convert(workspace.results, workspace))
    assert path.read_bytes().splitlines()[0] == first
    assert len(workspace.results.read("tiny", "costa")) == 2
    again = path.read_bytes()
    list(convert(workspace.results, workspace))
    assert path.read_bytes() == again


def test_a_measurement_made_again_takes_the_place_of_what_was_assumed(workspace, tmp_path):
    records = _measured(workspace, RR)
    _older(workspace, records)
    elsewhere = Workspace(Locations(tmp_path / "other", tmp_path / "results", None))
    list(convert(elsewhere.results, elsewhere))
    made = plan(select((), tables=(), rows=(), cells=(RR,)), scale=scale("tiny"), machine=workspace.machine)
    [added] = record(made, workspace.store, workspace.results)
    assert added.contradicted is None and not added.record.assumed
