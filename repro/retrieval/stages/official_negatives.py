"""Stage ``official_negatives``: a training set from a collection's triples, negatives sampled by query."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from repro.errors import DataError
from repro.progress import Progress
from repro.retrieval.datasets import reading
from repro.retrieval.datasets.arrow import BATCH
from repro.retrieval.datasets.catalog import dataset
from repro.retrieval.datasets.digests import RowDigest, planned_source, stamps
from repro.retrieval.datasets.first_rows import FirstRows
from repro.retrieval.datasets.negative_files import pieces
from repro.retrieval.datasets.row_blocks import RowBlocks
from repro.retrieval.datasets.sources import Source
from repro.retrieval.datasets.triple_samples import TripleSamples
from repro.retrieval.evaluation.qrels import read_qrels, relevant_documents
from repro.store.disk import BLOCKS

COLUMNS = {"query": "string", "positives": ["string"], "negatives": ["string"]}


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``arrow/`` with columns query, positives and negatives (ids), queries as the triples order them.

    ``params``: dataset (id), source (a triples Source as JSON), identity (of its bytes), per_query
    (negatives kept; all of them where there are fewer), seed, and first (rows to read) where not all are. The
    inputs ``queries`` and ``corpus`` are given where they are first rows, by which triples are named.

    With the input ``qrels``, positives are all that are judged relevant, and the negatives stay as sampled;
    without, positives are those of the triples, and a negative that another row calls relevant is removed. A
    query without a positive or a negative is left out. In memory is what ``TripleSamples`` says, with the
    judgements; an interrupted attempt goes on behind its last chunk of triples or group of queries.

    Returns the numbers of queries and negatives and the digest of what was written. Raises DataError when
    the source is malformed, not the collection of the papers, no longer the one that was planned with, or
    leaves no query.
    """
    relevant = relevant_documents(read_qrels(inputs["qrels"] / "qrels.trec")) if "qrels" in inputs else None
    origin = [params, stamps(*inputs.values()), stamps(*Source.from_json(params["source"]).files)]
    blocks = RowBlocks(out / BLOCKS, COLUMNS, origin=origin)
    facts = blocks.completed(out / "arrow")
    if facts is None:
        facts = _fill(blocks, params, relevant, FirstRows.of(inputs), progress)
    blocks.join(out / "arrow")
    return facts


def _fill(
    blocks: RowBlocks, params: dict, relevant, first_rows: FirstRows | None, progress: Progress
) -> dict:
    """Write the blocks that are not there yet, one of a group of queries, and return the facts of all."""
    entry, folder = dataset(params["dataset"]), blocks.folder / "triples"
    options = {"per_query": params["per_query"], "seed": params["seed"], "positives": relevant is None}
    samples = TripleSamples(folder, origin=blocks.origin, **options)
    first = params.get("first")
    task = progress.task(f"reading {entry.id}", first or entry.counts.get("triples"))
    with planned_source(params) as source, task as advance:
        if first or first_rows:
            triples = reading.triples(source, first=first)
            row_counts: Iterator[int] = map(
                samples.add, pieces(first_rows.triples(triples) if first_rows else triples)
            )
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
    blocks.complete(samples.groups(), facts, held=BATCH)
    shutil.rmtree(folder)
    return facts
