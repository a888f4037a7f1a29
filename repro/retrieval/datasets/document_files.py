"""Reads documents from JSON lines: BEIR's corpus.jsonl, and pre-training texts in the same form."""

import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from repro.errors import DataError
from repro.retrieval.datasets.lines import checked_id, lines, malformed
from repro.retrieval.datasets.records import Document

RECENT = 20_000  # ids that are kept as they are


def documents(path: Path, known: Sequence[str] = ()) -> Iterator[Document]:
    """Documents in the order of the file, one at a time: fields _id, title, text and url.

    A title may be absent, a url may lie in ``metadata``; text may be empty (some of BEIR's are). Those that
    the file begins with, whose ids are ``known``, are passed over. Raises DataError, with file and line, for
    what is no such object, and for an id that comes twice, which may be told 20,000 lines later.
    """
    seen = SeenIds(path)
    for place, id in enumerate(known):
        seen.add(id, place)
    for number, row in json_rows(path, after=len(known)):
        id = checked_id(row.get("_id"), "_id", path, number)
        seen.add(id, number)
        metadata = row.get("metadata")
        url = row.get("url") or (metadata.get("url") if isinstance(metadata, dict) else None)
        title = checked_text(row, "title", path, number, needed=False)
        text = checked_text(row, "text", path, number, needed=True)
        yield Document(id, title, text, url if isinstance(url, str) else "")
    seen.check()


class SeenIds:
    """The ids of a file, of which 8 bytes each are kept once some thousands have come.

    Those are hashes: where two are equal, the file is read again to see whether the ids are.
    """

    def __init__(self, path: Path):
        self._path = path
        self._recent: dict[str, int] = {}
        self._sorted: list = []  # arrays, each at least twice as long as the next

    def add(self, id: str, number: int) -> None:
        """Count in an id on a line. Raises DataError for one that is on a line before, at once or later."""
        if id in self._recent:
            raise self._duplicate_error(id, number)
        self._recent[id] = number
        if len(self._recent) == RECENT:
            self.check()

    def check(self) -> None:
        """Compare the ids that came last with all before. Raises DataError for one that came twice."""
        import numpy as np  # the command line reads lists of collections without it

        ids = list(self._recent)
        hashes = np.fromiter(map(hash, ids), np.int64, len(ids))
        is_repeated = np.zeros(len(ids), bool)
        for earlier_hashes in self._sorted:
            places = np.minimum(earlier_hashes.searchsorted(hashes), len(earlier_hashes) - 1)
            is_repeated |= earlier_hashes[places] == hashes
        for place in np.flatnonzero(is_repeated):
            if ids[place] in self._earlier_ids(number := self._recent[ids[place]]):
                raise self._duplicate_error(ids[place], number)
        self._sorted.append(np.sort(hashes))
        while len(self._sorted) > 1 and len(self._sorted[-2]) < 2 * len(self._sorted[-1]):
            self._sorted[-2:] = [np.sort(np.concatenate(self._sorted[-2:]))]
        self._recent.clear()

    def _earlier_ids(self, number: int) -> Iterator[str]:
        rows = itertools.takewhile(lambda entry: entry[0] < number, json_rows(self._path))
        return (row.get("_id") for _, row in rows)

    def _duplicate_error(self, id: str, number: int) -> DataError:
        return malformed(self._path, number, f"the _id {id!r} was on a line before")


def json_rows(path: Path, *, after: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number and object of every line that is not blank, behind the first ``after`` of them.

    Raises DataError for a line that is not a JSON object, or that has an object with one key twice.
    """
    for number, line in itertools.islice(lines(path), after, None):
        try:
            row = _DECODER.decode(line)
        except (ValueError, RecursionError) as error:
            position = f" at column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            raise malformed(path, number, f"is not JSON: {getattr(error, 'msg', error)}{position}") from error
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
