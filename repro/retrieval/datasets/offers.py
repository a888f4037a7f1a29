"""Downloads by id, of collections and of checkpoints alike, and how much they come to."""

from collections.abc import Iterable

from repro.retrieval.datasets import fetching, hub_models
from repro.retrieval.datasets.catalog import Dataset, dataset
from repro.retrieval.datasets.fetching import Offer
from repro.retrieval.datasets.sources import describe_size

MODEL = "model:"


def offer(id: str, *, library: str = "") -> Offer:
    """The download of a collection, or of ``model:NAME``. Raises what the offers of either raise."""
    if id.startswith(MODEL):
        return hub_models.offer(id.removeprefix(MODEL))
    return fetching.offer(id, library=library)


def amount(ids: Iterable[str]) -> str:
    """The downloads in words, as "6 collections (2.93 GB, and 1 of unknown size), 2 checkpoints".

    An archive that several share counts once. The size of a checkpoint is not known here.
    """
    ids = list(dict.fromkeys(ids))
    collections = [id for id in ids if not id.startswith(MODEL)]
    parts = [f"{_count(collections, 'collection')} ({_size(collections)})"] if collections else []
    checkpoints = [id for id in ids if id.startswith(MODEL)]
    return ", ".join(parts + ([_count(checkpoints, "checkpoint")] if checkpoints else []))


def _count(things: list[str], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def archives(collections: Iterable[str]) -> dict[int | str, int | None]:
    """The downloads of collections -> bytes, None where unknown; an archive that several share is there once.

    A split without a size of its own comes in its corpus' archive; what nobody gives out is no download.
    """
    entries = [
        entry
        for id in collections
        for entry in _download_entries(id)
        if entry.source not in ("none", "embedded")
    ]
    sizes = {entry.id: entry.size or _corpus_size(entry) for entry in entries}
    return {size or id: size for id, size in sizes.items()}


def _corpus_size(entry: Dataset) -> int | None:
    return dataset(entry.corpus_id).size if entry.source == "ir_datasets" else None


def _size(collections: list[str]) -> str:
    sizes = archives(collections)
    known_sizes = [size for size in sizes.values() if size]
    unknown_count = len(sizes) - len(known_sizes)
    if not known_sizes:
        return "size unknown"
    return describe_size(sum(known_sizes)) + (
        f", and {unknown_count} of unknown size" if unknown_count else ""
    )


def _download_entries(id: str) -> list[Dataset]:
    """The collections that are fetched for one: its members or parts, or itself."""
    entry = dataset(id)
    return [dataset(part) for part in entry.members or entry.parts or (id,)]
