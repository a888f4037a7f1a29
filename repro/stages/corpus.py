"""Stage ``corpus``: the documents of a located collection as an Arrow dataset, streamed."""

import itertools
from collections.abc import Iterator
from pathlib import Path

from repro.datasets import reading
from repro.datasets.arrow import BATCH, BLOCK, in_batches
from repro.datasets.catalog import dataset
from repro.datasets.digests import RowDigest, files, planned_source, stamps
from repro.datasets.row_blocks import RowBlocks
from repro.datasets.source import Source
from repro.progress import Progress
from repro.store.disk import BLOCKS


def run(params: dict, inputs: dict[str, Path | list[Path]], out: Path, progress: Progress) -> dict:
    """Write ``arrow/`` with columns id, title and text, and url where the collection has addresses.

    ``params``: dataset (id), source (a documents Source as JSON), identity (of its bytes) and, unless the
    plain text is wanted, text (a template over url and text) and untitled (what stands for an empty title);
    first, where not all are read: rows of the source, of each of its parts.

    Documents are written as they come, 20,000 in a block, behind which an interrupted attempt goes on; those
    that are finished are read again, for the digest, and not parsed. In memory are a batch of 1,000 documents
    and 8 bytes an id, 70 bytes an id that an earlier attempt wrote.

    Returns the number of documents and the digest of what was written. Raises DataError when the source is
    malformed, not the collection of the papers, or no longer the one that was planned with.
    """
    entry = dataset(params["dataset"])
    columns = ("id", "title", "text", "url") if entry.addresses else ("id", "title", "text")
    origin = [params, stamps(*files(Source.from_json(params["source"])))]
    blocks = RowBlocks(out / BLOCKS, dict.fromkeys(columns, "string"), origin=origin)
    facts = blocks.completed(out / "arrow")
    if facts is None:
        first = params.get("first")
        total = first * max(1, len(entry.parts)) if first else entry.counts.get("documents")
        with planned_source(params) as source, progress.task(f"reading {entry.id}", total) as advance:
            firsts, digest = _fill(blocks, params, source, advance)
        facts = {"documents": digest.count, "digest": digest.hexdigest()}
        blocks.complete(firsts, facts, held=BATCH)
    if facts["documents"]:
        blocks.join(out / "arrow")
    return facts


def _fill(blocks: RowBlocks, params: dict, source: Source, advance) -> tuple[list[int], RowDigest]:
    """Write the blocks behind those that an earlier attempt finished; returns all, and the rows' digest."""
    digest, ids, firsts = RowDigest(), [], []
    while blocks.kept(first := len(ids)) is not None:
        for table in blocks.tables(first):
            ids += table["id"].to_pylist()
            for row in table.to_pylist():
                digest.add(row)
            advance(len(table))
        firsts.append(first)
        if len(ids) < first + BLOCK:
            break  # the last one
    documents = reading.documents(source, first=params.get("first"), known=ids)
    del ids
    names = list(blocks.features)
    batches = in_batches(_rows(documents, names, params, digest, advance), names)
    for batch in batches:
        firsts.append(digest.count - len(batch["id"]))
        remainder = itertools.islice(batches, BLOCK // BATCH - 1)
        blocks.write(firsts[-1], itertools.chain([batch], remainder), {})
    return firsts, digest


def _rows(
    documents, columns: list[str], params: dict, digest: RowDigest, advance
) -> Iterator[dict[str, str]]:
    template, placeholder = params.get("text", "{text}"), params.get("untitled", "")
    for document in documents:
        row = {name: getattr(document, name) for name in columns}
        row["title"] = row["title"] or placeholder
        row["text"] = template.format(url=document.url, text=document.text)
        digest.add(row)
        if digest.count % BATCH == 0:
            advance(BATCH)
        yield row
