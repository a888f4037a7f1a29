"""Multiply passages and queries: blocks on the device, and single pairs in one fixed way."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
import torch

from repro.errors import StageError
from repro.retrieval.nn.batches import in_background
from repro.retrieval.nn.precision import devices
from repro.retrieval.stages.vectors import VectorFile, Views

SCORED, PAIRS = 4096, 64  # pairs per thread, dense pairs at once
# unit roundoff of a product. That in bfloat16 sums three terms per number, perhaps by truncation
ROUNDOFF = {torch.bfloat16: 6 * 2.0**-24, torch.float32: 2.0**-24, torch.float64: 2.0**-53}
SMALLEST = 2.0**-126  # absolute error near zero in float32
SHARE, FREQUENT = 0.1, 1024  # of queries with a frequent word, most such words
ROWS = 512  # passages multiplied through the index at once
EIGHTHS = 8  # parts of a tile multiplied in float64
Rows = Any  # an array (n, H), or scipy's csr_array (n, V)
Matrix = Any  # a tensor, or a pair for ``uses_inverted_index``


@dataclass(frozen=True)
class ViewScorer:
    """Scores pairs of a query and a passage in one fixed way.

    ``rows``, (Q,), number its queries among all queries. ``terms`` are the added views, twice if named twice.
    ``vectors`` are the queries by view.
    """

    passages: Views
    terms: Sequence[str]
    rows: np.ndarray
    vectors: Mapping[str, Rows]

    @classmethod
    def of(cls, passages: Views, queries: Views, terms: Sequence[str], rows: np.ndarray) -> ViewScorer:
        vectors = {view: queries.files[view].at(rows) for view in dict.fromkeys(terms)}
        return cls(passages, terms, rows, vectors)

    def __len__(self) -> int:
        return len(self.rows)

    def named(self, name: str) -> Sequence[str]:
        """Return the views that are summed for a list. The list "" sums all ``terms``."""
        return [name] if name else self.terms

    def scores(self, queries: np.ndarray, rows: np.ndarray, name: str) -> np.ndarray:
        """Score P pairs by a view, or by the sum for "": (P,) float32, rounded once.

        ``queries`` and ``rows``, (P,) int64, number this scorer's queries and all passages, without duplicate
        pairs.
        """
        order, scores = np.argsort(rows), np.empty(len(rows), np.float32)
        terms, file = self.named(name), self.passages.files.get("dense")

        def score(pairs: np.ndarray) -> None:
            if list(terms) == ["dense"] and isinstance(file, VectorFile):
                scores[pairs] = self._dense_scores(file, queries[pairs], rows[pairs])
                return
            sums = {v: self._products(v, queries[pairs], rows[pairs]) for v in dict.fromkeys(terms)}
            scores[pairs] = sum(sums[term] for term in terms)

        count = torch.get_num_threads()
        torch.set_num_threads(1)  # threads of PyTorch use the processor while they wait
        try:
            with ThreadPoolExecutor(count) as threads:
                list(threads.map(score, np.split(order, range(SCORED, len(order), SCORED))))
        finally:
            torch.set_num_threads(count)
        return scores

    def _dense_scores(self, file: VectorFile, queries: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Score pairs sorted by row, (P,) float64, which round to the same float32 as ``_products``."""
        chosen, starts = np.unique(rows, return_index=True)
        bounds, width = np.append(starts, len(rows)), self._doubles.shape[1]
        unwanted = "Sparse CSR tensor support|The given NumPy array is not w"
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=unwanted)
            passages = torch.from_numpy(file.mapped())[torch.from_numpy(chosen)].double()
            wanted = torch.sparse_csr_tensor(
                torch.from_numpy(bounds),
                torch.from_numpy(queries),
                torch.zeros(len(rows), dtype=torch.float64),
                (len(chosen), len(self)),
                check_invariants=False,
            )
        products = torch.sparse.sampled_addmm(wanted, passages, self._doubles.T, beta=0).values().numpy()
        lengths_of = np.repeat(passages.norm(dim=1).numpy(), np.diff(bounds)) * self._lengths[queries]
        unit = width * ROUNDOFF[torch.float64]
        errors = 2.02 * unit / (1 - unit) * lengths_of
        with np.errstate(over="ignore", invalid="ignore"):
            unsure = (products - errors).astype(np.float32) != (products + errors).astype(np.float32)
        if unsure.any():
            places = np.repeat(np.arange(len(chosen)), np.diff(bounds))[unsure]
            products[unsure] = _pairwise_sums(
                passages.numpy(), places, self.vectors["dense"], queries[unsure]
            )
        return products

    @cached_property
    def _doubles(self) -> torch.Tensor:
        return torch.from_numpy(self.vectors["dense"].astype(np.float64))

    @cached_property
    def _lengths(self) -> np.ndarray:
        return lengths(self.vectors["dense"])

    def _products(self, view: str, queries: np.ndarray, rows: np.ndarray) -> np.ndarray:
        vectors, file = self.vectors[view], self.passages.files[view]
        if isinstance(file, VectorFile):
            return _pairwise_sums(file.mapped(), rows, vectors, queries)
        products = file.at(rows).astype(np.float64).multiply(vectors[queries].astype(np.float64)).tocsr()
        pair = np.repeat(np.arange(len(rows)), np.diff(products.indptr))
        return np.bincount(pair, products.data, minlength=len(rows))

    def errors(self, name: str, longest: Mapping[str, float], dtype: torch.dtype | None = None) -> np.ndarray:
        """Bound the distance of a list's products, summed in any order, from ``scores``: (Q,) float64.

        A sum of n products has an error of at most n u / (1 - n u) times the sum of their magnitudes, with u
        = ``ROUNDOFF`` (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., §3.1, Eq. 3.5). That
        sum is at most the product of both vectors' lengths. n counts a query's values, the added views, and
        four for rounding these scores and the lengths, which also get one percent. In bfloat16 the magnitudes
        grow by up to 2 percent, and three omitted terms are 2^-16 of them each.
        """
        terms, dtype = self.named(name), dtype or product_type()
        counts = np.max([_counts(self.vectors[view]) for view in terms], axis=0) + len(terms) + 4
        relative, near_zero = counts * ROUNDOFF[dtype] / (1 - counts * ROUNDOFF[dtype]), counts * len(terms)
        magnitudes = sum(lengths(self.vectors[view]) * longest[view] for view in terms)
        if dtype == torch.bfloat16:
            relative = 1.02 * relative + 3.1 * 2.0**-16
            near_zero = near_zero * (3 + sum(lengths(self.vectors[view]) + longest[view] for view in terms))
        return 1.01 * (relative * magnitudes + near_zero * SMALLEST)


