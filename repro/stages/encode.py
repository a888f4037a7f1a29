"""Stage ``encode``: one vector for every passage or query."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from repro.datasets.arrow import IdColumn, read_rows
from repro.errors import DataError, StageError, check_known
from repro.nn.encoder_conventions import MODULES
from repro.progress import Progress
from repro.stages.vectors.vector_files import new_array, take_space, write_ids
from repro.store.disk import BLOCKS
from repro.training.process_group import launched_together

KINDS = ("passages", "queries")
BLOCK = 20_000  # texts sorted by length together, and lost at most when interrupted
Titled = tuple[str, str]


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``vectors.npy``, (N, H) float32 in the order of ``ids.txt``, which is the source's.

    Texts are encoded in blocks, within a block by length, with about as many tokens in every batch. The
    digest of every finished block is noted in ``blocks/`` until the store seals the vectors, so that an
    interrupted attempt keeps each block that is still as it was written. Started by torchrun, each process
    takes every so many-th block, all write into the same file, and its bytes are those of one process.

    Title and text are joined by ``separator``, or two segments where that is ``pair``. Inputs are cut to
    ``length`` tokens, pooled as ``pooling`` says, passed through the projector of a model fine-tuned with
    one, and brought to length 1 if ``normalize``. Of a released encoder, ``pooling`` may be ``pooler``, or
    ``sentence-transformers``: what its modules say. ``prefix``, if there is one, stands before every text;
    without a separator (null) titles are left out.

    Raises:
        UsageError: an unknown kind, pooling or precision, or a length beyond the model's positions.
        BlockedError: half precision without a GPU.
        DataError: a model cannot be read, there is no text, or an id that a run cannot hold.
        StageError: a vector is not finite.
    """
    from repro.nn.checkpoint import check_length, load_tokenizer
    from repro.nn.precision import check_precision, device, threads_for

    check_precision(params["precision"])
    ids, texts = read_texts(inputs["texts"], params)
    folder = inputs["model"] / "model"
    encoder = _encoder(folder, params["pooling"]).eval().to(device())
    check_length(encoder.model, params["length"])
    encode = _encoding(encoder, load_tokenizer(folder), params)
    size = getattr(encoder, "size", encoder.model.config.hidden_size)
    with launched_together() as (rank, ranks), threads_for(encoder):
        if rank == 0:
            write_ids(ids, out, inputs["texts"])
        shown = progress if rank == 0 else Progress()  # bars of several processes would overwrite each other
        with shown.task(f"encoding {params['kind']}", total=share(len(ids), BLOCK, ranks)) as advance:
            resumed = _fill(out, len(ids), size, texts, encode, advance, rank, ranks)
    return {"texts": len(ids), "size": size} | ({"resumed_at": resumed} if resumed else {})


def share(count: int, block: int, ranks: int) -> int:
    """The number of ``count`` texts that the first of ``ranks`` processes encodes, by blocks of ``block``."""
    return sum(min(block, count - first) for first in range(0, count, block)[::ranks])


def read_texts(folder: Path, params: dict) -> tuple[list[str] | IdColumn, Callable[[int, int], list[Titled]]]:
    """Return the ids, and a function from a range of rows to their titles, empty for queries, and texts.

    A ``prefix`` of the parameters stands before the title, or the text where there is none; a ``separator``
    of None leaves titles out. Raises UsageError for an unknown kind, DataError where there is no text.
    """
    check_known("kind of texts", params["kind"], valid=KINDS)
    ids, texts = (_queries if params["kind"] == "queries" else _passages)(folder, params)
    if not ids:
        raise DataError(f"{folder}: there is no text to encode")
    return ids, texts


def _queries(folder: Path, params: dict):
    with open(folder / "queries.jsonl", encoding="utf-8") as file:
        queries = [json.loads(line) for line in file]
    texts = [("", params.get("prefix", "") + query["text"]) for query in queries]
    return [query["id"] for query in queries], lambda first, end: texts[first:end]


