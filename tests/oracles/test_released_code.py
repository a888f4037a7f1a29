"""Every training of a paper is held against released code, or ``unreleased.yaml`` says why not."""

import re
from pathlib import Path

import pytest

from oracles.written import names_of, unreleased_objectives, why_unequal
from repro.graph import Node
from repro.manifest.cells import cell, numeric_cells
from repro.manifest.papers import papers
from repro.running.cell_readings import CellReadings


def nodes_of(identifier):
    return CellReadings().nodes(cell(identifier))


def test_the_work_behind_a_cell_was_held_against_released_code():
    names = {name for node in nodes_of("simlm/2/dense.simlm/dev.rr10") for name in names_of(node)}
    names = {name.removeprefix("simlm/") for name in names}
    assert {"replaced-language-modelling", "distillation", "cross-encoder", "groups", "collator"} <= names


def test_a_training_without_released_code_says_so():
    [why] = set(filter(None, map(why_unequal, nodes_of("costa/1/hardneg.costa/dev.rr10"))))
    assert why == f"nothing was released: {unreleased_objectives()['costa'].because}"


def test_what_is_said_to_be_written_twice_is_there_and_tested():
    objectives = ("costa", "cpdae", "contextual-autoencoder", "multi-view-contrastive")
    for objective in objectives:
        [named] = re.findall(
            r"are written twice, .* \((tests/\S+)\)", unreleased_objectives()[objective].because
        )
        titles = {"costa": "COSTA", "cpdae": "CPDAE"}
        assert f'("{titles.get(objective, "CoT-MAE v2")}, Eq' in Path(named).read_text(encoding="utf-8")


def test_options_that_the_released_code_does_not_have_are_not_called_equal():
    [node] = [
        node
        for node in nodes_of("simlm/2/dense.simlm/dev.rr10")
        if node.params.get("objective", {}).get("name") == "simlm"
    ]
    options = node.params["options"] | {"decoder": node.params["options"]["decoder"] | {"slot": "prepend"}}
    other = Node(node.stage, node.params | {"options": options}, node.inputs)
    assert why_unequal(node) == ""
    assert why_unequal(other) == "the released code has no such options"
    assert "simlm/replaced-language-modelling" in names_of(node)
    assert "simlm/replaced-language-modelling" not in names_of(other)


@pytest.mark.parametrize("name", sorted(papers()))
def test_every_training_of_a_paper_is_compared_or_says_why_not(name):
    known, cells = CellReadings(), {c.row.id: c for c in numeric_cells(papers()[name])}.values()
    nodes = {node.fingerprint: node for c in cells for node in known.nodes(c)}
    silent = [str(n) for n in nodes.values() if why_unequal(n).startswith("not ")]
    assert silent == []
