"""Which of COSTA's readings its recipes ask for, and what follows from them."""

from __future__ import annotations

import re

import pytest

from repro.graph import walk
from repro.manifest.cells import cells_of
from repro.papers import load, papers
from repro.plan import readings_for, recipe_path
from repro.recipe import Choices, Request

COSTA = papers()["costa"]
ROWS = {f"{cell.table.id}/{cell.row.id}": cell for cell in cells_of(COSTA) if cell.recipe}


def called(row: str, data=None, **overrides: str):
    """The node of a row and the choices it used; readings are written with _ for -."""
    cell, overrides = ROWS[row], {name.replace("_", "-"): choice for name, choice in overrides.items()}
    choices = Choices(readings_for(COSTA, recipe_path(cell)), overrides, data)
    return load(recipe_path(cell))(Request(cell.column.dataset, choices), **cell.options), choices


def stages(node, name: str) -> list:
    return [found for found in walk([node]) if found.stage == name]


def asked_for() -> set[str]:
    """Every reading that some row asks for under the defaults or one other choice."""
    found = set()
    for row in ROWS:
        _, choices = called(row)
        found |= set(choices.used)
        for name in list(choices.used):
            for choice in COSTA.readings[name].choices:
                found |= set(called(row, **{name: choice})[1].used)
    return found


def test_every_reading_that_could_be_switched_is_asked_for_or_said_not_to_be():
    page = (COSTA.folder / "README.md").read_text(encoding="utf-8")
    section = page.partition("### Readings that no recipe asks for yet")[2].partition("\n## ")[0]
    said = set(re.findall(r"`([a-z0-9-]+)`", section))
    switches = {
        name
        for name, reading in COSTA.readings.items()
        if any(value is not None for value in reading.choices.values())
    }
    printed = {"second-iteration-recall"}  # a number of print, not of a run
    assert said == switches - asked_for() - printed


@pytest.mark.parametrize("row", ["1/hardneg.bert", "1/hardneg.costa", "1/sparse.bm25", "2/sparse.bm25"])
def test_every_choice_a_row_asks_for_changes_what_it_runs(row):
    node, choices = called(row)
    for name in choices.used:
        reading = COSTA.readings[name]
        for choice, value in reading.choices.items():
            if name in choices.substitutes or value == reading.choices[reading.default]:
                continue
            assert called(row, **{name: choice})[0].fingerprint != node.fingerprint, (name, choice)


def test_bert_has_no_projector_to_keep():
    kept = {"fine_tuning_projector": "kept", "fine_tuning_projector_start": "new"}
    for row, projector in (("1/bm25neg.bert", "none"), ("1/bm25neg.costa", "nonlinear")):
        (tuning,) = stages(called(row, **kept)[0], "finetune")
        assert tuning.params["options"]["projector"] == projector


def test_lengths_with_special_tokens_counted_are_the_printed_ones():
    for choice, lengths in (("counted", {32, 128}), ("not-counted", {34, 130})):
        node, _ = called("1/bm25neg.bert", length_special_tokens=choice)
        assert {found.params["length"] for found in stages(node, "encode")} == lengths
        (tuning,) = stages(node, "finetune")
        assert {tuning.params["query_length"], tuning.params["passage_length"]} == lengths
