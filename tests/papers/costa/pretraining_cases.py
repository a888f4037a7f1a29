from __future__ import annotations

from pathlib import Path

from torch import nn

from tests.papers.costa import test_contrastive_spans as costa


def made(module, folder: Path, **changes) -> nn.Module:
    return module.objective(**changes)


CASES = {
    "costa": (costa, {}),
    "costa, clean": (costa, {"contrastive_input": "clean", "similarity": "cosine"}),
    "costa, sums": (costa, {"reduction": "sum"}),
}