def _pairwise_sums(
    passages: np.ndarray, rows: np.ndarray, vectors: np.ndarray, queries: np.ndarray
) -> np.ndarray:
    sums = np.empty(len(rows))
    for start in range(0, len(rows), PAIRS):
        part = slice(start, start + PAIRS)
        pairs = passages[rows[part]].astype(np.float64)
        pairs *= vectors[queries[part]]
        sums[part] = np.add.reduce(pairs, axis=1)
    return sums


def _counts(vectors: Rows) -> np.ndarray:
    return np.full(*vectors.shape) if isinstance(vectors, np.ndarray) else np.diff(vectors.indptr)


def lengths(vectors: Rows) -> np.ndarray:
    """Return the Euclidean lengths of rows, (n,) float64."""
    if isinstance(vectors, np.ndarray):
        return np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return np.sqrt(vectors.astype(np.float64).power(2).sum(axis=1))


@dataclass(frozen=True)
class Passages:
    """Passages ``first`` to ``end``, float32, by view: (n, H), or (n, V) sparse."""

    first: int
    end: int
    vectors: Mapping[str, Rows]

    @classmethod
    def read_ahead(
        cls, views: Views, names: Sequence[str], ranges: Sequence[tuple[int, int]]
    ) -> Iterator[Passages]:
        """Yield each range, while the next one is being read."""
        files = {name: views.files[name] for name in names}
        blocks = (
            cls(first, end, {name: file.read(first, end) for name, file in files.items()})
            for first, end in ranges
        )
        with in_background(blocks, ahead=1) as read_blocks:
            yield from read_blocks

    def longest(self, least: Mapping[str, float]) -> dict[str, float]:
        return {name: float(lengths(rows).max(initial=least[name])) for name, rows in self.vectors.items()}

    def on(
        self, device: torch.device, frequent: np.ndarray, dtype: torch.dtype | None = None
    ) -> dict[str, Matrix]:
        """Copy the vectors to a device for ``Tile``: one matrix per view.

        On a CPU a sparse view becomes a pair: the columns of ``frequent`` words, and all rows.
        """
        dtype = dtype or product_type()
        return {name: _to_device(vectors, device, frequent, dtype) for name, vectors in self.vectors.items()}


def uses_inverted_index(device: torch.device) -> bool:
    """Return whether scipy multiplies sparse rows, by an inverted index."""
    return device.type == "cpu"


def product_type() -> torch.dtype:
    """Return bfloat16 if all GPUs multiply it fast, otherwise float32."""
    fast = all(d.type == "cuda" and torch.cuda.get_device_capability(d) >= (8, 0) for d in devices())
    return torch.bfloat16 if fast else torch.float32


def _dense(rows: np.ndarray, device: torch.device, dtype: torch.dtype, parts: Sequence[int]) -> torch.Tensor:
    """Copy rows to a device, (n, H), or in bfloat16 ``parts``, (n, 3 H): 0 rounded, 1 their rests."""
    numbers = torch.from_numpy(rows).to(device)
    if dtype != torch.bfloat16:
        return numbers.to(dtype)
    rounded = numbers.to(dtype)
    halves = rounded, (numbers - rounded).to(dtype)
    return torch.cat([halves[part] for part in parts], dim=1)


