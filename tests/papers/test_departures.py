"""A default that departs from what a paper states is told as a contradiction, so that the audit has it."""

from __future__ import annotations

import pytest

from repro.manifest.papers import papers, readings
from repro.manifest.settings import complete, read_settings

FOLDERS = {name: source.folder for name, source in papers().items()}
FOLDERS["baselines"] = FOLDERS["costa"].with_name("baselines")


@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_what_is_published_and_planned_otherwise_is_no_silence(name):
    known = {n: {step.id: step for step in read_settings(folder).steps} for n, folder in FOLDERS.items()}
    kinds = {
        identifier: reading.kind
        for folder in (FOLDERS["baselines"], FOLDERS[name])
        for identifier, reading in readings(folder / "readings.yaml").items()
    }
    for step in known[name].values():
        for path, setting in complete(known, name, step).settings.items():
            if setting.is_published and setting.departs:
                of = next(
                    (i for i in sorted(kinds, key=len, reverse=True) if _is_of(setting.reading, i)), None
                )
                assert kinds.get(of) in ("conflict", "misprint", "data"), (step.id, path, setting.reading)


def _is_of(reading: str, identifier: str) -> bool:
    return f"{reading}.".startswith(f"{identifier}.")
