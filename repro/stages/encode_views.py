"""Stage ``encode_views``: a dense and a sparse vector, or one of them, for every passage or query."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from repro.errors import DataError, StageError, check_known
from repro.progress import Progress
from repro.stages.encode import BATCH, KINDS, Titled, read_texts

SPLADE = "splade"  # a head
BLOCK = 10_000  # texts sorted by length together, and lost at most when interrupted
Arrays = dict[str, np.ndarray]


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write what ``views`` names of each text, in the order of ``ids.txt``, which is the source's.

    ``dense``: ``vectors.npy``, (N, H) float32, reduced as the model was trained to. ``sparse``: rows in CSR
    format, ``indptr.npy`` int64, ``indices.npy`` int32 and ``values.npy`` float32, without zeros; the
    ``top_k`` highest values of a text if that is not null. ``views.json`` has their widths. All arrays can be
    memory-mapped.

    Title and text are joined as in ``encode``, with its ``prefix``, and cut to ``length`` tokens.
    ``positions`` and ``head`` are ``ViewEncoder``'s sparse_positions and vocabulary_head; the head ``splade``
    is that of a released masked language model of any architecture, at every position. With
    ``normalize`` each vector is brought to length 1, a sparse one after it is truncated. Texts are encoded in
    blocks, within a block by length; an interrupted attempt takes over the blocks that are whole.

    Raises:
        UsageError: an unknown kind, view, head or precision, a length beyond the model's positions, or views
            that the model was not trained for.
        BlockedError: half precision without a GPU.
        DataError: a model cannot be read, or there is no text.
        StageError: a vector is not finite.
    """
    from repro.nn.checkpoint import check_length
    from repro.nn.precision import check_precision, device
    from repro.nn.threads import threads_for

    check_known("kind of texts", params["kind"], valid=KINDS)
    check_precision(params["precision"])
    ids, texts = read_texts(inputs["texts"], params)
    if not ids:
        raise DataError(f"{inputs['texts']}: there is no text to encode")
    encoder = _encoder(inputs["model"] / "model", params)
    check_length(encoder.model, params["length"])
    encode = _encoding(encoder.eval().to(device()), params)
    (out / "ids.txt").write_text("".join(f"{identifier}\n" for identifier in ids), encoding="utf-8")
    (out / "blocks").mkdir(exist_ok=True)
    with progress.task(f"encoding {params['kind']}", total=len(ids)) as advance, threads_for(encoder):
        resumed = _write_blocks(out / "blocks", len(ids), texts, encode, advance)
    widths = _joined(out, len(ids), vocabulary=encoder.model.config.vocab_size)
    shutil.rmtree(out / "blocks")
    return {"texts": len(ids)} | widths | ({"resumed_at": resumed} if resumed else {})


def _encoder(folder: Path, params: dict):
    """The encoder of a model made here, or a released one whose head is its own."""
    if params["head"] == SPLADE:
        from repro.nn.released_encoder import load_splade_encoder

        return load_splade_encoder(folder)
    from repro.nn.view_encoder import load_view_encoder

    return load_view_encoder(
        folder, views=params["views"], sparse_positions=params["positions"], vocabulary_head=params["head"]
    )


def _encoding(encoder, params: dict) -> Callable[[Sequence[Titled]], list[Arrays]]:
    import torch
    from torch.nn.functional import normalize

    from repro.nn.precision import autocast, device
    from repro.nn.segment_pairs import passage_inputs
    from repro.nn.sparse_view import top_k

    where = device()

    def encode(texts: Sequence[Titled]) -> list[Arrays]:
        titles, bodies = zip(*texts, strict=True)
        how = {"length": params["length"], "separator": params["separator"]}
        batch = passage_inputs(encoder.tokenizer, titles, bodies, **how)
        with torch.inference_mode(), autocast(params["precision"]):
            views = encoder(**{name: value.to(where) for name, value in batch.items()})
        views = {name: vectors.float() for name, vectors in views.items()}
        if "sparse" in views and params["top_k"] is not None:
            views["sparse"] = top_k(views["sparse"], params["top_k"])
        if params["normalize"]:
            views = {name: normalize(vectors, dim=-1) for name, vectors in views.items()}
        return _rows({name: vectors.cpu().numpy() for name, vectors in views.items()}, len(texts))

    return encode


