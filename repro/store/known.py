"""What a store says of fingerprints without a plan or data: their notes and records, and what lies below."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from repro.stage_table import STAGES
from repro.store.disk import RECORD


class Known:
    """The notes and records of a store, each read once. Damaged ones say nothing."""

    def __init__(self, root: Path):
        self.root = root
        self._described: dict[str, dict] = {}

    def of(self, fingerprint: str) -> dict:
        """``stage``, ``params`` and ``inputs`` (name -> fingerprint or list of them); empty if unknown."""
        if fingerprint not in self._described:
            notes = [self.root / "nodes" / f"{fingerprint}.json"]
            found = map(_description, [*notes, *self.root.glob(f"*/{fingerprint}/{RECORD}")])
            self._described[fingerprint] = next(filter(None, found), {})
        return self._described[fingerprint]

    def below(self, fingerprints: Iterable[str]) -> set[str]:
        """The fingerprints and those of everything below them, as far as it is known."""
        found: set[str] = set()
        left = list(fingerprints)
        while left:
            one = left.pop()
            if one in found:
                continue
            found.add(one)
            for value in self.of(one).get("inputs", {}).values():
                left += value if isinstance(value, list) else [value]
        return found


def _description(path: Path) -> dict | None:
    try:
        read = json.loads(path.read_text())
        read = read["identity"] if path.name == RECORD else read
        inputs = [one for v in read["inputs"].values() for one in (v if isinstance(v, list) else [v])]
        sound = read["stage"] in STAGES and isinstance(read["params"], dict)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return read if sound and all(isinstance(one, str) for one in inputs) else None
