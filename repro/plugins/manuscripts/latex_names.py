"""The names of LaTeX that the reader knows, from ``latex_names.yaml``."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _table() -> Mapping[str, Any]:
    import yaml

    return yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


@cache
def names(*keys: str) -> frozenset[str]:
    """Return all names below entries of the table."""
    found: set[str] = set()
    for key in keys:
        entry = _table()[key]
        found.update(" ".join(entry.values() if isinstance(entry, Mapping) else [entry]).split())
    return frozenset(found)


@cache
def specs(*keys: str) -> tuple[tuple[str, str], ...]:
    """Return names with how each takes its arguments."""
    return tuple(
        (name, spec) for key in keys for spec, text in _table()[key].items() for name in text.split()
    )


@cache
def style(name: str) -> Mapping[str, Any]:
    """Return what a macro changes of a style."""
    changes: dict[str, Any] = {key: True for key, text in _table()["styles"].items() if name in text.split()}
    if name in names("raised", "lowered"):
        changes["script"] = "^" if name in names("raised") else "_"
    return {"bold": False, "italic": False} if name in names("plain") else changes


@cache
def symbols() -> Mapping[str, str]:
    """Return macros that print one sign."""
    return _table()["symbols"]
