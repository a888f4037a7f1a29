"""Stage ``corpus``: the documents of a collection as an Arrow dataset."""

import itertools
from collections.abc import Iterator
from pathlib import Path

from repro.progress import Progress
from repro.retrieval.datasets import catalog, digests, reading, sources
from repro.retrieval.datasets.arrow import BATCH, BLOCK, RowBlocks, in_batches
from repro.store.disk import BLOCKS


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``arrow/`` with columns id, title and text, and url if the collection has addresses.

    Optional parameters are text (a template, e.g. ``"{url} {text}"``), untitled (replaces an empty title) and
    first (rows of each part). Memory contains 1,000 documents, and 24 bytes per id (94 if resumed).
    """
    entry = catalog.dataset(params["dataset"])
    columns = ("id", "title", "text", "url") if entry.addresses else ("id", "title", "text")
    origin = digests.stamps(digests.files(sources.Source.from_json(params["source"])))
    blocks = RowBlocks(out / BLOCKS, dict.fromkeys(columns, "string"), origin=origin)
    facts = blocks.completed(out / "arrow")
    if facts is None:
        first = params.get("first")
        total = first * max(1, len(entry.parts)) if first else entry.counts.get("documents")
        with digests.planned_source(params) as source, progress.task(f"reading {entry.id}", total) as advance:
            firsts, facts = _fill(blocks, params, source, advance)
        blocks.complete(firsts, facts)
    if facts["documents"]:
        blocks.join(out / "arrow")
    return facts


def _fill(blocks: RowBlocks, params: dict, source: sources.Source, advance) -> tuple[list[int], dict]:
    digest, content = digests.RowDigest(), digests.ContentDigest()
    ids: list[str] = []
    firsts: list[int] = []
    as_source = params.keys().isdisjoint(("text", "untitled"))
    while blocks.kept(first := len(ids)) is not None:
        for table in blocks.tables(first):
            ids += table["id"].to_pylist()
            for row in table.to_pylist():
                digest.add(row)
                if as_source:
                    content.add(row)
            advance(len(table))
        firsts.append(first)
        if len(ids) < first + BLOCK:
            break
    documents = reading.documents(source, first=params.get("first"), known=ids if as_source else ())
    finished = len(ids)
    del ids
    names = list(blocks.features)
    rows = as_written(documents, params, content)
    if not as_source:
        rows = itertools.islice(rows, finished, None)
    batches = in_batches(_counted(rows, digest, advance), names)
    for batch in batches:
        firsts.append(digest.count - len(batch["id"]))
        remainder = itertools.islice(batches, BLOCK // BATCH - 1)
        blocks.write(firsts[-1], itertools.chain([batch], remainder), {})
    facts = {"documents": digest.count, "digest": digest.hexdigest()}
    return firsts, facts if "first" in params else facts | {"rows": content.hexdigest()}


def as_written(documents, params: dict, content: digests.ContentDigest) -> Iterator[dict[str, str]]:
    """Yield rows with ``text`` and ``untitled`` applied, and add the original rows to ``content``."""
    entry = catalog.dataset(params["dataset"])
    template, placeholder = params.get("text", "{text}"), params.get("untitled", "")
    for document in documents:
        row = reading.document_row(document, entry)
        content.add(row)
        row["title"] = row["title"] or placeholder
        row["text"] = template.format(url=document.url, text=document.text)
        yield row


def _counted(rows, digest: digests.RowDigest, advance) -> Iterator[dict[str, str]]:
    for row in rows:
        digest.add(row)
        if digest.count % BATCH == 0:
            advance(BATCH)
        yield row
