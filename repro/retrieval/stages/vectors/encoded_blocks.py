"""Blocks of encoded views, and the artefact's arrays that they are appended to, each as the next one."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from repro.store.disk import sync

Arrays = dict[str, np.ndarray]
DENSE, SPARSE = ("vectors",), ("indptr", "indices", "values")
TYPES = {"vectors": np.float32, "indptr": np.int64, "indices": np.int32, "values": np.float32}
CHUNK = 1 << 24  # bytes read at a time while an array is compared with its digest


def save_block(path: Path, rows: list[Arrays]) -> None:
    """Write the records of a block's texts as one file, which is there only when whole."""
    arrays = {}
    if "vectors" in rows[0]:
        arrays["vectors"] = np.stack([row["vectors"] for row in rows])
    if "values" in rows[0]:
        arrays["counts"] = np.array([len(row["values"]) for row in rows], dtype=np.int64)
        arrays |= {name: np.concatenate([row[name] for row in rows]) for name in ("indices", "values")}
    draft = path.with_suffix(".unfinished.npz")
    np.savez(draft, **arrays)
    draft.replace(path)


def block_is_kept(folder: Path, first: int, rows: int) -> bool:
    """Whether the block that begins at row ``first`` need not be encoded: it was joined, or lies there whole.

    A block is whole if it was written to its end and has not changed since (zip files have checksums).
    """
    if _note(folder, first).exists():
        return True
    path = block_path(folder, first)
    try:
        with zipfile.ZipFile(path) as file:
            intact = file.testzip() is None
        with np.load(path) as block:
            return intact and len(block["vectors" if "vectors" in block else "counts"]) == rows
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return False


def block_path(folder: Path, first: int) -> Path:
    """The file of the block that begins at row ``first``, until it is joined."""
    return folder / f"{first}.npz"


def _note(folder: Path, first: int) -> Path:
    """The note that a block was joined: where it ends in the arrays, and its digest."""
    return folder / f"{first}.json"


def check_joined(folder: Path, out: Path, firsts: range) -> None:
    """Look at the blocks that an interrupted attempt has joined already.

    The first one whose bytes are no longer what was written, and all that follow it, lose their note, so that
    they are encoded again: where the later ones lie depends on it.
    """
    ends, intact = {"rows": 0, "values": 0}, True
    for first in firsts:
        note = _note(folder, first)
        if not note.exists():
            intact = False
            continue
        if intact and (record := _read(note)) and _digest(out, ends, record) == record["digest"]:
            ends = record
            continue
        intact = False
        note.unlink()


def _read(note: Path) -> dict | None:
    try:
        record = json.loads(note.read_text(encoding="utf-8"))
        return record if {"rows", "values", "names", "size", "digest"} <= record.keys() else None
    except ValueError:
        return None


def join_blocks(folder: Path, out: Path, firsts: range, *, vocabulary: int) -> dict[str, int]:
    """Append the blocks to the artefact's arrays, one after another, and remove each that lies there.

    So the disk holds the artefact and one block more at most, and memory one array of a block. Interrupted,
    it goes on behind the last block with a note; what was written beyond it is overwritten.

    Args:
        firsts: the first row of every block; its end is the number of texts.

    Returns:
        ``size`` and ``values`` of the views there are.
    """
    ends = {"rows": 0, "values": 0}
    for first in firsts:
        if _note(folder, first).exists():
            ends = _read(_note(folder, first))
            block_path(folder, first).unlink(missing_ok=True)
            continue
        with np.load(block_path(folder, first)) as block:
            ends = _append(block, out, ends)
        draft = folder / "note.unfinished"
        draft.write_text(json.dumps(ends), encoding="utf-8")
        sync(draft)
        draft.replace(_note(folder, first))
        block_path(folder, first).unlink()
    for name in ends["names"]:
        _finish(out, name, ends)
    sparse = "values" in ends["names"]
    widths = {"dense": ends["size"], "sparse": vocabulary if sparse else None}
    (out / "views.json").write_text(json.dumps(widths) + "\n", encoding="utf-8")
    size = {} if ends["size"] is None else {"size": ends["size"]}
    return size | ({"values": ends["values"]} if sparse else {})


def _append(block, out: Path, start: dict) -> dict:
    """Write a block's arrays behind ``start``. Returns where they end, and what a note says beside that."""
    ends, names, digest = dict(start, size=None), [], hashlib.sha256()
    if "vectors" in block:
        names += DENSE
        vectors = block["vectors"]
        ends["rows"], ends["size"] = start["rows"] + len(vectors), vectors.shape[1]
        digest.update(_write(out, "vectors", vectors, start["rows"] * vectors.shape[1]))
    if "counts" in block:
        names += SPARSE
        bounds = start["values"] + np.cumsum(block["counts"])
        ends["rows"] = start["rows"] + len(bounds)
        ends["values"] = int(bounds[-1])
        if start["rows"] == 0:
            _write(out, "indptr", np.zeros(1, np.int64), 0)
        digest.update(_write(out, "indptr", bounds, start["rows"] + 1))
        for name in ("indices", "values"):
            digest.update(_write(out, name, block[name], start["values"]))
    return ends | {"names": names, "digest": digest.hexdigest()}


def _write(out: Path, name: str, array: np.ndarray, place: int) -> np.ndarray:
    """Write an array's numbers from number ``place`` on, have them on the disk, and return its bytes."""
    array = np.ascontiguousarray(array, dtype=TYPES[name])
    path = out / f"{name}.npy"
    with open(path, "r+b" if place else "w+b") as file:
        file.seek(len(_header(name, (0,))) + place * array.itemsize)
        file.write(memoryview(array).cast("B")) if array.size else None
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    return array.reshape(-1).view(np.uint8)


def _header(name: str, shape: tuple[int, ...]) -> bytes:
    """numpy's header, which has the same length for every number of rows."""
    file = io.BytesIO()
    description = {"descr": np.lib.format.dtype_to_descr(np.dtype(TYPES[name]))}
    np.lib.format.write_array_header_1_0(file, description | {"fortran_order": False, "shape": shape})
    return file.getvalue()


def _finish(out: Path, name: str, ends: dict) -> None:
    shapes = {"vectors": (ends["rows"], ends["size"]), "indptr": (ends["rows"] + 1,)}
    with open(out / f"{name}.npy", "r+b") as file:
        file.write(_header(name, shapes.get(name, (ends["values"],))))


def _digest(out: Path, start: dict, record: dict) -> str:
    """The digest of a block's bytes as they lie in the arrays, or of fewer where an array ends before it."""
    digest = hashlib.sha256()
    rows, values = ((start[unit], record[unit]) for unit in ("rows", "values"))
    width = record["size"] or 0
    ranges = {"vectors": (rows[0] * width, rows[1] * width), "indptr": (rows[0] + 1, rows[1] + 1)}
    for name in record["names"]:
        first, end = (place * np.dtype(TYPES[name]).itemsize for place in ranges.get(name, values))
        for part in _bytes(out / f"{name}.npy", len(_header(name, (0,))) + first, end - first):
            digest.update(part)
    return digest.hexdigest()


def _bytes(path: Path, first: int, count: int) -> Iterator[bytes]:
    if not path.exists():
        return
    with open(path, "rb") as file:
        file.seek(first)
        while count and (part := file.read(min(CHUNK, count))):
            count -= len(part)
            yield part
