"""Stage ``official_negatives``: a training set from triples, with sampled negatives."""

import itertools
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from repro.errors import DataError
from repro.progress import Progress
from repro.retrieval.datasets import arrow, catalog, reading, sources
from repro.retrieval.datasets.digests import RowDigest, planned_source, stamps
from repro.retrieval.datasets.first_rows import FirstRows
from repro.retrieval.datasets.negative_files import Chunk, Piece, pieces
from repro.retrieval.evaluation.text_lines import read_qrels, relevant_documents
from repro.store.disk import BLOCKS

GROUP = 4096
ROWS = 1000  # per returned table
HASHED = 50_000  # rows in memory at once
LARGEST = 2**31 - 1  # rows per record batch, never divided
_SORTED = {"query": "uint16", "rank": "uint64", "negative": "string"}  # a query is its place in its group


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``arrow/`` with columns query, positives and negatives (ids), in the triples' order of queries.

    ``per_query`` negatives are kept, e.g. 30. Positives come from the input ``qrels`` or, without it, from
    the triples. A query without a positive or a negative is left out.
    """
    relevant = relevant_documents(read_qrels(inputs["qrels"] / "qrels.trec")) if "qrels" in inputs else None
    blocks = arrow.RowBlocks(
        out / BLOCKS, arrow.EXAMPLES, origin=stamps(sources.Source.from_json(params["source"]).files)
    )
    facts = blocks.completed(out / "arrow")
    if facts is None:
        facts = _fill(blocks, params, relevant, FirstRows.of(inputs), progress)
    blocks.join(out / "arrow")
    return facts


def _fill(
    blocks: arrow.RowBlocks, params: dict, relevant, first_rows: FirstRows | None, progress: Progress
) -> dict:
    entry, folder = catalog.dataset(params["dataset"]), blocks.folder / "triples"
    options = {"per_query": params["per_query"], "seed": params["seed"], "positives": relevant is None}
    samples = TripleSamples(folder, origin=blocks.origin, **options)
    first = params.get("first")
    task = progress.task(f"reading {entry.id}", first or entry.counts.get("triples"))
    with planned_source(params) as source, task as advance:
        if first or first_rows:
            triples = reading.triples(source, first=first)
            triples = first_rows.triples(triples) if first_rows else triples
            row_counts: Iterator[int] = map(samples.add, pieces(triples))
        else:
            row_counts = reading.triple_chunks(source, samples.add)
        for rows in row_counts:
            advance(rows)
    digest, negatives = RowDigest(), 0
    with progress.task("sampling negatives", len(samples.groups())) as advance:
        for group in samples.groups():
            if blocks.kept(group) is None:
                blocks.write(group, samples.rows(group, relevant), {})
            for table in blocks.tables(group):
                for row in table.to_pylist():
                    digest.add(row)
                    negatives += len(row["negatives"])
            advance(1)
    if not digest.count:
        raise DataError(f"{entry.id}: the triples leave no query with a negative")
    facts = {"queries": digest.count, "negatives": negatives, "digest": digest.hexdigest()}
    blocks.complete(samples.groups(), facts)
    shutil.rmtree(folder)
    return facts


class TripleSamples:
    """Keeps ``per_query`` negatives of each query, with queries in order of appearance.

    These have the largest keyed hash of query and document: a uniform sample without replacement, independent
    of the rows' order and repetitions. ``add`` sorts chunks into groups of queries on disk, ``rows`` reads a
    group, so that 398 million triples take less than 1 GB of memory. With ``positives``, the triples'
    relevant documents are collected and excluded from negatives.
    """

    def __init__(self, folder: Path, *, per_query: int, seed: int, positives: bool, origin: Any = None):
        self._sorted = arrow.RowBlocks(folder, _SORTED, origin=origin, batch=LARGEST)
        self._per_query, self._key = per_query, f"{seed}".encode()
        self._codes: dict[str, int] = {}
        self._wants_positives, self._positives = positives, list[list[str]]()
        self._pairs: set[str] = set()
        self._places: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)

    def add(self, chunk: Chunk | Piece) -> int:
        """Add a chunk, unless an earlier attempt did. Returns its number of rows."""
        facts = self._sorted.kept(chunk.first)
        if facts is None:
            facts = {"rows": 0, "queries": [], "pairs": [], "groups": []}
            self._sorted.write(chunk.first, self._in_groups(chunk.table(), facts), facts)
        else:
            self._learn(facts["queries"], facts["pairs"])
        for group, place in zip(facts["groups"], self._sorted.places(chunk.first), strict=True):
            self._places[group].append((chunk.first, place))
        return facts["rows"]

    def groups(self) -> range:
        return range(-(-len(self._codes) // GROUP))

    def rows(self, group: int, judged: Mapping[str, list[str]] | None) -> Iterator[Any]:
        """Yield tables of a group's complete rows. Positives are ``judged`` or, if None, the triples'."""
        names = list(itertools.islice(self._codes, group * GROUP, (group + 1) * GROUP))
        codes, negatives = self._sample(group)
        if judged is None:
            positives = self._positives[group * GROUP : (group + 1) * GROUP]
            places = self._irrelevant_places(names, positives, codes, negatives)
            codes, negatives = codes[places], negatives.take(places)
        else:
            positives = [judged.get(name, []) for name in names]
        counts = np.bincount(codes, minlength=len(names))
        offsets = pa.array(np.concatenate(([0], np.cumsum(counts))), pa.int32())
        lists = pa.ListArray.from_arrays(offsets, negatives)
        lists_of_positives = pa.array(positives, pa.list_(pa.string()))
        table = pa.table({"query": names, "positives": lists_of_positives, "negatives": lists})
        complete_rows = np.flatnonzero((counts > 0) & np.fromiter(map(bool, positives), bool, len(names)))
        for first in range(0, len(complete_rows), ROWS):
            yield table.take(complete_rows[first : first + ROWS])

    def _in_groups(self, table, facts: dict) -> Iterator[Any]:
        queries = table["query"].combine_chunks().dictionary_encode()
        names = queries.dictionary.to_pylist()
        new_queries = [name for name in names if name not in self._codes]
        pairs = []
        if self._wants_positives:
            all_pairs = pc.binary_join_element_wise(table["query"], table["positive"], "\t").unique()
            pairs = [pair for pair in all_pairs.to_pylist() if pair not in self._pairs]
        self._learn(new_queries, pairs)
        facts |= {"rows": len(table), "queries": new_queries, "pairs": pairs}
        codes = np.array([self._codes[name] for name in names], np.int64)[queries.indices.to_numpy()]
        groups, places = np.divmod(codes, GROUP)
        order = np.argsort(groups.astype(np.uint16), kind="stable")
        ranks = self._ranks(table["query"], table["negative"])
        columns = [places.astype(np.uint16), ranks, table["negative"]]
        sorted_rows = pa.table(columns, names=list(_SORTED)).take(order).combine_chunks()
        counts = np.bincount(groups)
        ends = np.cumsum(counts)
        for group in np.flatnonzero(counts).tolist():
            facts["groups"].append(group)
            yield sorted_rows.slice(ends[group] - counts[group], counts[group])

    def _learn(self, queries: list[str], pairs: list[str]) -> None:
        for query in queries:
            self._codes[query] = len(self._codes)
        if not self._wants_positives:
            return
        self._pairs.update(pairs)
        self._positives += [[] for _ in queries]
        for pair in pairs:
            query, _, positive = pair.partition("\t")
            self._positives[self._codes[query]].append(positive)

    def _ranks(self, queries, negatives) -> np.ndarray:
        empty_hasher = blake2b(digest_size=8, key=self._key)
        ranks = []
        for first in range(0, len(queries), HASHED):
            pieces = (column.slice(first, HASHED).cast("binary") for column in (queries, negatives))
            digests = []
            for text in pc.binary_join_element_wise(*pieces, b"\0").to_pylist():
                hasher = empty_hasher.copy()
                hasher.update(text)
                digests.append(hasher.digest())
            ranks.append(np.frombuffer(b"".join(digests), ">u8"))
        return np.concatenate([np.empty(0, np.uint64), *ranks]).astype(np.uint64)

    def _sample(self, group: int):
        table = pa.concat_tables(self._sorted.table(*place) for place in self._places[group])
        table = table.combine_chunks()
        codes, ranks = (table[name].to_numpy() for name in ("query", "rank"))
        order = np.argsort(~ranks)
        order = order[np.argsort(codes[order], kind="stable")]
        order = order[self._is_first(codes[order], ranks[order], table["negative"], order)]
        codes = codes[order]
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        places = np.arange(len(codes)) - np.repeat(starts, np.diff(starts, append=len(codes)))
        is_in_sample = places < self._per_query
        return codes[is_in_sample], table["negative"].take(order[is_in_sample]).combine_chunks()

    @staticmethod
    def _is_first(codes: np.ndarray, ranks: np.ndarray, documents, order: np.ndarray) -> np.ndarray:
        is_first = np.ones(len(codes), bool)
        candidates = np.flatnonzero((codes[1:] == codes[:-1]) & (ranks[1:] == ranks[:-1])) + 1
        is_same = pc.equal(documents.take(order[candidates]), documents.take(order[candidates - 1]))
        is_first[candidates] = ~is_same.to_numpy()
        return is_first

    @staticmethod
    def _irrelevant_places(
        names: list[str], positives: list[list[str]], codes: np.ndarray, documents
    ) -> np.ndarray:
        relevant = [
            f"{name}\t{positive}"
            for name, query_positives in zip(names, positives, strict=True)
            for positive in query_positives
        ]
        pairs = pc.binary_join_element_wise(pa.array(names, pa.string()).take(codes), documents, "\t")
        return np.flatnonzero(~pc.is_in(pairs, value_set=pa.array(relevant, pa.string())).to_numpy(False))
