"""The digests of code that computed equal outputs, from the file results/code.yaml.

Each stage, or stage with its objective, has one line, e.g. of ``encode``: the digest with which its numbers
are on record, the digests of code that gave the same bits since then, a date and the evidence.
``repro doctor same-code`` writes the file.
"""

import functools
from collections.abc import Iterable
from typing import Any

from repro.locations import committed_results
from repro.machine.bounded_reading import read_facts

FILE = "code.yaml"


def lines() -> dict[str, dict[str, Any]]:
    """Return the lines of the file by stage. Each has ``recorded``, ``same``, ``date`` and ``evidence``."""
    folder = committed_results()
    path = folder / FILE if folder else None
    return (read_facts(path) or {}) if path and path.is_file() else {}


def on_record(digest: str) -> str:
    """Return the digest of equal code that records contain. It is the given one if no line has it."""
    return _recorded_by_digest().get(digest, digest)


def all_on_record(digests: Iterable[str]) -> frozenset[str]:
    """Return the digests of ``on_record``, each once."""
    return frozenset(map(on_record, digests))


@functools.cache
def _recorded_by_digest() -> dict[str, str]:
    return {digest: line["recorded"] for line in lines().values() for digest in line["same"]}