def frequent_words(vectors: Mapping[str, Rows], device: torch.device) -> np.ndarray:
    """Return the words of many sparse queries, (F,), which a CPU multiplies densely. Empty on a GPU."""
    if "sparse" not in vectors or not uses_inverted_index(device):
        return np.empty(0, np.int64)
    rows = vectors["sparse"]
    counts = np.bincount(rows.indices, minlength=rows.shape[1])
    most = np.argsort(-counts, kind="stable")[:FREQUENT]
    return np.sort(most[counts[most] > SHARE * rows.shape[0]])


def _to_device(vectors: Rows, device: torch.device, frequent: np.ndarray, dtype: torch.dtype) -> Matrix:
    if isinstance(vectors, np.ndarray):
        return _dense(vectors, device, dtype, (0, 0, 1))
    dtype = torch.promote_types(dtype, torch.float32)
    if uses_inverted_index(device):
        rows = vectors.astype(np.float64) if dtype == torch.float64 else vectors
        return torch.from_numpy(rows[:, frequent].toarray()), rows
    arrays = (vectors.indptr, vectors.indices, vectors.data)
    bounds, indices, values = (torch.from_numpy(array).to(device) for array in arrays)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(
            bounds, indices, values.to(dtype), vectors.shape, check_invariants=False
        )


class Tile:
    """Queries that are multiplied together and stay on the device for all passages.

    ``vectors`` are (t, H), or (t, V) sparse, by view. ``sums`` are the added views by list.
    """

    def __init__(
        self,
        vectors: Mapping[str, Rows],
        sums: Mapping[str, Sequence[str]],
        device: torch.device,
        frequent: np.ndarray,
    ):
        self.device, self.vectors, self.sums, self.frequent = device, vectors, sums, frequent
        self.columns = {name: self._columns(rows, product_type()) for name, rows in vectors.items()}

    def __len__(self) -> int:
        return next(iter(self.vectors.values())).shape[0]

    def _columns(self, rows: Rows, dtype: torch.dtype) -> Matrix:
        if isinstance(rows, np.ndarray):
            return _dense(rows, self.device, dtype, (0, 1, 0)).T.contiguous()
        dtype = torch.promote_types(dtype, torch.float32)
        if uses_inverted_index(self.device):
            rows = rows.astype(str(dtype).removeprefix("torch."))
            columns = torch.from_numpy(np.ascontiguousarray(rows[:, self.frequent].toarray().T))
            rows.data[np.isin(rows.indices, self.frequent)] = 0
            rows.eliminate_zeros()
            return columns, rows.T.tocsr()
        columns = torch.zeros(rows.shape[::-1], dtype=dtype, device=self.device)
        words, numbers = (torch.from_numpy(array).to(self.device) for array in (rows.indices, rows.data))
        queries = torch.from_numpy(np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)))
        columns[words.long(), queries.to(self.device)] = numbers.to(dtype)
        return columns

    def scores(self, passages: Passages, vectors: Mapping[str, Matrix]) -> dict[str, torch.Tensor]:
        """Return the sums by list, (n, t) float32, from float64 if one overflows.

        Raises StageError for a score that is not finite.
        """
        scores = self._sums(vectors, self.columns)
        if not all(map(_is_finite, scores.values())):
            scores = {name: sums.to(torch.float32) for name, sums in self.exact(passages).items()}
            if not all(map(_is_finite, scores.values())):
                raise StageError("a score is not finite: an embedding contains nan or infinity")
        return scores

    def exact(self, passages: Passages) -> dict[str, torch.Tensor]:
        vectors = passages.on(self.device, self.frequent, torch.float64)
        parts, step = [], -(-len(self) // EIGHTHS)
        for start in range(0, len(self), step):
            columns = {
                name: self._columns(rows[start : start + step], torch.float64)
                for name, rows in self.vectors.items()
            }
            parts.append(self._sums(vectors, columns))
        return {name: torch.cat([part[name] for part in parts], dim=1) for name in self.sums}

    def _sums(self, passages: Mapping[str, Matrix], columns: Mapping[str, Matrix]) -> dict[str, torch.Tensor]:
        products = {name: _products(rows, columns[name]) for name, rows in passages.items()}
        added = {name: [products[term] for term in terms] for name, terms in self.sums.items()}
        return {name: reduce(torch.add, parts) for name, parts in added.items()}


def _products(passages: Matrix, columns: Matrix) -> torch.Tensor:
    if isinstance(passages, torch.Tensor):
        multiply = multiply_bfloat16 if passages.dtype == torch.bfloat16 else torch.matmul
        return multiply(passages, columns)
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


def multiply_bfloat16(passages: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    return torch.mm(passages, columns, out_dtype=torch.float32)


def _is_finite(scores: torch.Tensor) -> bool:
    return not scores.numel() or bool(torch.stack(scores.aminmax()).isfinite().all())
