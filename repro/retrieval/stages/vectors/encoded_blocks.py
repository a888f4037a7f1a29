"""Save blocks of encoded texts, and append them to the artefact's arrays in order."""

import io
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from repro.errors import StageError
from repro.store.disk import intact, read_note, write_note

Arrays = dict[str, np.ndarray]
DENSE, SPARSE = ["vectors"], ["indptr", "indices", "values"]
TYPES = {"vectors": "float32", "indptr": "int64", "indices": "int32", "values": "float32"}


@dataclass(frozen=True)
class Joined:
    """The note of a joined block: the rows and sparse values up to its end in the arrays."""

    rows: int = 0
    values: int = 0
    size: int = 0
    numbers: str = "float32"
    names: tuple[str, ...] = ()


def save_block(folder: Path, first: int, rows: list[Arrays]) -> None:
    """Write a file with the vectors of a block of texts, whose first is row ``first``, and a note.

    Each of ``rows`` has ``vectors``, (H,), or non-zero ``values`` and their ``indices``, or both.
    Raises StageError if a number is not finite.
    """
    arrays = {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise StageError(f"the vector of a text among rows {first} to {first + len(rows)} is not finite")
    if "vectors" in arrays:
        arrays["vectors"] = arrays["vectors"].reshape(len(rows), -1)
    if "values" in arrays:
        arrays["counts"] = np.array([len(row["values"]) for row in rows], np.int64)
        for name in ("indices", "values"):
            arrays[name] = arrays[name].astype(TYPES[name], copy=False)
    path = folder / f"{first}.npz"
    np.savez(path, **arrays)  # type: ignore[arg-type]
    write_note(folder / f"{first}.saved.json", [path], rows=len(rows))


def block_is_kept(folder: Path, first: int, rows: int) -> bool:
    """Return whether a block was joined, or has an unchanged file."""
    is_joined = (folder / f"{first}.json").exists()
    return is_joined or intact(folder / f"{first}.saved.json", rows=rows) is not None


def check_joined(folder: Path, firsts: range) -> None:
    """Remove all notes after the first missing one, as each determines the next block's place."""
    noted = True
    for first in firsts:
        noted = noted and _read(folder / f"{first}.json") is not None
        if not noted:
            (folder / f"{first}.json").unlink(missing_ok=True)


def _read(note: Path) -> Joined | None:
    content = read_note(note)
    return Joined(**content["joined"]) if content and "joined" in content else None


def join_blocks(folder: Path, out: Path, firsts: range, *, vocabulary: int | None) -> dict[str, int]:
    """Append the blocks to the artefact's arrays in order, and remove each afterwards.

    It continues after the last block with a note. ``firsts`` are first rows. ``vocabulary`` is V for
    ``views.json``, or None without it. Returns ``size`` of dense vectors and ``values`` of sparse ones.
    """
    last = Joined()
    for first in firsts:
        joined = _read(folder / f"{first}.json")
        if joined is None:
            with np.load(folder / f"{first}.npz") as block:
                joined = _append(block, out, last)
            write_note(folder / f"{first}.json", [], joined=asdict(joined))
        last = joined
        for file in (folder / f"{first}.npz", folder / f"{first}.saved.json"):
            file.unlink(missing_ok=True)
    for name in last.names:
        _finish(out, name, last)
    facts = {"size": last.size} if "vectors" in last.names else {}
    facts |= {"values": last.values} if "values" in last.names else {}
    if vocabulary is not None:
        widths = {"dense": facts.get("size"), "sparse": vocabulary if "values" in facts else None}
        (out / "views.json").write_text(json.dumps(widths) + "\n")
    return facts


def _append(block: Mapping[str, np.ndarray], out: Path, last: Joined) -> Joined:
    rows, values, size, numbers = last.rows, last.values, 0, last.numbers
    names: list[str] = []
    if "vectors" in block:
        names += DENSE
        vectors = block["vectors"]
        rows, size, numbers = last.rows + len(vectors), vectors.shape[1], vectors.dtype.name
        _write(out, "vectors", vectors, last.rows * size)
    if "counts" in block:
        names += SPARSE
        bounds = last.values + np.cumsum(block["counts"])
        rows, values = last.rows + len(bounds), int(bounds[-1])
        if last.rows == 0:
            _write(out, "indptr", np.zeros(1, np.int64), 0)
        _write(out, "indptr", bounds, last.rows + 1)
        for name in ("indices", "values"):
            _write(out, name, block[name], last.values)
    return Joined(rows, values, size, numbers, tuple(names))


def _write(out: Path, name: str, array: np.ndarray, place: int) -> None:
    with open(out / f"{name}.npy", "r+b" if place else "w+b") as file:
        file.seek(len(_header(array.dtype, (0,))) + place * array.itemsize)
        file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())


def _header(dtype: np.dtype, shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    description = {"descr": np.lib.format.dtype_to_descr(dtype)}
    np.lib.format.write_array_header_1_0(file, description | {"fortran_order": False, "shape": shape})
    return file.getvalue()


def _finish(out: Path, name: str, last: Joined) -> None:
    shapes = {"vectors": (last.rows, last.size), "indptr": (last.rows + 1,)}
    with open(out / f"{name}.npy", "r+b") as file:
        dtype = np.dtype(last.numbers if name == "vectors" else TYPES[name])
        file.write(_header(dtype, shapes.get(name, (last.values,))))
