"""Amounts that stored artefacts tell."""

from types import SimpleNamespace

import pytest

from repro.graph import Node
from repro.running.cost.amounts import StoredCounts


@pytest.mark.parametrize(
    ("steps", "trained"),
    [(1, 32), (3, 96), (4, 100), (5, 132), (8, 200), (11, 296)],  # 100 examples are 32 + 32 + 32 + 4
)
def test_a_training_goes_through_whole_batches_but_for_the_last_of_every_epoch(steps, trained):
    facts = {"steps": steps, "examples": 100}
    store = SimpleNamespace(record=lambda node: {"facts": facts})
    node = Node("pretrain", {"texts_per_batch": 32})
    assert StoredCounts(store).trained(node) == trained
