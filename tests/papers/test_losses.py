"""No pre-training objective of the papers gives another loss for equal inputs without a higher version.

Every paper's tests have a table of their own, ``losses.json``, which ``tests/recorded.py`` says how to renew.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from papers.simlm import generator
from tests.papers.pretraining_in_parts import CASES, COUNT, batches, likeliest, objective
from tests.recorded import Recorded, close

NAMES_BY_FOLDER: dict[Path, list[str]] = {}
for name, (made, *_) in CASES.items():
    NAMES_BY_FOLDER.setdefault(Path(inspect.getfile(made)).parent, []).append(name)


@pytest.mark.parametrize("folder", NAMES_BY_FOLDER, ids=lambda folder: folder.name)
def test_the_losses_are_the_recorded_ones_as_long_as_the_versions_are(
    folder, tmp_path, monkeypatch, renewing
):
    monkeypatch.setattr(generator, "sampled", likeliest)
    table = Recorded(folder / "losses.json", "its class, and in the recipes that name it")
    if not renewing and not table.path.exists():
        pytest.skip("`python -m pytest tests -k recorded --renew-outputs` records the losses of a new paper")
    versions = {}
    for name in NAMES_BY_FOLDER[folder]:
        made = objective(name, tmp_path)
        losses = ((key, loss.item()) for key, loss in made(*batches(made, ((0, COUNT),))).items())
        versions[name] = made.version
        table.check(name, made.version, {"digest": "", "numbers": close(losses, share=1e-4)}, renew=renewing)
    table.check_versions(versions, renew=renewing)
