"""Reads negatives listed by the retrievers that found them, in the form of msmarco-hard-negatives.jsonl."""

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from repro.retrieval.datasets.document_files import json_rows
from repro.retrieval.datasets.lines import checked_id, malformed

LARGEST = sys.float_info.max
Item = tuple[str, float | None]  # a passage and a cross-encoder's score of it


class ListedQuery(NamedTuple):
    """A query's relevant passages, and the passages that each retriever found for it."""

    query: str
    positives: list[Item]
    systems: dict[str, list[Item]]

    def negatives(
        self, *, margin: float | None, per_system: int | None, systems: set[str] | None
    ) -> list[str]:
        """The passages that retrievers found and that are no positives, each once, in the order of the file.

        With ``margin``, for which every item needs a score, passages whose score is above the lowest of a
        positive less ``margin`` are left out: they may well be relevant. ``per_system`` counts what a
        retriever adds to those before it. Both as BEIR's train_msmarco_v3.py has them, but a positive is
        never a negative, margin or not. ``systems`` names the retrievers to take from. None is no limit.
        """
        seen = {passage for passage, _ in self.positives}
        limit = self._score_limit(margin)
        passages: list[str] = []
        for system, items in self.systems.items():
            if systems is None or system in systems:
                candidates = (p for p, score in items if p not in seen and (limit is None or score <= limit))
                new_passages = list(islice(dict.fromkeys(candidates), per_system))
                seen.update(new_passages)
                passages += new_passages
        return passages

    def _score_limit(self, margin: float | None) -> float | None:
        """The score above which a passage may well be relevant; None without a margin."""
        return None if margin is None else min(score for _, score in self.positives) - margin


def read_listed_queries(path: Path, *, scored: bool) -> Iterator[ListedQuery]:
    """Read a record from every line: {"qid": id, "pos": [item, …], "neg": {system: [item, …], …}}.

    An item is {"pid": id, "ce-score": number} or an id alone. An id may be a string or an integer, as which
    other copies of such files have them. Raises DataError, with file and line, for anything else, for a
    query that comes twice and, when ``scored``, for an item without a score.
    """
    seen: set[str] = set()
    for number, row in json_rows(path):
        query = _id(row.get("qid"), "qid", path, number)
        if query in seen:
            raise malformed(path, number, f"the qid {query!r} was on a line before")
        seen.add(query)
        retrievers = row.get("neg")
        if not isinstance(retrievers, dict):
            raise malformed(path, number, f"neg is {_kind(retrievers)}, not an object of lists")
        positives = _items(row.get("pos"), "pos", scored, path, number)
        systems = {
            name: _items(items, f"neg of {name!r}", scored, path, number)
            for name, items in retrievers.items()
        }
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
    """Check an id. Nearly all of a hundred million are digits, which need no search for white space."""
    if type(value) is int:
        return str(value)
    if type(value) is str and value.isdecimal():
        return value
    return checked_id(value, field, path, number)


def _kind(value: Any) -> str:
    return "missing" if value is None else type(value).__name__
