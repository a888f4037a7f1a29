"""The weight of a reading follows from the graphs of its choices: what differs first and by what factor."""

from __future__ import annotations

import pytest

from repro.manifest.cells import cell, cells_of, select
from repro.manifest.papers import paper
from repro.running.cell_readings import CellReadings
from repro.running.reading_weights import ASPECTS, weights


@pytest.fixture(scope="module")
def behind_one():
    """The weights of the readings behind a cell that is pre-trained, fine-tuned twice and searched."""
    return {w.reading.id: w for w in weights([cell("costa/1/hardneg.costa/dev.rr10")], CellReadings())}


def test_what_differs_first_is_told_with_both_values(behind_one):
    [change] = behind_one["hard-negative-epochs"].changes
    assert (change.part, change.what) == ("fine-tuning", ("finetune epochs 2 → 3",))
    assert change.aspect == "schedule" and change.factor == 1.5


def test_a_sum_for_a_mean_counts_as_the_texts_of_a_batch(behind_one):
    [change] = behind_one["loss-reduction"].changes
    assert change.part == "pre-training" and change.factor == 64


def test_what_a_choice_makes_anew_is_what_it_costs_to_know(behind_one):
    tuned, trained = (behind_one[k].cheapest.operations for k in ("hard-negative-epochs", "loss-reduction"))
    assert 0 < tuned < trained / 10


def test_losses_go_before_schedules_and_seeds_and_precision_come_last_of_the_switches(behind_one):
    order = [w.first.aspect for w in behind_one.values() if w.first]
    assert order == sorted(order, key=ASPECTS.index) and len(set(order)) > 2


def test_a_note_decides_nothing_and_comes_last(behind_one):
    idle = [bool(w.changes) for w in behind_one.values()]
    assert idle == sorted(idle, reverse=True)
    assert all(w.decides == bool(w.changes) for w in behind_one.values())


def test_only_published_numbers_are_decided():
    figure = select(("simlm",), tables=("figure-3",), rows=(), cells=())
    assert figure and all(w.decides == 0 for w in weights(figure, CellReadings()))


def test_a_choice_of_scoring_alone_changes_no_artefact():
    known, source = CellReadings(), paper("simlm")
    table = cells_of(source, (source.manifest.tables[1],))
    scoring = [c for w in weights(table, known) for c in w.changes if c.aspect == "scoring"]
    assert scoring and all(c.operations == 0 and c.part == "scoring" for c in scoring)
