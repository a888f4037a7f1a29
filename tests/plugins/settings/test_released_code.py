"""What is said of the work behind a cell, beside the code that its authors released.

Of repro/plugins/settings/oracles.
"""

import re
from pathlib import Path

import pytest

from repro.graph import Node
from repro.manifest.cells import cell, numeric_cells
from repro.manifest.papers import papers
from repro.plugins.settings.oracles import by_code, certificates, in_short, unreleased_objectives
from repro.running.cell_readings import CellReadings


def told(identifier):
    return certificates(CellReadings().nodes(cell(identifier)))


def test_a_cell_says_to_what_and_by_how_much_its_work_is_equal():
    says = {item.oracle: item.says for item in told("simlm/2/dense.simlm/dev.rr10")}
    assert "equal to microsoft/unilm@768a3c8 to " in says["simlm/replaced-language-modelling"]
    assert {"simlm/distillation", "simlm/cross-encoder", "simlm/groups", "simlm/collator"} <= set(says)
    [line, *_] = in_short(told("simlm/2/dense.simlm/dev.rr10"))
    assert line.startswith("equal to microsoft/unilm@768a3c8 to ") and "SimLM's distillation" in line


def test_a_training_without_released_code_says_so():
    [costa] = [item for item in told("costa/1/hardneg.costa/dev.rr10") if not item.code]
    assert costa.part == "pre-training by costa" and costa.says.startswith("nothing was released: ")


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
        for node in CellReadings().nodes(cell("simlm/2/dense.simlm/dev.rr10"))
        if node.params.get("objective", {}).get("name") == "simlm"
    ]
    options = node.params["options"] | {"decoder": node.params["options"]["decoder"] | {"slot": "prepend"}}
    other = Node(node.stage, node.params | {"options": options}, node.inputs)
    assert [item.says for item in certificates([node]) if not item.code] == []
    [item] = [item for item in certificates([other]) if not item.code]
    assert item.says == "the released code has no such options"
    assert "simlm/replaced-language-modelling" not in {item.oracle for item in certificates([other])}


def test_the_largest_difference_stands_for_all_that_is_equal_to_one_code():
    for equal, items in by_code(told("simlm/2/dense.simlm/dev.rr10")).items():
        most = max(item.difference for item in items if item.difference is not None)
        assert equal == f"equal to {items[0].code} to {most:.1e}"


@pytest.mark.parametrize("name", sorted(papers()))
def test_every_training_of_a_paper_is_compared_or_says_why_not(name):
    known, cells = CellReadings(), {c.row.id: c for c in numeric_cells(papers()[name])}.values()
    silent = {
        item.part for c in cells for item in certificates(known.nodes(c)) if item.says.startswith("not ")
    }
    assert silent == set()
