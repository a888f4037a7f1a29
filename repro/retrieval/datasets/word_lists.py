"""Read word lists below REPRO_DATA and compare their digests with the papers' lists."""

import functools
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from repro.errors import DataError, check_known
from repro.machine.bounded_reading import lines, read_facts
from repro.retrieval.datasets.sources import existing

FILE = Path(__file__).with_name("word_lists.yaml")


@functools.cache
def known_lists() -> dict[str, Mapping[str, Any]]:
    """Return word_lists.yaml by path below REPRO_DATA."""
    return read_facts(FILE)


def words(path: Path) -> list[str]:
    """Return a file's sorted, unique, lower-case lines. Raises DataError if it cannot be read."""
    return sorted({word for _, line in lines(path) if (word := line.strip().lower())})


def at_hand(data: Path | None, name: str) -> list[str] | None:
    """Return the words of a known list, or None if its file is missing or wrong."""
    file = existing(data / name) if data is not None else None
    return words(file) if file is not None and not fault(data, name) else None


def fault(data: Path | None, name: str) -> str:
    """Return the reason why a file is not the known list ``name``, or ""."""
    file = existing(data / name) if data is not None and name in known_lists() else None
    if file is None:
        return ""
    facts = known_lists()[name]
    try:
        file_words = words(file)
    except DataError as error:
        return str(error)
    if digest(file_words) == facts["sha256"]:
        return ""
    titles = " and ".join(part["title"] for part in facts["parts"])
    return f"{file} is not the union of {titles} ({len(file_words):,} words instead of {facts['words']:,})"


def remedy(name: str) -> str:
    """Return how to obtain the file ``name``, as an imperative."""
    if name not in known_lists():
        return "put it there"
    parts = " and ".join(f"{part['title']} ({part['from']})" for part in known_lists()[name]["parts"])
    return f"run `repro data make {name} FILE FILE` with {parts}"


def make(name: str, files: Iterable[Path]) -> list[str]:
    """Return the union of a list's published parts, given in any order.

    Raises UsageError for an unknown list, DataError for a wrong or missing part.
    """
    check_known("list of words", name, valid=known_lists())
    facts, union = known_lists()[name], set()
    missing_parts = {part["sha256"]: part for part in facts["parts"]}
    for file in files:
        file_words = words(file)
        if missing_parts.pop(digest(file_words), None) is None:
            missing = " and ".join(map(_describe, missing_parts.values())) or "none"
            raise DataError(f"{file}: its {len(file_words):,} words fit no missing part of {name}: {missing}")
        union.update(file_words)
    if missing_parts:
        raise DataError(f"{name} also needs {' and '.join(map(_describe, missing_parts.values()))}")
    return sorted(union)


def _describe(part: Mapping[str, Any]) -> str:
    return f"{part['title']} ({part['words']}), {part['from']}"


def digest(words: Iterable[str]) -> str:
    return sha256("".join(f"{word}\n" for word in words).encode()).hexdigest()
