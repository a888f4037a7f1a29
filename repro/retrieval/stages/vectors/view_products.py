"""Inner products of blocks of passages with queries that stay on the device."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce

import numpy as np
import torch

from repro.errors import StageError
from repro.retrieval.stages.vectors.view_files import Views
from repro.retrieval.stages.vectors.view_scores import lengths

SHARE, FREQUENT = 0.1, 1024  # of the queries that have a word which is frequent; such words
ROWS = 512  # passages multiplied through the index at once
EIGHTHS = 8  # of a tile's queries are multiplied in float64 one after another, since these take twice as much


@dataclass(frozen=True)
class Passages:
    """Passages ``first`` to ``end`` in memory, float32, by view: (n, H), or (n, V) sparse."""

    first: int
    end: int
    vectors: dict

    @classmethod
    def read(cls, views: Views, names: Sequence[str], first: int, end: int) -> Passages:
        return cls(first, end, {name: views.block(name, first, end) for name in names})

    def longest(self) -> dict[str, float]:
        """The greatest length of a vector of each view."""
        return {name: float(lengths(vectors).max(initial=0)) for name, vectors in self.vectors.items()}

    def on(self, device: torch.device, frequent: np.ndarray, dtype: torch.dtype = torch.float32) -> dict:
        """The same on a device, in the form that ``Tile`` multiplies with."""
        return {name: _to_device(vectors, device, frequent, dtype) for name, vectors in self.vectors.items()}


def uses_inverted_index(device: torch.device) -> bool:
    """Whether sparse rows are multiplied through an inverted index of the queries, by scipy.

    PyTorch's product of a sparse matrix (passages) and a dense one (queries) goes through all values of a
    passage for every query, which a GPU does fast; the index goes through those that both have. Words that
    many queries have are left to a dense product, which takes a fiftieth of the time for a word.
    """
    return device.type == "cpu"


def frequent_words(vectors: dict, device: torch.device) -> np.ndarray:
    """The words of sparse queries that are multiplied as columns of a dense matrix: (F,), at most 1,024."""
    if "sparse" not in vectors or not uses_inverted_index(device):
        return np.empty(0, np.int64)
    rows = vectors["sparse"]
    counts = np.bincount(rows.indices, minlength=rows.shape[1])
    most = np.argsort(-counts, kind="stable")[:FREQUENT]
    return np.sort(most[counts[most] > SHARE * rows.shape[0]])


def _to_device(vectors, device: torch.device, frequent: np.ndarray, dtype: torch.dtype):
    if isinstance(vectors, np.ndarray):
        return torch.from_numpy(vectors).to(device, dtype)
    if uses_inverted_index(device):
        rows = vectors.astype(np.float64) if dtype == torch.float64 else vectors
        return torch.from_numpy(rows[:, frequent].toarray()), rows
    arrays = (torch.from_numpy(array) for array in (vectors.indptr, vectors.indices, vectors.data))
    bounds, indices, values = arrays
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(
            bounds.to(device),
            indices.to(device),
            values.to(device, dtype),
            vectors.shape,
            check_invariants=False,
        )


class Tile:
    """Queries that are multiplied together, kept on the device for all passages.

    Args:
        vectors: by view, (t, H), or (t, V) sparse.
        sums: the views that are added for each list.
        frequent: ``frequent_words`` of all queries.
    """

    def __init__(
        self, vectors: dict, sums: dict[str, Sequence[str]], device: torch.device, frequent: np.ndarray
    ):
        self.device, self.vectors, self.sums, self.frequent = device, vectors, sums, frequent
        self.columns = {name: self._columns(rows, torch.float32) for name, rows in vectors.items()}

    def __len__(self) -> int:
        return next(iter(self.vectors.values())).shape[0]

    def _columns(self, rows, dtype: torch.dtype):
        """Queries as columns, (H, t), (V, t); or those of frequent words, (F, t), and an index of others."""
        if isinstance(rows, np.ndarray):
            return torch.from_numpy(rows).to(self.device, dtype).T.contiguous()
        if uses_inverted_index(self.device):
            rows = rows.astype(np.float64 if dtype == torch.float64 else np.float32)
            columns = torch.from_numpy(np.ascontiguousarray(rows[:, self.frequent].toarray().T))
            rows.data[np.isin(rows.indices, self.frequent)] = 0
            rows.eliminate_zeros()
            return columns, rows.T.tocsr()
        columns = torch.zeros(rows.shape[::-1], dtype=dtype, device=self.device)
        words, numbers = (torch.from_numpy(array).to(self.device) for array in (rows.indices, rows.data))
        queries = torch.from_numpy(np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)))
        columns[words.long(), queries.to(self.device)] = numbers.to(dtype)
        return columns

    def scores(self, passages: Passages, vectors: dict) -> dict[str, torch.Tensor]:
        """Sums in float32, (n, t), by list; those of a block in which one overflows are made in float64.

        Raises:
            StageError: a score is not finite.
        """
        scores = self._sums(vectors, self.columns)
        if not all(_finite(sums) for sums in scores.values()):
            scores = {name: sums.to(torch.float32) for name, sums in self.exact(passages).items()}
            if not all(_finite(sums) for sums in scores.values()):
                raise StageError("a score is not finite: the embeddings hold a vector that is not")
        return scores

    def exact(self, passages: Passages) -> dict[str, torch.Tensor]:
        """The same sums in float64."""
        vectors = passages.on(self.device, self.frequent, torch.float64)
        parts, step = [], -(-len(self) // EIGHTHS)
        for start in range(0, len(self), step):
            columns = {
                name: self._columns(rows[start : start + step], torch.float64)
                for name, rows in self.vectors.items()
            }
            parts.append(self._sums(vectors, columns))
        return {name: torch.cat([part[name] for part in parts], dim=1) for name in self.sums}

    def _sums(self, passages: dict, columns: dict) -> dict[str, torch.Tensor]:
        products = {name: _products(rows, columns[name]) for name, rows in passages.items()}
        return {
            name: reduce(torch.add, [products[term] for term in terms]) for name, terms in self.sums.items()
        }


def _products(passages, columns) -> torch.Tensor:
    """Products (n, t) of rows and columns, dense or sparse."""
    if isinstance(passages, torch.Tensor):
        return passages @ columns
    products = passages[0] @ columns[0]
    array, step = products.numpy(), -(-len(products) // torch.get_num_threads())

    def add(first: int) -> None:
        for start in range(first, min(first + step, len(array)), ROWS):
            some = slice(start, min(start + ROWS, first + step))
            array[some] += (passages[1][some] @ columns[1]).toarray()

    if columns[1].nnz:
        with ThreadPoolExecutor(torch.get_num_threads()) as threads:
            list(threads.map(add, range(0, len(array), step)))
    return products


def _finite(scores: torch.Tensor) -> bool:
    if not scores.numel():
        return True
    least, most = scores.aminmax()
    return bool(least.isfinite() & most.isfinite())
