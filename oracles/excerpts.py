"""Statements of a released script that stand in its main part, and so cannot be imported; run as they are."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def excerpt(path: Path, first: str, after: str, names: Mapping[str, Any]) -> dict[str, Any]:
    """Run the lines from the one that begins with ``first`` to the one before ``after``.

    Args:
        path: the script.
        first, after: how those lines begin, indentation aside; the first such line of each is meant.
        names: what the statements find there.

    Returns:
        all names that stand after them.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    start = next(place for place, line in enumerate(lines) if line.strip().startswith(first))
    end = next(place for place, line in enumerate(lines) if place > start and line.strip().startswith(after))
    space = dict(names)
    exec(compile(textwrap.dedent("\n".join(lines[start:end])), str(path), "exec"), space)
    return space
