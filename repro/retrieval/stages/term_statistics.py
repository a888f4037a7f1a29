"""Stage ``term_statistics``: collection and document frequency of each vocabulary entry."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from repro.errors import DataError
from repro.progress import Progress
from repro.retrieval.datasets.arrow import read_rows
from repro.retrieval.nn.checkpoint import load_tokenizer

BATCH = 1000


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``collection_frequency.npy`` and ``document_frequency.npy``, (V,) int64 for V vocabulary entries.

    ``counts.json`` contains the totals, e.g. ``{"texts": 10, "tokens": 640}``. A text is a row of the tokens.
    """
    size = len(load_tokenizer(inputs["model"] / "model"))
    tokens = read_rows(inputs["tokens"]).select_columns("input_ids")
    if len(tokens) == 0:
        raise DataError(f"{inputs['tokens']}: no texts to count")
    with progress.task("counting tokens", total=len(tokens)) as advance:
        collection, documents = frequencies(_batches(tokens, advance), vocabulary_size=size)
    np.save(out / "collection_frequency.npy", collection)
    np.save(out / "document_frequency.npy", documents)
    counts = {"texts": len(tokens), "tokens": int(collection.sum())}
    (out / "counts.json").write_text(json.dumps(counts) + "\n")
    return counts | {"entries": size, "entries_seen": int(np.count_nonzero(collection))}


def frequencies(
    batches: Iterable[tuple[np.ndarray, np.ndarray]], *, vocabulary_size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return how often each id occurs, and in how many texts, both (V,) int64.

    Each of ``batches`` has up to ``BATCH`` texts: their concatenated ids, and their lengths.
    """
    collection = np.zeros(vocabulary_size, np.int64)
    documents = np.zeros(vocabulary_size, np.int64)
    seen = np.zeros((BATCH, vocabulary_size), bool)
    for ids, lengths in batches:
        seen[:] = False
        seen[np.repeat(np.arange(len(lengths)), lengths), ids] = True
        collection += np.bincount(ids, minlength=vocabulary_size)
        documents += seen.sum(axis=0)
    return collection, documents


def _batches(tokens, advance) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for table in tokens.with_format("arrow").iter(batch_size=BATCH):
        column = table["input_ids"].combine_chunks()
        lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
        yield column.flatten().to_numpy(zero_copy_only=False), lengths
        advance(len(lengths))
