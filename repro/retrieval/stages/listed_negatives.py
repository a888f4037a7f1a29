"""Stage ``listed_negatives``: a training set from a public file of several retrievers' negatives."""

from collections.abc import Iterator
from pathlib import Path

from repro.errors import DataError, check_known
from repro.progress import Progress
from repro.retrieval.datasets import arrow, catalog, digests, reading
from repro.retrieval.datasets.first_rows import FirstRows

STEP = 1000  # queries per step of the bar


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``arrow/`` with columns query, positives and negatives (ids), in the file's order.

    ``params`` contain the limits of ``ListedQuery.negatives``, e.g. systems ``["bm25"]``. A query without a
    positive or a negative is left out.
    """
    entry, first_rows = catalog.dataset(params["dataset"]), FirstRows.of(inputs)
    limits = {name: params[name] for name in ("margin", "per_system", "systems")}
    digest = digests.RowDigest()
    omissions = {"queries_without_positive": 0, "queries_without_negative": 0}
    names: dict[str, None] = {}
    negatives = 0

    def examples() -> Iterator[dict]:
        nonlocal negatives
        rows = reading.negatives(source, scored=params["margin"] is not None, first=params.get("first"))
        for number, record in enumerate(first_rows.listed(rows) if first_rows else rows, 1):
            if number % STEP == 0:
                advance(STEP)
            names.update(dict.fromkeys(record.systems))
            positives = list(dict.fromkeys(passage for passage, _ in record.positives))
            passages = record.negatives(**limits) if positives else []
            if not passages:
                omissions["queries_without_negative" if positives else "queries_without_positive"] += 1
                continue
            negatives += len(passages)
            row = {"query": record.query, "positives": positives, "negatives": passages}
            digest.add(row)
            yield row

    task = progress.task(f"reading {entry.id}", params.get("first") or entry.counts.get("negatives"))
    with digests.planned_source(params) as source, task as advance:
        count = arrow.write_rows(examples(), arrow.EXAMPLES, out / "arrow")
    check_known("system", *(params["systems"] or ()), valid=names)
    if not count:
        raise DataError(f"{entry.id}: the file leaves no query with a negative")
    return {"queries": digest.count, "negatives": negatives, **omissions, "digest": digest.hexdigest()}
