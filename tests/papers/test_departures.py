"""A default that departs from what a paper states is told as a contradiction, so that the audit has it."""

from __future__ import annotations

import pytest

from repro.manifest.papers import papers, readings
from repro.manifest.settings import Step, complete, read_settings

FOLDERS = {name: source.folder for name, source in papers().items()}
FOLDERS["baselines"] = FOLDERS["costa"].with_name("baselines")


CONTRADICTIONS = {"conflict", "misprint", "data"}


@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_what_is_published_and_planned_otherwise_is_no_silence(name):
    known = {n: {step.id: step for step in read_settings(folder).steps} for n, folder in FOLDERS.items()}
    for step in known[name].values():
        whole = complete(known, name, step)
        departing = [one for one in whole.settings.values() if one.is_published and one.departs]
        silent = {
            one.reading for one in departing if not CONTRADICTIONS & kinds(one.reading, of=step, at=name)
        }
        assert not silent, f"{step.id}: make {silent} conflicts or misprints"


def kinds(identifier: str, *, of: Step, at: str) -> set[str]:
    """The kinds of the readings of this id: of the paper, the shared folder, the one that a step is like."""
    folders = {at, "baselines", of.like.partition("/")[0]} & set(FOLDERS)
    found = [one for name in folders for one in readings(FOLDERS[name] / "readings.yaml").values()]
    return {one.kind for one in found if f"{identifier}.".startswith(f"{one.id}.")}
