"""Dense and sparse vectors on disk: written in blocks that are joined, read through memory maps."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from repro.errors import DataError
from repro.stages.vectors.vector_files import IdFile, new_array

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Views:
    """An artefact of ``encode_views``, memory-mapped; a view it lacks is None."""

    ids: IdFile
    widths: dict[str, int | None]
    dense: np.ndarray | None
    sparse: tuple[np.ndarray, np.ndarray, np.ndarray] | None

    @classmethod
    def read(cls, folder: Path) -> Views:
        ids = IdFile(folder)
        widths = json.loads((folder / "views.json").read_text(encoding="utf-8"))
        dense = sparse = None
        if widths["dense"] is not None:
            dense = np.load(folder / "vectors.npy", mmap_mode="r")
            _check_rows(folder, ids, len(dense))
        if widths["sparse"] is not None:
            names = ("indptr", "indices", "values")
            sparse = tuple(np.load(folder / f"{name}.npy", mmap_mode="r") for name in names)
            _check_rows(folder, ids, len(sparse[0]) - 1)
        return cls(ids, widths, dense, sparse)

    def rows(self, view: str, first: int, end: int, where):
        """Rows ``first`` to ``end`` of a view, float64: dense (n, H), or sparse (n, V) in COO format."""
        import torch

        if view == "dense":
            return torch.from_numpy(self.dense[first:end].astype(np.float64)).to(where)
        indptr, indices, values = self.sparse
        bounds = np.asarray(indptr[first : end + 1])
        rows = np.repeat(np.arange(end - first), np.diff(bounds))
        places = np.stack((rows, indices[bounds[0] : bounds[-1]].astype(np.int64)))
        numbers = torch.from_numpy(values[bounds[0] : bounds[-1]].astype(np.float64))
        return torch.sparse_coo_tensor(
            torch.from_numpy(places),
            numbers,
            (end - first, self.widths["sparse"]),
            is_coalesced=True,
            check_invariants=False,
        ).to(where)

    def values(self, view: str, first: int, end: int) -> np.ndarray:
        """The values of rows ``first`` to ``end`` of a view, (n, H), or (values that are not 0,)."""
        if view == "dense":
            return self.dense[first:end]
        indptr, _, values = self.sparse
        return values[indptr[first] : indptr[end]]

    def products(self, view: str, rows: np.ndarray, queries: Views, query: int) -> np.ndarray:
        """Inner products of K rows of a view with one row of ``queries``, (K,) float64.

        Two float32 numbers have an exact product in float64; the order of a sum depends on its terms alone.
        """
        if view == "dense":
            products = self.dense[rows].astype(np.float64)
            products *= queries.dense[query]
            return np.add.reduce(products, axis=1)
        indptr, indices, values = queries.sparse
        weights, own = np.zeros(self.widths["sparse"]), slice(indptr[query], indptr[query + 1])
        weights[indices[own]] = values[own]
        indptr, indices, values = self.sparse
        counts = indptr[rows + 1] - indptr[rows]
        entries = np.arange(counts.sum()) + np.repeat(indptr[rows] - np.cumsum(counts) + counts, counts)
        products = weights[indices[entries]] * values[entries]
        return np.bincount(np.repeat(np.arange(len(rows)), counts), products, minlength=len(rows))


def _check_rows(folder: Path, ids: IdFile, rows: int) -> None:
    if rows != len(ids):
        raise DataError(f"{folder}: {rows} vectors, but {len(ids)} ids")


def save_block(path: Path, rows: list[Arrays]) -> None:
    """Write the records of a block's texts as one file, which is there only when whole."""
    arrays = {}
    if "vectors" in rows[0]:
        arrays["vectors"] = np.stack([row["vectors"] for row in rows])
    if "values" in rows[0]:
        arrays["counts"] = np.array([len(row["values"]) for row in rows], dtype=np.int64)
        arrays |= {name: np.concatenate([row[name] for row in rows]) for name in ("indices", "values")}
    unfinished = path.with_suffix(".unfinished.npz")
    np.savez(unfinished, **arrays)
    unfinished.replace(path)


def whole(path: Path, rows: int) -> bool:
    """Whether a block was written to its end and has not changed since (zip files have checksums)."""
    try:
        with zipfile.ZipFile(path) as file:
            intact = file.testzip() is None
        with np.load(path) as block:
            return intact and len(block["vectors" if "vectors" in block else "counts"]) == rows
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return False


def join_blocks(paths: list[Path], out: Path, count: int, *, vocabulary: int) -> dict[str, int]:
    """Join the blocks into the artefact's arrays. Returns ``size`` and ``values`` of the views there are."""
    with np.load(paths[0]) as block:
        size = block["vectors"].shape[1] if "vectors" in block else None
        sparse = "counts" in block
    widths = {"dense": size, "sparse": vocabulary if sparse else None}
    (out / "views.json").write_text(json.dumps(widths) + "\n", encoding="utf-8")
    facts = {}
    if size is not None:
        _concatenate(paths, "vectors", out / "vectors.npy", (count, size))
        facts["size"] = size
    if sparse:
        indptr = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(np.concatenate([np.load(path)["counts"] for path in paths]), out=indptr[1:])
        np.save(out / "indptr.npy", indptr)
        facts["values"] = int(indptr[-1])
        for name in ("indices", "values"):
            _concatenate(paths, name, out / f"{name}.npy", (facts["values"],))
    return facts


def _concatenate(paths: list[Path], name: str, to: Path, shape: tuple[int, ...]) -> None:
    """Write all blocks' arrays of a name as one, with one of them in memory at a time."""
    written = None
    row = 0
    for path in paths:
        with np.load(path) as block:
            part = block[name]
        if written is None:
            written = new_array(to, shape, part.dtype)
        written[row : row + len(part)] = part
        row += len(part)
    written.flush()
