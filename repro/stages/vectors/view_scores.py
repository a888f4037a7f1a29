"""The scores that a search over views writes, and the passages that belong to a list by them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from repro.stages.vectors.view_files import Views

SCORED = 256  # passages of a query at a time


@dataclass(frozen=True)
class ViewScorer:
    """Scores pairs in one fixed way, whatever device, threads or blocks found them.

    A passage is named by its place among all ids in ascending order.

    Attributes:
        largest: the greatest magnitude in each view of the passages.
        ascending: (N,), the passage in each place.
    """

    passages: Views
    queries: Views
    terms: Sequence[str]
    largest: dict[str, float]
    ascending: np.ndarray

    def scores(self, query: int, places: np.ndarray, name: str) -> np.ndarray:
        """Scores of one query and K passages by a view, or by the sum for "": (K,) float32, rounded once."""
        terms, scored = [name] if name else self.terms, [np.empty(0)]
        for first in range(0, len(places), SCORED):
            rows = self.ascending[places[first : first + SCORED]]
            views = {v: self.passages.products(v, rows, self.queries, query) for v in dict.fromkeys(terms)}
            scored.append(sum(views[term] for term in terms))
        return np.concatenate(scored).astype(np.float32)

    def error(self, query: int, name: str) -> float:
        """How far two sums in float64 of the same score may lie from each other.

        Each is wrong by at most n u / (1 - n u) times the sum of n products' magnitudes, u being 2^-53, and
        that sum is no more than the query's magnitudes times the greatest of the passages.
        """
        terms, error = [name] if name else self.terms, 0.0
        for view in terms:
            operations = (self.passages.widths[view] + len(terms)) * 2.0**-53
            magnitudes = np.abs(self.queries.values(view, query, query + 1), dtype=np.float64).sum()
            error += 2 * operations / (1 - operations) * magnitudes * self.largest[view]
        return error

    def listed(self, query: int, keys: np.ndarray, name: str, depth: int) -> tuple[np.ndarray, np.ndarray]:
        """Places and scores of the ``depth`` best passages, in no order, out of the keys of candidates (K,).

        What was left out has no greater key than the last candidate; where that much, and the error above it,
        may reach the place ``depth``, all passages are scored.
        """
        from repro.nn.ranking_keys import scores_and_places

        found, places = scores_and_places(keys)
        scores = self.scores(query, places, name)
        if len(places) < len(self.ascending):
            most = float(np.nextafter(found[-1], np.float32(np.inf))) + self.error(query, name)
            if np.partition(scores, -depth)[-depth] <= np.float32(most):
                places = np.arange(len(self.ascending))
                scores = self.scores(query, places, name)
        kept = np.lexsort((places, scores))[-depth:]
        return places[kept], scores[kept]