def _passages(folder: Path, params: dict):
    corpus, prefix = read_rows(folder), params.get("prefix", "")

    def texts(first: int, end: int) -> list[Titled]:
        rows = corpus[first:end]
        if params["separator"] is None:
            return [("", prefix + text) for text in rows["text"]]
        pairs = zip(rows["title"], rows["text"], strict=True)
        return [(prefix + title, text) if title else ("", prefix + text) for title, text in pairs]

    return IdColumn(corpus), texts


def _encoder(folder: Path, pooling: str):
    """Load the encoder of a model made here, or a released one with heads of its own."""
    if pooling in ("pooler", MODULES):
        from repro.nn.released_encoder import load_released_encoder

        return load_released_encoder(folder, pooling=pooling)
    from repro.nn.encoder import load_text_encoder

    return load_text_encoder(folder, pooling=pooling)


def encoded_batches(encoder, tokenizer, texts: Sequence[Titled], params: dict) -> Iterator[tuple]:
    """Encode texts, and yield the places of a batch of them with what the encoder gives for it."""
    import torch

    from repro.nn.length_buckets import token_batches
    from repro.nn.precision import autocast, device
    from repro.nn.text import passage_inputs

    where, (titles, bodies) = device(), zip(*texts, strict=True)
    inputs = passage_inputs(tokenizer, titles, bodies, length=params["length"], separator=params["separator"])
    for places, batch in token_batches(inputs):
        with torch.inference_mode(), autocast(params["precision"]):
            output = encoder({name: value.to(where) for name, value in batch.items()})
        yield places, output


def _encoding(encoder, tokenizer, params: dict) -> Callable[[Sequence[Titled]], np.ndarray]:
    from torch.nn.functional import normalize

    normalizes = params["normalize"] or getattr(encoder, "normalizes", False)

    def encode(texts: Sequence[Titled]) -> np.ndarray:
        vectors = [np.empty(0)] * len(texts)
        for places, output in encoded_batches(encoder, tokenizer, texts, params):
            part = normalize(output.float(), dim=-1) if normalizes else output.float()  # (N, H)
            for place, vector in zip(places, part.cpu().numpy(), strict=True):
                vectors[place] = vector
        return np.stack(vectors)

    return encode


def _fill(out: Path, count: int, size: int, texts, encode, advance, rank: int, ranks: int) -> int:
    """Fill this process' blocks of ``vectors.npy`` that are not intact; returns the first such row."""
    from repro.training.process_group import everybody_waits

    if rank == 0:
        _open(out, count, size)
    everybody_waits()
    redone = count
    for first in range(0, count, BLOCK)[rank::ranks]:
        block = np.load(out / "vectors.npy", mmap_mode="r+")[first : first + BLOCK]
        digest = out / BLOCKS / str(first)
        if digest.exists() and digest.read_text() == _digest(block):
            advance(len(block))
            continue
        redone = min(redone, first)
        _encode_block(block, texts(first, first + len(block)), encode, first, advance)
        block.flush()
        digest.write_text(_digest(block))
    everybody_waits()
    return redone


def _encode_block(block: np.memmap, texts: list[Titled], encode, first: int, advance) -> None:
    from repro.nn.length_buckets import tokenised_together

    for places in tokenised_together(texts):
        encoded = encode([texts[place] for place in places])
        if not np.isfinite(encoded).all():
            raise StageError(f"the vector of a text among rows {first} to {first + len(block)} is not finite")
        block[places] = encoded
        advance(len(places))


def _open(out: Path, count: int, size: int) -> None:
    """Make the array on disk, or keep it with its blocks' digests if it is of this shape."""
    path, digests = out / "vectors.npy", out / BLOCKS
    try:
        kept = np.load(path, mmap_mode="r")
        usable = kept.shape == (count, size) and kept.dtype == np.float32 and digests.is_dir()
    except (OSError, ValueError):
        usable = False  # nothing there, or cut off in its header
    if usable:
        take_space(path)
        return
    shutil.rmtree(digests, ignore_errors=True)
    new_array(path, (count, size), np.float32).flush()
    digests.mkdir()


def _digest(block: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(block)).hexdigest()
