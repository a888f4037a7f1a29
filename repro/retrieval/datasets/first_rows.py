"""Replace ids in judgements and negatives by ids of rows that a rehearsal has read.

A rehearsal reads only the first rows of a source, e.g. 20,000 documents. For an id beyond them, its CRC-32
selects one of them. Scores therefore have no meaning.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from repro.retrieval.datasets import arrow, catalog
from repro.retrieval.datasets.negative_files import Item, ListedQuery, Triple


class FirstRows:
    """The ids that a rehearsal has read. None means that all were read and no id is replaced."""

    def __init__(self, queries: Sequence[str] | None, documents: Sequence[str] | None):
        self._queries, self._documents = _Names(queries), _Names(documents)

    @classmethod
    def of(cls, inputs: Mapping[str, Path]) -> "FirstRows | None":
        """Return the ids in the inputs ``queries`` and ``corpus``, or None if there is neither."""
        if inputs.keys().isdisjoint(("queries", "corpus")):
            return None
        queries, documents = None, None
        if "queries" in inputs:
            queries = [record["id"] for record in arrow.read_queries(inputs["queries"])]
        if "corpus" in inputs:
            documents = list(arrow.ColumnTexts(arrow.read_rows(inputs["corpus"]), "id"))
        return cls(queries, documents)

    def judgements(self, judgements: Iterable[catalog.Judgement]) -> list[catalog.Judgement]:
        """Return the read queries' judgements, with unread document ids replaced.

        Of several grades of a pair the highest is kept.
        """
        highest_grades: dict[tuple[str, str], int] = {}
        for query, document, grade in judgements:
            if query in self._queries:
                pair = query, self._documents.of(document)
                highest_grades[pair] = max(grade, highest_grades.get(pair, grade))
        return [catalog.Judgement(*pair, grade) for pair, grade in highest_grades.items()]

    def triples(self, triples: Iterable[Triple]) -> Iterator[Triple]:
        for query, positive, negative in triples:
            yield self._queries.of(query), self._documents.of(positive), self._documents.of(negative)

    def listed(self, rows: Iterable[ListedQuery]) -> Iterator[ListedQuery]:
        """Yield rows with unread ids replaced, and only the first row of each query."""
        seen: set[str] = set()
        for row in rows:
            query = self._queries.of(row.query)
            if query not in seen:
                seen.add(query)
                systems = {name: self._items(items) for name, items in row.systems.items()}
                yield ListedQuery(query, self._items(row.positives), systems)

    def _items(self, items: list[Item]) -> list[Item]:
        return [(self._documents.of(document), score) for document, score in items]


class _Names:
    def __init__(self, ids: Sequence[str] | None):
        self._ids, self._known = ids, frozenset(ids or ())

    def __contains__(self, name: str) -> bool:
        return self._ids is None or name in self._known

    def of(self, name: str) -> str:
        if self._ids is None or name in self._known:
            return name
        return self._ids[zlib.crc32(name.encode()) % len(self._ids)]
