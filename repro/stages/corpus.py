"""Stage ``corpus``: the documents of a located collection as an Arrow dataset, streamed."""

from collections.abc import Iterator
from pathlib import Path

from repro.datasets import reading
from repro.datasets.arrow import write_rows
from repro.datasets.catalog import dataset
from repro.datasets.digests import RowDigest, planned_source
from repro.progress import Progress


def run(params: dict, inputs: dict[str, Path | list[Path]], out: Path, progress: Progress) -> dict:
    """Write ``arrow/`` with columns id, title and text, and url where the collection has addresses.

    ``params``: dataset (id), source (a documents Source as JSON), identity (of its bytes) and, unless the
    plain text is wanted, text (a template over url and text) and untitled (what stands for an empty title);
    first, where not all are read: rows of the source, of each of its parts.
    Returns the number of documents and the digest of what was written. Raises DataError when the source is
    malformed, not the collection of the papers, or no longer the one that was planned with.
    """
    entry = dataset(params["dataset"])
    columns = ("id", "title", "text", "url") if entry.addresses else ("id", "title", "text")
    text, untitled = params.get("text", "{text}"), params.get("untitled", "")
    digest = RowDigest()
    first = params.get("first")
    expected = first * max(1, len(entry.parts)) if first else entry.counts.get("documents")
    with planned_source(params) as source, progress.task(f"reading {entry.id}", expected) as advance:

        def rows() -> Iterator[dict[str, str]]:
            for document in reading.documents(source, first=first):
                row = {name: getattr(document, name) for name in columns}
                row["title"] = row["title"] or untitled
                row["text"] = text.format(url=document.url, text=document.text)
                digest.add(row)
                if digest.count % 1000 == 0:
                    advance(1000)
                yield row

        count = write_rows(rows(), dict.fromkeys(columns, "string"), out / "arrow")
    return {"documents": count, "digest": digest.hexdigest()}
