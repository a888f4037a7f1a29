"""Reads documents from JSON lines: BEIR's corpus.jsonl, and pre-training texts in the same form."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from repro.datasets.lines import checked_id, lines, malformed
from repro.datasets.records import Document


def documents(path: Path) -> Iterator[Document]:
    """Documents in the order of the file, one at a time: fields _id, title, text and url.

    A title may be absent, a url may lie in ``metadata``; text may be empty (some of BEIR's are). Raises
    DataError, with file and line, for what is no such object, and for an id that comes twice.
    """
    seen: set[str] = set()  # the ids of 21 M passages take about 2 GB, a thirtieth of their vectors
    for number, row in json_rows(path):
        id = checked_id(row.get("_id"), "_id", path, number)
        if id in seen:
            raise malformed(path, number, f"the _id {id!r} was on a line before")
        seen.add(id)
        metadata = row.get("metadata")
        url = row.get("url") or (metadata.get("url") if isinstance(metadata, dict) else None)
        title = checked_text(row, "title", path, number, needed=False)
        text = checked_text(row, "text", path, number, needed=True)
        yield Document(id, title, text, url if isinstance(url, str) else "")


def json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number and object of every line.

    Raises DataError for a line that is not a JSON object, or that has an object with one key twice.
    """
    for number, line in lines(path):
        try:
            row = _DECODER.decode(line)
        except (ValueError, RecursionError) as error:
            where = f" at column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            raise malformed(path, number, f"is not JSON: {getattr(error, 'msg', error)}{where}") from error
        if not isinstance(row, dict):
            raise malformed(path, number, f"is not a JSON object but {type(row).__name__}")
        yield number, row


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Pairs as a dictionary. Raises ValueError for a key that comes twice: readers disagree which counts."""
    row = dict(pairs)
    if len(row) != len(pairs):
        [(key, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {key!r} comes twice")
    return row


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def checked_text(row: Mapping[str, Any], name: str, path: Path, number: int, *, needed: bool) -> str:
    """The field ``name``; without it, "" unless ``needed``. Raises DataError for what is not text."""
    value = row.get(name)
    if value is None and not needed:
        return ""
    if not isinstance(value, str):
        raise malformed(path, number, f"the {name} is {value!r}, not a string")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:  # JSON can spell half of a surrogate pair, which no file can hold
        raise malformed(path, number, f"the {name} has half a character at position {error.start}") from error
    return value
