"""Stage ``encode``: one vector for every passage or query."""

import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from repro.errors import DataError, StageError
from repro.machine.shard import blocks, shard, share
from repro.progress import Progress
from repro.retrieval.datasets.arrow import IdColumn, read_rows
from repro.retrieval.stages.vectors import write_ids
from repro.retrieval.stages.vectors.vector_blocks import is_there, note, open_vectors, rows_of
from repro.retrieval.training.process_group import launched_together
from repro.stage_table import MODULES, check_choices

BLOCK = 20_000  # texts sorted by length together, and lost at most when interrupted
Titled = tuple[str, str]
Vectors = Callable[[], tuple[list[int], np.ndarray]]  # texts' places, (N,), and their vectors, (N, H)


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``vectors.npy``, (N, H) in the order of ``ids.txt``, which is the source's.

    They are float32 unless ``numbers`` says float16, to which each is rounded when all else is done.

    Texts are encoded in blocks, within a block by length, with about as many tokens in every batch. The
    digest of every finished block is noted in ``blocks/`` until the store seals the vectors, so that an
    interrupted attempt keeps each block that is still as it was written. Started by torchrun, each process
    takes every so many-th block, all write into the same file, and its bytes are those of one process.
    Shards, which may be on machines that see each other's writing late, have a file for each block instead.

    On a CPU a large model built as BERT reads the texts of a batch end to end, without padding. A GPU does so
    where REPRO_PADDING_FREE asks for it, in half precision, and the record says ``padding_free``.

    Title and text are joined by ``separator``, or two segments where that is ``pair``. Inputs are cut to
    ``length`` tokens, pooled as ``pooling`` says, passed through the projector of a model fine-tuned with
    one, and brought to length 1 if ``normalize``. Of a released encoder, ``pooling`` may be
    ``sentence-transformers``: what its modules say. ``prefix``, if there is one, stands before every text;
    without a separator (null) titles are left out.

    Raises:
        UsageError: an unknown kind, pooling, precision or type, or a length beyond the model's positions.
        BlockedError: half precision without a GPU.
        DataError: a model cannot be read, there is no text, or an id that a run cannot hold.
        StageError: a vector is not finite, or beyond what float16 holds.
    """
    from repro.retrieval.nn.batches import HalvingEncoder
    from repro.retrieval.nn.checkpoint import check_fits, load_tokenizer
    from repro.retrieval.nn.padding_free import is_asked_for, packs, without_padding
    from repro.retrieval.nn.precision import check_precision, device, threads_for
    from repro.retrieval.stages.vectors.token_groups import prepared_batches

    check_choices("encode", params)
    check_precision(params["precision"])
    numbers = params.get("numbers", "float32")
    ids, texts = read_texts(inputs["texts"], params)
    folder = inputs["model"] / "model"
    encoder = _encoder(folder, params["pooling"]).eval().to(device())
    tokenizer = load_tokenizer(folder)
    check_fits(encoder.model, tokenizer, params["length"])
    is_wanted = is_asked_for(os.environ)
    packed = packs(encoder, wanted=is_wanted, precision=params["precision"], say=progress.note)
    halving_encoder = HalvingEncoder(without_padding(encoder, gpu=packed))
    prepare = partial(prepared_batches, tokenizer, params=params)
    encode = _batch_encoder(halving_encoder, params)
    size = getattr(encoder, "size", encoder.model.config.hidden_size)
    with launched_together() as (rank, ranks), threads_for(encoder):
        if rank == 0 and shard().whole:
            write_ids(ids, out, inputs["texts"])
        bar = progress if rank == 0 else Progress()  # bars of several processes would overwrite each other
        with bar.task(f"encoding {params['kind']}", total=share(len(ids), BLOCK, ranks=ranks)) as advance:
            arguments = (out, len(ids), size, texts, prepare, encode, advance, rank, ranks)
            resumed_at = _fill(*arguments, numbers=numbers)
    facts = {"texts": len(ids), "size": size, **halving_encoder.facts()}
    facts |= {"padding_free": 1} if packed else {}
    return facts | ({"resumed_at": resumed_at} if resumed_at else {})


def read_texts(folder: Path, params: dict) -> tuple[list[str] | IdColumn, Callable[[int, int], list[Titled]]]:
    """Return the ids, and a function from a range of rows to their titles, empty for queries, and texts.

    A ``prefix`` of the parameters stands before the title, or the text where there is none; a ``separator``
    of None leaves titles out. Raises DataError where there is no text.
    """
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
    if pooling == MODULES:
        from repro.retrieval.nn.library_encoder import ReleasedEncoder

        return ReleasedEncoder(folder)
    from repro.retrieval.nn.encoder import load_text_encoder

    return load_text_encoder(folder, pooling=pooling)


def outputs(encoder, batches: list[tuple], params: dict) -> Iterator[tuple]:
    """Yield the places of each batch with what a ``HalvingEncoder`` gives for it.

    A GPU may still be computing it.
    """
    import torch

    from repro.retrieval.nn.precision import autocast

    for places, batch in batches:
        with torch.inference_mode(), autocast(params["precision"]):
            output = encoder(batch)
        yield places, output


def _batch_encoder(encoder, params: dict) -> Callable[[list[tuple]], Vectors]:
    """A function that begins to encode a batch, and returns one that waits for its vectors."""
    import torch
    from torch.nn.functional import normalize

    from repro.retrieval.nn.precision import to_host

    normalizes = params["normalize"]
    numbers = params.get("numbers", "float32")

    def encode(batches: list[tuple]) -> Vectors:
        order, parts = [], []
        for places, output in outputs(encoder, batches, params):
            order += places
            parts.append(normalize(output.float(), dim=-1) if normalizes else output.float())  # (n, H)
        vectors = to_host(torch.cat(parts))  # (N, H)
        return lambda: (order, rounded(vectors().numpy(), numbers))

    return encode


def rounded(vectors: np.ndarray, numbers: str) -> np.ndarray:
    """Vectors in another type; what it does not hold is infinite."""
    with np.errstate(over="ignore"):
        return vectors.astype(numbers, copy=False)


def _fill(
    out: Path,
    count: int,
    size: int,
    texts,
    prepare,
    encode,
    advance,
    rank: int,
    ranks: int,
    *,
    numbers: str = "float32",
) -> int:
    """Fill this process' blocks of ``vectors.npy`` that are not intact; returns the first such row."""
    from repro.retrieval.stages.vectors.token_groups import token_groups
    from repro.retrieval.training.process_group import everybody_waits

    if rank == 0:
        open_vectors(out, count, size, numbers=numbers)
    everybody_waits()
    firsts = blocks(count, BLOCK, rank=rank, ranks=ranks)
    ranges = [(first, min(first + BLOCK, count)) for first in firsts]
    earliest = count
    with (
        ThreadPoolExecutor(1) as executor,
        token_groups(ranges, texts, prepare, there=partial(is_there, out)) as groups,
    ):
        pending = executor.submit(int)
        for first, block in _filled_blocks(out, groups, encode, advance):
            earliest = min(earliest, first)
            pending.result()  # raises what went wrong with the block before
            pending = executor.submit(note, out, first, block)
            del block  # it leaves memory once it is noted
        pending.result()
    everybody_waits()
    return earliest


def _filled_blocks(out: Path, groups: Iterator, encode, advance) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each block that had to be filled, behind its first row."""
    from repro.retrieval.stages.vectors.token_groups import in_turn

    for group, vectors in in_turn(groups, encode):
        advance(len(group.places))
        if vectors is None:
            continue
        order, rows = vectors()
        if group.begins:
            block = rows_of(out, group.first, (group.size, rows.shape[1]))
        if not np.isfinite(rows).all():
            end = group.first + group.size
            raise StageError(f"the vector of a text among rows {group.first} to {end} is not finite")
        block[np.asarray(group.places)[order]] = rows
        if group.ends:
            yield group.first, block
            del block