def _rows(views: Arrays, count: int) -> list[Arrays]:
    """Vectors by view to one record a text: ``vectors``, and ``indices`` and ``values`` of what is not 0."""
    for vectors in views.values():
        if not np.isfinite(vectors).all():
            raise StageError("the vector of a text is not finite")
    rows: list[Arrays] = [{} for _ in range(count)]
    for row, vector in zip(rows, views.get("dense", ()), strict=False):
        row["vectors"] = vector
    for row, vector in zip(rows, views.get("sparse", ()), strict=False):
        kept = vector.nonzero()[0]
        row |= {"indices": kept.astype(np.int32), "values": vector[kept]}
    return rows


def _write_blocks(folder: Path, count: int, texts, encode, advance: Callable[[int], None]) -> int:
    """One file for each block of texts that has none; returns the first row that had to be encoded."""
    from repro.nn.precision import device

    batch, resumed = BATCH[device().type], None
    for first in range(0, count, BLOCK):
        path, size = folder / f"{first}.npz", min(BLOCK, count - first)
        if _whole(path, size):
            advance(size)
            continue
        resumed = first if resumed is None else resumed
        block = texts(first, first + size)
        by_length = sorted(range(size), key=lambda place, block=block: -sum(map(len, block[place])))
        rows: list[Arrays] = [{}] * size
        for start in range(0, size, batch):
            places = by_length[start : start + batch]
            for place, row in zip(places, encode([block[place] for place in places]), strict=True):
                rows[place] = row
            advance(len(places))
        _save(path, rows)
    return count if resumed is None else resumed


def _save(path: Path, rows: list[Arrays]) -> None:
    arrays = {}
    if "vectors" in rows[0]:
        arrays["vectors"] = np.stack([row["vectors"] for row in rows])
    if "values" in rows[0]:
        arrays["counts"] = np.array([len(row["values"]) for row in rows], dtype=np.int64)
        arrays |= {name: np.concatenate([row[name] for row in rows]) for name in ("indices", "values")}
    np.savez(path.with_name("unfinished.npz"), **arrays)
    path.with_name("unfinished.npz").replace(path)


def _whole(path: Path, rows: int) -> bool:
    """Whether a block was written to its end and has not changed since (zip files have checksums)."""
    try:
        with zipfile.ZipFile(path) as file:
            intact = file.testzip() is None
        with np.load(path) as block:
            return intact and len(block["vectors" if "vectors" in block else "counts"]) == rows
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return False


def _joined(out: Path, count: int, *, vocabulary: int) -> dict[str, int]:
    """The blocks as the arrays of the artefact; returns ``size`` and ``values``, of what there is."""
    paths = [out / "blocks" / f"{first}.npz" for first in range(0, count, BLOCK)]
    with np.load(paths[0]) as block:
        size = block["vectors"].shape[1] if "vectors" in block else None
        sparse = "counts" in block
    widths = {"dense": size, "sparse": vocabulary if sparse else None}
    (out / "views.json").write_text(json.dumps(widths) + "\n", encoding="utf-8")
    facts = {}
    if size is not None:
        _concatenated(paths, "vectors", out / "vectors.npy", (count, size))
        facts["size"] = size
    if sparse:
        indptr = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(np.concatenate([np.load(path)["counts"] for path in paths]), out=indptr[1:])
        np.save(out / "indptr.npy", indptr)
        facts["values"] = int(indptr[-1])
        for name in ("indices", "values"):
            _concatenated(paths, name, out / f"{name}.npy", (facts["values"],))
    return facts


def _concatenated(paths: list[Path], name: str, to: Path, shape: tuple[int, ...]) -> None:
    """An array of all blocks' arrays of that name, with one of them in memory at a time."""
    written = None
    row = 0
    for path in paths:
        with np.load(path) as block:
            part = block[name]
        if written is None:
            written = np.lib.format.open_memmap(to, mode="w+", dtype=part.dtype, shape=shape)
        written[row : row + len(part)] = part
        row += len(part)
    written.flush()
