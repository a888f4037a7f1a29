"""Dense and sparse vectors on disk, of which only the rows that are asked for are held in memory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from repro.errors import DataError
from repro.retrieval.stages.vectors.vector_files import IdFile, VectorFile

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Views:
    """An artefact of ``encode_views``; a view it lacks has no width.

    Its files are mapped for the time of one read (``VectorFile`` says why).

    Attributes:
        indptr: (N + 1,) int64, where the values of each sparse row begin.
    """

    folder: Path
    ids: IdFile
    widths: dict[str, int | None]
    vectors: VectorFile | None
    indptr: np.ndarray | None

    @classmethod
    def read(cls, folder: Path) -> Views:
        """Open an artefact. Raises DataError where a view has not as many rows as there are ids."""
        ids = IdFile(folder)
        widths = json.loads((folder / "views.json").read_text(encoding="utf-8"))
        vectors = indptr = None
        if widths["dense"] is not None:
            vectors = VectorFile(folder)
            _check_rows(folder, ids, len(vectors))
        if widths["sparse"] is not None:
            indptr = np.load(folder / "indptr.npy")
            _check_rows(folder, ids, len(indptr) - 1)
        return cls(folder, ids, widths, vectors, indptr)

    def __len__(self) -> int:
        return len(self.ids)

    def block(self, view: str, first: int, end: int) -> np.ndarray | csr_array:
        """Rows ``first`` to ``end`` of a view, float32: (n, H), or (n, V) with the values that are not 0."""
        if view == "dense":
            return self.vectors.read(first, end)
        return self._sparse(self.indptr[first : end + 1], slice(self.indptr[first], self.indptr[end]))

    def picked(self, view: str, rows: np.ndarray) -> np.ndarray | csr_array:
        """These rows of a view, (K,) int64, in ``block``'s form."""
        if view == "dense":
            return np.load(self.vectors.path, mmap_mode="r")[rows]
        counts = self.indptr[rows + 1] - self.indptr[rows]
        ends = np.concatenate(([0], np.cumsum(counts)))
        return self._sparse(ends, np.arange(ends[-1]) + np.repeat(self.indptr[rows] - ends[:-1], counts))

    def _sparse(self, bounds: np.ndarray, entries: slice | np.ndarray) -> csr_array:
        from scipy.sparse import csr_array

        arrays = (np.load(self.folder / f"{name}.npy", mmap_mode="r") for name in ("values", "indices"))
        values, indices = (np.array(array[entries]) for array in arrays)
        bounds = (bounds - bounds[0]).astype(np.int64 if len(values) > 2**31 - 1 else np.int32)
        return csr_array((values, indices, bounds), shape=(len(bounds) - 1, self.widths["sparse"]))


def _check_rows(folder: Path, ids: IdFile, rows: int) -> None:
    if rows != len(ids):
        raise DataError(f"{folder}: {rows} vectors, but {len(ids)} ids")
