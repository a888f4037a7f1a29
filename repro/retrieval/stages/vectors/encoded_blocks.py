"""Save blocks of encoded texts, and append them to the artefact's arrays in order."""

import json
import os
from collections.abc import Mapping
from itertools import dropwhile
from pathlib import Path

import numpy as np

from repro.errors import StageError
from repro.store.disk import intact, read_note, write_note

Arrays = dict[str, np.ndarray]


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
        arrays["indices"] = arrays["indices"].astype(np.int32, copy=False)
        arrays["values"] = arrays["values"].astype(np.float32, copy=False)
    path = folder / f"{first}.npz"
    np.savez(path, **arrays)  # type: ignore[arg-type]
    shapes = {name: array.shape for name, array in arrays.items()}
    write_note(path.with_suffix(".json"), [path], rows=len(rows), shapes=shapes)


def block_is_kept(folder: Path, first: int, rows: int) -> bool:
    """Return whether a block has an unchanged file, or was joined and has a note without a file."""
    return intact(folder / f"{first}.json", rows=rows) is not None


def check_joined(folder: Path, firsts: range) -> None:
    """Remove the notes of joined blocks after the first one not joined, which determines their places."""
    notes = (folder / f"{first}.json" for first in firsts)
    for note in filter(_is_joined, dropwhile(_is_joined, notes)):
        note.unlink()


def _is_joined(note: Path) -> bool:
    return (read_note(note) or {}).get("sha256") == {}


def join_blocks(folder: Path, out: Path, firsts: range, *, vocabulary: int | None) -> dict[str, int]:
    """Append the blocks to the artefact's arrays in order, and remove each afterwards.

    ``firsts`` are first rows. ``vocabulary`` is V for ``views.json``, or None without it. Returns ``size``,
    the width of dense vectors, and ``values``, the number of sparse ones, as far as they exist.
    """
    notes = [read_note(folder / f"{first}.json") or {} for first in firsts]
    sizes = [(note["rows"], note["shapes"].get("values", [0])[0]) for note in notes]
    ends, shapes = np.cumsum(sizes, axis=0).tolist(), notes[0]["shapes"]
    for first, note, start in zip(firsts, notes, [[0, 0], *ends], strict=False):
        path = folder / f"{first}.npz"
        if note["sha256"]:
            with np.load(path) as block:
                _append(block, out, start, ends[-1])
            write_note(path.with_suffix(".json"), [], rows=note["rows"], shapes=note["shapes"])
        path.unlink(missing_ok=True)
    facts = {"size": shapes["vectors"][1]} if "vectors" in shapes else {}
    facts |= {"values": ends[-1][1]} if "values" in shapes else {}
    if vocabulary is not None:
        widths = {"dense": facts.get("size"), "sparse": vocabulary if "values" in facts else None}
        (out / "views.json").write_text(json.dumps(widths) + "\n")
    return facts


def _append(block: Mapping[str, np.ndarray], out: Path, start: list[int], total: list[int]) -> None:
    (row, value), (rows, values) = start, total
    if "vectors" in block:
        _write(out / "vectors.npy", block["vectors"], row, rows)
    if "counts" in block:
        bounds = value + np.cumsum(block["counts"])
        bounds = bounds if row else np.append(0, bounds)
        _write(out / "indptr.npy", bounds, row + 1 if row else 0, rows + 1)
        for name in ("indices", "values"):
            _write(out / f"{name}.npy", block[name], value, values)


def _write(path: Path, array: np.ndarray, place: int, length: int) -> None:
    header = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False}
    with open(path, "r+b" if place else "w+b") as file:
        np.lib.format.write_array_header_1_0(file, header | {"shape": (length, *array.shape[1:])})
        file.seek(place * array.strides[0], os.SEEK_CUR)
        file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
