"""Stage ``encode``: one vector for every passage or query."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from repro.errors import DataError, StageError, unknown
from repro.progress import Progress
from repro.released import MODULES

KINDS = ("passages", "queries")
BLOCK = 20_000  # texts sorted by length together, and lost at most when interrupted
BATCH = {"cpu": 32, "cuda": 256}
Titled = tuple[str, str]


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``vectors.npy``, (N, H) float32 in the order of ``ids.txt``, which is the source's.

    Texts are encoded in blocks, within a block by length. The digest of every finished block is noted beside,
    so that an interrupted attempt goes on behind the last block that is still as it was written. Title and
    text are joined by ``separator``, or two segments where that is ``pair``. Inputs are cut to ``length``
    tokens, pooled as ``pooling`` says, passed through the projector of a model fine-tuned with one, and
    brought to length 1 if ``normalize``. Of a released encoder, ``pooling`` may be ``pooler``, or
    ``sentence-transformers``: what its modules say. ``prefix``, if there is one, stands before every text;
    without a separator (null) titles are left out.

    Raises:
        UsageError: an unknown kind, pooling or precision, or a length beyond the model's positions.
        BlockedError: half precision without a GPU.
        DataError: a model cannot be read, or there is no text.
        StageError: a vector is not finite.
    """
    from repro.nn.checkpoint import check_length, load_tokenizer
    from repro.nn.precision import check_precision, device
    from repro.nn.threads import threads_for

    if params["kind"] not in KINDS:
        raise unknown("kind of texts", params["kind"], KINDS)
    check_precision(params["precision"])
    ids, texts = read_texts(inputs["texts"], params)
    if not ids:
        raise DataError(f"{inputs['texts']}: there is no text to encode")
    folder = inputs["model"] / "model"
    encoder = _encoder(folder, params["pooling"]).eval().to(device())
    check_length(encoder.model, params["length"])
    (out / "ids.txt").write_text("".join(f"{identifier}\n" for identifier in ids), encoding="utf-8")
    encode = _encoding(encoder, load_tokenizer(folder), params)
    size = getattr(encoder, "size", encoder.model.config.hidden_size)
    with progress.task(f"encoding {params['kind']}", total=len(ids)) as advance, threads_for(encoder):
        resumed = _written(out, len(ids), size, texts, encode, advance)
    return {"texts": len(ids), "size": size} | ({"resumed_at": resumed} if resumed else {})


def read_texts(folder: Path, params: dict) -> tuple[list[str], Callable[[int, int], list[Titled]]]:
    """The ids, and a function from a range of rows to their titles, empty for queries, and texts.

    A ``prefix`` of the parameters stands before the title, or the text where there is none; a ``separator``
    of None leaves titles out.
    """
    prefix = params.get("prefix", "")
    if params["kind"] == "queries":
        with open(folder / "queries.jsonl", encoding="utf-8") as file:
            queries = [json.loads(line) for line in file]
        texts = [("", prefix + query["text"]) for query in queries]
        return [query["id"] for query in queries], lambda first, end: texts[first:end]
    from datasets import load_from_disk

    corpus = load_from_disk(str(folder / "arrow"))

    def passages(first: int, end: int) -> list[Titled]:
        rows = corpus[first:end]
        if params["separator"] is None:
            return [("", prefix + text) for text in rows["text"]]
        pairs = zip(rows["title"], rows["text"], strict=True)
        return [(prefix + title, text) if title else ("", prefix + text) for title, text in pairs]

    return corpus.data.column("id").to_pylist(), passages


def _encoder(folder: Path, pooling: str):
    """The encoder of a model made here, or one made elsewhere with heads of its own."""
    if pooling in ("pooler", MODULES):
        from repro.nn.released_encoder import load_released_encoder

        return load_released_encoder(folder, pooling=pooling)
    from repro.nn.encoder import load_text_encoder

    return load_text_encoder(folder, pooling=pooling)


def _encoding(encoder, tokenizer, params: dict) -> Callable[[Sequence[Titled]], np.ndarray]:
    import torch

    from repro.nn.precision import autocast, device
    from repro.nn.segment_pairs import passage_inputs

    where = device()
    normalizes = params["normalize"] or getattr(encoder, "normalizes", False)

    def encode(texts: Sequence[Titled]) -> np.ndarray:
        batch = passage_inputs(
            tokenizer, *zip(*texts, strict=True), length=params["length"], separator=params["separator"]
        )
        with torch.inference_mode(), autocast(params["precision"]):
            vectors = encoder(**{name: value.to(where) for name, value in batch.items()}).float()  # (N, H)
            if normalizes:
                vectors = torch.nn.functional.normalize(vectors, dim=-1)
        return vectors.cpu().numpy()

    return encode


def _written(out: Path, count: int, size: int, texts, encode, advance: Callable[[int], None]) -> int:
    """Fill ``vectors.npy`` from the first block that is missing or damaged; returns the row that was."""
    from repro.nn.precision import device

    vectors, digests = _opened(out, count, size)
    done = _intact(vectors, digests)
    digests.write_text("".join(digests.read_text().splitlines(keepends=True)[: done // BLOCK]))
    advance(done)
    batch = BATCH[device().type]
    for first in range(done, count, BLOCK):
        block = texts(first, min(first + BLOCK, count))
        by_length = sorted(range(len(block)), key=lambda place: sum(map(len, block[place])), reverse=True)
        for start in range(0, len(block), batch):
            places = by_length[start : start + batch]
            encoded = encode([block[place] for place in places])
            if not np.isfinite(encoded).all():
                raise StageError(
                    f"the vector of a text among rows {first} to {first + len(block)} is not finite"
                )
            vectors[[first + place for place in places]] = encoded
            advance(len(places))
        vectors.flush()
        with open(digests, "a", encoding="utf-8") as file:
            file.write(_digest(vectors[first : first + BLOCK]) + "\n")
    digests.unlink()
    return done


def _opened(out: Path, count: int, size: int) -> tuple[np.memmap, Path]:
    """The array on disk, kept if it is of this shape, and the file of its blocks' digests."""
    path, digests = out / "vectors.npy", out / "blocks.txt"
    try:
        kept = np.load(path, mmap_mode="r+")
        if kept.shape == (count, size) and kept.dtype == np.float32 and digests.exists():
            return kept, digests
    except (OSError, ValueError):
        pass  # nothing there, or cut off in its header
    digests.write_text("")
    return np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(count, size)), digests


def _intact(vectors: np.memmap, digests: Path) -> int:
    """The number of leading rows that are as the attempt before wrote them."""
    rows = 0
    for line in digests.read_text(encoding="utf-8").splitlines():
        if _digest(vectors[rows : rows + BLOCK]) != line:
            break
        rows = min(rows + BLOCK, len(vectors))
    return rows


def _digest(block: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(block)).hexdigest()
