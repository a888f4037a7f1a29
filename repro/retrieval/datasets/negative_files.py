"""Read training triples, e.g. MS MARCO's qidpidtriples, and negatives listed by retriever."""

import io
import itertools
import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from repro.errors import DataError
from repro.machine.bounded_reading import (
    checked_id,
    csv_table,
    lines,
    malformed,
    open_unpacked,
    texts,
    whole_lines,
)
from repro.retrieval.datasets.record_files import json_rows

LARGEST = sys.float_info.max
Item = tuple[str, Any]  # a passage and its score, or None


class ListedQuery(NamedTuple):
    """A query's relevant passages, and the passages that each retriever found."""

    query: str
    positives: list[Item]
    systems: dict[str, list[Item]]

    def negatives(
        self, *, margin: float | None, per_system: int | None, systems: Collection[str] | None
    ) -> list[str]:
        """Return found passages that are not positives, in file order (BEIR's train_msmarco_v3.py).

        Each scores at least ``margin`` below every positive. Each of ``systems`` adds at most ``per_system``.
        None means no limit.
        """
        seen = set(dict(self.positives))
        limit = None if margin is None else min(score for _, score in self.positives) - margin
        passages: list[str] = []
        for system, items in self.systems.items():
            if systems is None or system in systems:
                candidates = (p for p, s in items if p not in seen and (limit is None or s <= limit))
                new_passages = list(dict.fromkeys(candidates))[:per_system]
                seen.update(new_passages)
                passages += new_passages
        return passages


def read_listed_queries(path: Path, *, scored: bool) -> Iterator[ListedQuery]:
    """Read records {"qid": id, "pos": [item, …], "neg": {system: [item, …], …}}.

    An item is an id or {"pid": id, "ce-score": number}. Raises DataError for another item, a duplicate query
    or, with ``scored``, a missing score.
    """
    seen: set[str] = set()
    for number, row in json_rows(path):
        query = _id(row.get("qid"), "qid", path, number)
        if query in seen:
            raise malformed(path, number, f"the qid {query!r} repeats an earlier one")
        seen.add(query)
        retrievers = row.get("neg")
        if not isinstance(retrievers, dict):
            raise malformed(path, number, f"neg is {_kind(retrievers)}, not an object of lists")
        positives = _items(row.get("pos"), "pos", scored, path, number)
        systems = {n: _items(items, f"neg of {n!r}", scored, path, number) for n, items in retrievers.items()}
        yield ListedQuery(query, positives, systems)


def _items(value: Any, field: str, scored: bool, path: Path, number: int) -> list[Item]:
    if not isinstance(value, list):
        raise malformed(path, number, f"{field} is {_kind(value)}, not a list")
    return [_item(item, scored, path, number) for item in value]


def _item(value: Any, scored: bool, path: Path, number: int) -> Item:
    item = value if isinstance(value, dict) else {"pid": value}
    passage, score = _id(item.get("pid"), "pid", path, number), item.get("ce-score")
    if score is None:
        if scored:
            reason = "the file of sbert.net has scores, its namesake on the Hugging Face hub has none"
            raise malformed(path, number, f"no margin without a ce-score of passage {passage!r}: {reason}")
        return passage, None
    if isinstance(score, bool) or not isinstance(score, int | float) or not abs(score) <= LARGEST:
        raise malformed(path, number, f"the ce-score of {passage!r} is {score!r}, not a finite number")
    return passage, score


def _id(value: Any, field: str, path: Path, number: int) -> str:
    if type(value) is int:
        return str(value)
    if type(value) is str and value.isdecimal():
        return value
    return checked_id(value, field, path, number)


def _kind(value: Any) -> str:
    return "missing" if value is None else type(value).__name__


Triple = tuple[str, str, str]
COLUMNS = ("query", "positive", "negative")
CHUNK = 1 << 25  # bytes of text parsed together
PIECE = 100_000
_PLAIN = bytes([9, 10, *range(33, 127)])


def triples(path: Path) -> Iterator[Triple]:
    """Yield each line's ids: query, relevant and irrelevant passage. Raises DataError for other lines."""
    return _rows(lines(path), path)


def _rows(numbered_lines: Iterable[tuple[int, str]], path: Path) -> Iterator[Triple]:
    for number, line in numbered_lines:
        fields = line.split()
        if len(fields) != 3:
            raise malformed(path, number, f"has {len(fields)} columns instead of 3: three ids")
        if not "".join(fields).isalnum():
            fields = [checked_id(field, "id", path, number) for field in fields]
        yield fields[0], fields[1], fields[2]


class Chunk(NamedTuple):
    """Consecutive whole lines of a file, beginning with line number ``first``."""

    path: Path
    first: int
    text: bytes

    def table(self):
        """Return the rows as a table of ``COLUMNS``. Raises DataError for a malformed line."""
        if (table := self._parsed_table()) is not None:
            return table
        numbered_lines = texts(io.BytesIO(self.text), self.path, first=self.first)
        return Piece(self.first, list(_rows(numbered_lines, self.path))).table()

    def _parsed_table(self):
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.text.translate(None, _PLAIN):
            return None
        options = {"use_threads": False, "block_size": CHUNK + (1 << 20)}
        try:
            table = csv_table(self.text, dict.fromkeys(COLUMNS, pa.string()), "\t", **options)
        except pa.ArrowInvalid:
            return None
        return None if any(pc.any(pc.equal(table[name], "")).as_py() for name in COLUMNS) else table


class Piece(NamedTuple):
    """Rows in memory, beginning with row number ``first``."""

    first: int
    rows: list[Triple]

    def table(self):
        import pyarrow as pa

        columns = list(zip(*self.rows, strict=True)) or [()] * len(COLUMNS)
        return pa.table([pa.array(column, pa.string()) for column in columns], names=COLUMNS)


def pieces(rows: Iterable[Triple]) -> Iterator[Piece]:
    iterator, first = iter(rows), 1
    while piece := list(itertools.islice(iterator, PIECE)):
        yield Piece(first, piece)
        first += len(piece)


def chunks(path: Path) -> Iterator[Chunk]:
    """Yield a file in chunks of about ``CHUNK`` bytes. Raises DataError if it is empty."""
    first, empty = 1, True
    with open_unpacked(path) as file:
        while text := file.read(CHUNK):
            text += next(whole_lines(file, path, first=first + text.count(b"\n")), b"")
            empty = False
            yield Chunk(path, first, text)
            first += text.count(b"\n")
    if empty:
        raise DataError(f"{path}: is empty")
