"""Tables of outputs by version: an output may change with its version only.

A table is a JSON file: name -> version, ``digest`` and ``numbers`` with allowances. ``python -m pytest
tests -k recorded --renew-outputs`` writes new or higher versions. Where only a test's inputs change, take its
lines out first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.floats import note


@dataclass(frozen=True)
class Recorded:
    path: Path
    versions: str

    def read(self) -> dict[str, dict]:
        return json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else {}

    def check(self, name: str, version: int, now: dict, *, renew: bool) -> None:
        """Hold an output against the table, or put it there."""
        table = self.read()
        entry = table.get(name)
        if entry and version <= entry["version"]:
            differing = changes(now, entry)
            remedy = f"raise the version of {name!r} in {self.versions} and renew the table, or take it back"
            assert not differing, f"equal inputs give another output ({'; '.join(differing)}): {remedy}"
            note(
                max(
                    [
                        0.0,
                        *(
                            abs(n - entry["numbers"][at][0]) / room
                            for at, (n, room) in now["numbers"].items()
                        ),
                    ]
                )
            )
        if renew and (entry is None or version != entry["version"]):
            table[name] = {"version": version, **now}
            self._write(table)

    def check_versions(self, versions: dict[str, int], *, renew: bool) -> None:
        """All is recorded at its version, and nothing else is; renewed, the table loses what is gone."""
        table = self.read()
        if renew:
            self._write({name: entry for name, entry in table.items() if name in versions})
        else:
            recorded = {name: entry["version"] for name, entry in table.items()}
            assert recorded == versions, "`python -m pytest tests -k recorded --renew-outputs`"

    def _write(self, table: dict[str, dict]) -> None:
        lines = (f"{json.dumps(name)}: {json.dumps(table[name])}" for name in sorted(table))
        self.path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def close(numbers: Iterable[tuple[str, float]], *, share: float) -> dict[str, list[float]]:
    """The numbers of a table, each allowed to differ by a share of itself."""
    return {name: [number, share * abs(number)] for name, number in numbers}


def changes(now: dict, recorded: dict) -> list[str]:
    if now["digest"] != recorded["digest"] or now["numbers"].keys() != recorded["numbers"].keys():
        return ["what is compared by digest is another"]
    return [
        f"{name} is {number!r}, {recorded['numbers'][name][0]!r} was recorded"
        for name, (number, allowance) in now["numbers"].items()
        if not abs(number - recorded["numbers"][name][0]) <= allowance
    ]
