"""Stage ``official_negatives``: a training set from a collection's triples, negatives sampled by query."""

from collections.abc import Iterator
from pathlib import Path

from repro.datasets import reading
from repro.datasets.arrow import write_rows
from repro.datasets.catalog import dataset
from repro.datasets.digests import RowDigest, planned_source
from repro.datasets.first_rows import FirstRows
from repro.datasets.triple_files import Triple, sampled
from repro.errors import DataError
from repro.evaluation.qrels import read_qrels, relevant_documents
from repro.progress import Progress

STEP = 100_000  # rows between two steps of the bar: there are 398 million
COLUMNS = {"query": "string", "positives": ["string"], "negatives": ["string"]}


def run(params: dict, inputs: dict[str, Path | list[Path]], out: Path, progress: Progress) -> dict:
    """Write ``arrow/`` with columns query, positives and negatives (ids), queries as the triples order them.

    ``params``: dataset (id), source (a triples Source as JSON), identity (of its bytes), per_query
    (negatives kept; all of them where there are fewer), seed, and first (rows to read) where not all are. The
    inputs ``queries`` and ``corpus`` are given where they are first rows, by which triples are named.

    With the input ``qrels``, positives are all
    that are judged relevant, and the negatives stay as sampled; without, positives are those of the triples,
    and a negative that another row calls relevant is removed. A query without a positive or a negative is
    left out. Returns the numbers of queries and negatives and the digest of what was written. Raises
    DataError when the source is malformed, not the collection of the papers, no longer the one that was
    planned with, or leaves no query.
    """
    entry, named = dataset(params["dataset"]), FirstRows.of(inputs)
    task = progress.task(f"reading {entry.id}", params.get("first") or entry.counts.get("triples"))
    with planned_source(params) as source, task as advance:

        def rows() -> Iterator[Triple]:
            triples = reading.triples(source, first=params.get("first"))
            for number, triple in enumerate(named.triples(triples) if named else triples, 1):
                if number % STEP == 0:
                    advance(STEP)
                yield triple

        samples = sampled(rows(), per_query=params["per_query"], seed=params["seed"])
    judged = relevant_documents(read_qrels(inputs["qrels"] / "qrels.trec")) if "qrels" in inputs else None
    digest = RowDigest()
    negatives = 0

    def examples() -> Iterator[dict]:
        nonlocal negatives
        for query, entry in samples.items():
            positives = list(entry.positives) if judged is None else judged.get(query, [])
            sample = entry.sample(without_positives=judged is None)
            row = {"query": query, "positives": positives, "negatives": sample}
            if not positives or not sample:
                continue
            negatives += len(row["negatives"])
            digest.add(row)
            yield row

    if not write_rows(examples(), COLUMNS, out / "arrow"):
        raise DataError(f"{entry.id}: the triples leave no query with a negative")
    return {"queries": digest.count, "negatives": negatives, "digest": digest.hexdigest()}
