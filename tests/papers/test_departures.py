from __future__ import annotations

import pytest

from repro.manifest.papers import papers, readings
from repro.manifest.reading_schema import Reading
from repro.plugins.settings.planned_rows import published_value
from repro.plugins.settings.schema import Step, completed_step, read_settings

FOLDERS = {name: source.folder for name, source in papers().items()}
FOLDERS["baselines"] = FOLDERS["costa"].with_name("baselines")


CONTRADICTIONS = {"conflict", "misprint", "data"}
NO_VALUE = (None, "2-3")


@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_what_is_published_and_planned_otherwise_is_no_silence(name):
    for step in read_settings(FOLDERS[name]).steps:
        whole = completed_step(FOLDERS, name, step)
        departing = [one for one in whole.settings.values() if one.is_published and one.departs]
        silent = {
            one.reading for one in departing if not CONTRADICTIONS & kinds(one.reading, of=step, at=name)
        }
        assert not silent, f"{step.id}: make {silent} conflicts or misprints"


@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_what_is_published_and_planned_otherwise_is_a_choice(name):
    for step in read_settings(FOLDERS[name]).steps:
        for path, one in completed_step(FOLDERS, name, step).settings.items():
            if one and one.departs and (value := published_value(one, "")) not in NO_VALUE:
                offered = [
                    part
                    for reading in named(one.reading, of=step, at=name)
                    for choice in reading.choices.values()
                    for part in leaves(below(choice, one.reading.removeprefix(reading.id)))
                ]
                assert value in offered, (step.id, path, one.reading, offered)


def kinds(identifier: str, *, of: Step, at: str) -> set[str]:
    return {one.kind for one in named(identifier, of=of, at=at)}


def named(identifier: str, *, of: Step, at: str) -> list[Reading]:
    """The readings of this id: of the paper, the shared folder, the one that a step is like."""
    folders = {at, "baselines", of.like.partition("/")[0]} & set(FOLDERS)
    found = [one for name in folders for one in readings(FOLDERS[name] / "readings.yaml").values()]
    return [one for one in found if f"{identifier}.".startswith(f"{one.id}.")]


def below(value: object, path: str) -> object:
    """The part of a choice that ``.key.key`` names; None where it has none."""
    for key in filter(None, path.split(".")):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def leaves(value: object) -> list:
    """What stands in lists and mappings, at any depth, and the lists themselves."""
    if isinstance(value, dict):
        value = list(value.values())
    within = [one for part in value for one in leaves(part)] if isinstance(value, list) else []
    return [value, *within]
