"""Tells from a store alone, without plan, manifest or data, what each artefact in it was made from."""

import json
from collections.abc import Iterable
from pathlib import Path

from repro.stage_table import STAGES
from repro.store import notes
from repro.store.disk import RECORD, open_regular


class Lineage:
    """The notes and records of a store, each read once. A damaged one counts as absent."""

    def __init__(self, root: Path):
        self.root = root
        self._notes = [folder for folder in notes.folders(root) if folder.is_dir()]
        self._described: dict[str, dict] = {}
        self._folders: dict[str, list[Path]] | None = None

    def stored(self) -> set[str]:
        """The fingerprints of all artefacts in the store."""
        return {path.name for stage in STAGES for path in self.root.glob(f"{stage}/*")}

    def describe(self, fingerprint: str) -> dict:
        """``stage``, ``params`` and ``inputs`` (name -> fingerprint or list of them); empty if unknown."""
        if fingerprint not in self._described:
            places = [folder / f"{fingerprint}.json" for folder in self._notes]
            records = (folder / RECORD for folder in self._artefacts().get(fingerprint, ()))
            descriptions = map(_read_description, (*places, *records))
            self._described[fingerprint] = next(filter(None, descriptions), {})
        return self._described[fingerprint]

    def _artefacts(self) -> dict[str, list[Path]]:
        """Fingerprint -> the folders of that name; every folder of the store is listed once."""
        if self._folders is None:
            self._folders = {}
            for path in self.root.glob("*/*"):
                if notes.FINGERPRINT.fullmatch(path.name):
                    self._folders.setdefault(path.name, []).append(path)
        return self._folders

    def inputs(self, fingerprint: str) -> list[str]:
        """The fingerprints of an artefact's inputs; empty if they are unknown."""
        return _flatten(self.describe(fingerprint).get("inputs", {}))

    def below(self, fingerprints: Iterable[str]) -> set[str]:
        """The fingerprints and those of everything they were made from, as far as it is known."""
        reachable: set[str] = set()
        pending = list(fingerprints)
        while pending:
            fingerprint = pending.pop()
            if fingerprint not in reachable:
                reachable.add(fingerprint)
                pending += self.inputs(fingerprint)
        return reachable

    def tests_between(self, fingerprints: set[str]) -> set[str]:
        """Stored significance tests of artefacts that are all among ``fingerprints``; no plan names them."""
        tests = {path.name for path in self.root.glob("compare/*")}
        return {test for test in tests if self.inputs(test) and fingerprints.issuperset(self.inputs(test))}


def _read_description(path: Path) -> dict | None:
    try:
        with open_regular(path) as file:
            description = json.load(file)
        description = description["identity"] if path.name == RECORD else description
        is_valid = description["stage"] in STAGES and isinstance(description["params"], dict)
        return (
            description
            if is_valid
            and all(isinstance(fingerprint, str) for fingerprint in _flatten(description["inputs"]))
            else None
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _flatten(inputs: dict) -> list[str]:
    return [
        fingerprint
        for value in inputs.values()
        for fingerprint in (value if isinstance(value, list) else [value])
    ]
