"""The scores that a search over views writes: made in one fixed way, whatever device or blocks found them."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from repro.retrieval.stages.vectors.view_files import Views

SCORED = 512  # pairs at a time
SINGLE, DOUBLE = 2.0**-24, 2.0**-53  # the relative error of one operation in float32 and in float64
SMALLEST = 2.0**-126  # what an operation in float32 may lose near zero


@dataclass(frozen=True)
class ViewScorer:
    """Some queries, whose pairs with any passages are scored in one fixed way.

    Attributes:
        terms: the views that are added; one named twice counts twice.
        rows: (Q,) int64, of the queries among all.
    """

    passages: Views
    queries: Views
    terms: Sequence[str]
    rows: np.ndarray
    vectors: dict = field(init=False)

    def __post_init__(self):
        views = {view: self.queries.picked(view, self.rows) for view in dict.fromkeys(self.terms)}
        object.__setattr__(self, "vectors", views)

    def __len__(self) -> int:
        return len(self.rows)

    def named(self, name: str) -> Sequence[str]:
        """The views whose sum a list is ordered by: all terms for "", else the view of that name."""
        return [name] if name else self.terms

    def scores(self, queries: np.ndarray, rows: np.ndarray, name: str) -> np.ndarray:
        """Scores of P pairs by a view, or by the sum for "": (P,) float32, rounded once.

        Passages are read in the order in which they lie on disk, 512 by each of torch's threads.

        Args:
            queries, rows: (P,) int64, of these queries and of all passages.
        """
        from torch import get_num_threads

        order, scores = np.argsort(rows, kind="stable"), np.empty(len(rows), np.float32)
        terms = self.named(name)

        def score(start: int) -> None:
            pairs = order[start : start + SCORED]
            sums = {v: self._products(v, queries[pairs], rows[pairs]) for v in dict.fromkeys(terms)}
            scores[pairs] = sum(sums[term] for term in terms)

        with ThreadPoolExecutor(get_num_threads()) as threads:
            list(threads.map(score, range(0, len(rows), SCORED)))
        return scores

    def _products(self, view: str, queries: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Inner products of pairs, (P,) float64.

        Two float32 numbers have an exact product in float64. Dense products are summed in pairs of pairs, in
        an order that depends on their number alone; sparse ones in the order of their indices.
        """
        passages, query_vectors = self.passages.picked(view, rows), self.vectors[view][queries]
        if view == "dense":
            products = passages.astype(np.float64)
            products *= query_vectors
            return np.add.reduce(products, axis=1)
        products = passages.astype(np.float64).multiply(query_vectors.astype(np.float64)).tocsr()
        pair = np.repeat(np.arange(len(rows)), np.diff(products.indptr))
        return np.bincount(pair, products.data, minlength=len(rows))

    def errors(self, name: str, longest: dict[str, float], rounding: float) -> np.ndarray:
        """How far sums of a list's products, in any order, may lie from the scores made here, (Q,) float64.

        A sum of n products, in whatever order and with fused operations or without, is wrong by at most
        n u / (1 - n u) times the sum of their magnitudes, u being ``rounding`` (Higham, Accuracy and
        Stability of Numerical Algorithms, 2nd ed., §3.1, Eq. 3.5), and that sum is no more than the product
        of both vectors' lengths (Cauchy and Schwarz). Products with 0 are exact, so that n is the number of
        a sparse query's values; each view that is added is one operation more, four more and a hundredth are
        for the rounding of the score made here and of the lengths. It holds for float32, not for TF32.

        Args:
            longest: the greatest length of a passage's vector, by view.
            rounding: the relative error of one operation.
        """
        terms = self.named(name)
        counts = np.max([self._counts(view) for view in terms], axis=0) + len(terms) + 4
        relative = counts * rounding / (1 - counts * rounding)
        lengths = sum(self._lengths(view) * longest[view] for view in terms)
        return 1.01 * (relative * lengths + counts * len(terms) * SMALLEST)

    def _counts(self, view: str) -> np.ndarray:
        vectors = self.vectors[view]
        return np.full(len(self), vectors.shape[1]) if view == "dense" else np.diff(vectors.indptr)

    def _lengths(self, view: str) -> np.ndarray:
        return lengths(self.vectors[view])


def lengths(vectors) -> np.ndarray:
    """Euclidean lengths of dense or sparse rows, (n,) float64."""
    if isinstance(vectors, np.ndarray):
        return np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return np.sqrt(vectors.astype(np.float64).power(2).sum(axis=1))
