"""Search vectors exactly: find candidates by rough products, rescore them in one fixed way, write a run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from repro.errors import DataError, StageError
from repro.machine.shard import shard, share
from repro.progress import Progress
from repro.retrieval.evaluation.run_writer import write_run
from repro.retrieval.nn.precision import devices, true_float32
from repro.retrieval.stages.vectors import Advance, Pairs, RunBlocks, Views, in_shares
from repro.retrieval.stages.vectors.products import (
    Passages,
    Tile,
    ViewScorer,
    frequent_words,
    product_type,
    uses_inverted_index,
)
from repro.retrieval.stages.vectors.search_memory import MemoryNeeds, Sizes, search_memory

BLOCK = 32_768  # queries searched together
SPARE = {torch.float32: 100, torch.bfloat16: 1000}  # candidates beyond a list's depth
SLAB = 1 << 18  # pairs compared at a time
GPU_DEPTH = 2048  # of faiss on a GPU


def search(
    inputs: Mapping[str, Path],
    out: Path,
    progress: Progress,
    *,
    terms: Sequence[str],
    depth: int,
    list_depth: int | None,
    tag: str,
) -> dict[str, int]:
    """Write the run of all queries, as described in the stage ``search_views``.

    Returns the counts of ``write_run`` and ``resumed_at``, the first query of a resumed attempt. A shard
    returns no facts.
    """
    passages, queries = Views.read(inputs["passages"]), Views.read(inputs["queries"])
    _check(terms, passages, queries)
    lists = {"": depth} if list_depth is None else dict.fromkeys(terms, list_depth)
    order = passages.ids.ascending()
    places = np.empty_like(order)
    places[order] = np.arange(len(places))
    processors, count = devices(), len(passages)
    needs = MemoryNeeds.of(
        passages,
        queries,
        terms,
        candidates=sum(min(most + SPARE[product_type()], count) for most in lists.values()),
        ranked=min(len(queries), BLOCK) * min(depth, count) * (1 if "" in lists else len(lists)),
        inverted=uses_inverted_index(processors[0]),
    )
    memory = search_memory() // len(processors)
    if processors[0].type == "cuda":  # PyTorch may hold back a tenth
        memory = min(memory, *(int(0.9 * torch.cuda.mem_get_info(gpu)[0]) for gpu in processors))
    views = ViewSearch(passages, queries, terms, lists, depth, places, needs.sizes(memory), processors)
    blocks = RunBlocks(out, len(queries), BLOCK)
    with true_float32(), progress.task("searching", total=share(len(queries), BLOCK)) as advance:
        resumed_at = blocks.fill(lambda first, end: views.block(first, end, advance), advance)
    if not shard().whole:
        return {}
    facts = write_run(out, blocks.ranked(queries.ids, passages.ids), tag=tag)
    return facts | ({"resumed_at": resumed_at} if resumed_at else {})


def _check(terms: Sequence[str], passages: Views, queries: Views) -> None:
    for view in terms:
        for side, views in (("passages", passages), ("queries", queries)):
            if view not in views.files:
                raise DataError(f"the {side} have no {view} vectors")
        widths = passages.files[view].width, queries.files[view].width
        if widths[0] != widths[1]:
            raise DataError(f"{view} vectors of passages have {widths[0]} dimensions, of queries {widths[1]}")


@dataclass
class ViewSearch:
    """A search of all passages by the sum of the views ``terms``.

    Attributes:
        lists: list name (a view, or "" for the sum) -> passages to find.
        places: (N,), each passage's place among the ascending ids.
        longest: greatest passage length by view, filled by the first pass.
    """

    passages: Views
    queries: Views
    terms: Sequence[str]
    lists: dict[str, int]
    depth: int
    places: np.ndarray
    sizes: Sizes
    devices: Sequence[torch.device]
    longest: dict[str, float] = field(default_factory=dict)

    def block(self, first: int, end: int, advance: Advance) -> Pairs:
        """Return the best passages of queries ``first`` to ``end``, counted from 0."""
        parts = []
        for start in range(first, end, self.sizes.group):
            rows = np.arange(start, min(start + self.sizes.group, end))
            pairs = self._group(ViewScorer.of(self.passages, self.queries, self.terms, rows), advance)
            parts.append(Pairs(pairs.queries + (start - first), pairs.rows, pairs.scores))
        return Pairs.joined(parts)

    def _group(self, scorer: ViewScorer, advance: Advance) -> Pairs:
        best = self._candidates(scorer, advance)
        results = [self._best_pairs(scorer, name, *best[name]) for name in self.lists]
        if "" in self.lists:
            return results[0]
        union = Pairs.joined(results)
        queries, rows = np.divmod(
            np.unique(union.queries * len(self.passages) + union.rows), len(self.passages)
        )
        return Pairs(queries, rows, scorer.scores(queries, rows, "")).cut(self.depth, self.places)

    def _tiles(
        self, scorer: ViewScorer, names: Sequence[str], frequent: np.ndarray, device: torch.device
    ) -> Iterator[tuple[slice, Tile]]:
        sums = {name: scorer.named(name) for name in names}
        views = dict.fromkeys(term for terms in sums.values() for term in terms)
        for start in range(0, len(scorer), self.sizes.tile):
            part = slice(start, min(start + self.sizes.tile, len(scorer)))
            vectors = {view: scorer.vectors[view][part] for view in views}
            yield part, Tile(vectors, sums, device, frequent)

    def _candidates(self, scorer: ViewScorer, advance: Advance) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        count, report = len(self.devices), in_shares(advance, len(scorer), len(self.passages))
        search = functools.partial(self._candidates_on, scorer, report)
        with ThreadPoolExecutor(count) as threads:
            each = map if count == 1 else threads.map
            found = list(each(search, self.devices, [self.sizes.ranges[n::count] for n in range(count)]))
        best = found[0][0]
        for other, _ in found[1:]:
            for name, scores in other.items():
                best[name].join(scores)
        self.longest = {view: max(longest[view] for _, longest in found) for view in self.terms}
        return {name: (found.scores.cpu().numpy(), found.rows.cpu().numpy()) for name, found in best.items()}

    def _candidates_on(
        self,
        scorer: ViewScorer,
        report: Callable[[int], None],
        device: torch.device,
        ranges: Sequence[tuple[int, int]],
    ) -> tuple[dict[str, BestScores], dict[str, float]]:
        best = {
            name: BestScores(len(scorer), min(depth + SPARE[product_type()], len(self.passages)), device)
            for name, depth in self.lists.items()
        }
        frequent = frequent_words(scorer.vectors, device)
        tiles = list(self._tiles(scorer, list(best), frequent, device))
        nearest, longest = _faiss(device, self.terms, best), dict.fromkeys(self.terms, 0.0)
        for block in Passages.read_ahead(self.passages, self.terms, ranges):
            longest = self.longest or block.longest(longest)
            vectors = block.on(device, frequent)
            for part, tile in tiles:
                if nearest and best[""].take(part, *nearest(tile, block), block.first):
                    continue
                for name, scores in tile.scores(block, vectors).items():
                    best[name].add(part, scores, block.first)
            report(block.end - block.first)
        return best, longest

    def _best_pairs(self, scorer: ViewScorer, name: str, products: np.ndarray, rows: np.ndarray) -> Pairs:
        """Return a list's best pairs among its candidates.

        Candidates more than twice the error bound below rank ``depth`` are not rescored. If the last one may
        reach that rank, or products exceed the bound (e.g. in TF32), all passages are examined.
        """
        depth, count = self.lists[name], products.shape[1]
        near, errors = np.ones(products.shape, bool), scorer.errors(name, self.longest)
        if count > depth:
            near = products >= (products[:, depth - 1] - 2 * errors)[:, None]
        queries = near.nonzero()[0]
        pairs = Pairs(queries, rows[near], scorer.scores(queries, rows[near], name))
        rough = bool((np.abs(products[near] - pairs.scores) > errors[queries]).any())
        if rough or count < len(self.passages):
            edges = pairs.edges(depth, len(scorer))
            with np.errstate(over="ignore"):
                unsure = rough | (edges <= (products[:, -1] + errors).astype(np.float32))
            if unsure.any():
                wider = self._among_all(scorer, name, np.flatnonzero(unsure), edges)
                pairs = Pairs.joined((pairs.of(~unsure[queries]), wider))
        pairs = pairs.cut(depth, self.places)
        if (np.bincount(pairs.queries, minlength=len(scorer)) < min(depth, len(self.passages))).any():
            fault = f"a query has fewer than {min(depth, len(self.passages))} passages"
            raise StageError(f"{fault}: products of this device are too inexact")
        return pairs

    def _among_all(self, scorer: ViewScorer, name: str, unsure: np.ndarray, edges: np.ndarray) -> Pairs:
        """Search again in float64 for ``unsure`` queries, and scores from ``edges``, (Q,), upwards."""
        subset = ViewScorer.of(self.passages, self.queries, self.terms, scorer.rows[unsure])
        edges = edges[unsure]
        errors = subset.errors(name, self.longest, torch.float64)
        frequent = frequent_words(subset.vectors, self.devices[0])
        tiles = list(self._tiles(subset, [name], frequent, self.devices[0]))
        parts = [Pairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))]
        for block in Passages.read_ahead(self.passages, scorer.named(name), self.sizes.ranges):
            for part, tile in tiles:
                for queries, rows in _near(tile.exact(block)[name], edges[part], errors[part]):
                    queries, rows = queries + part.start, rows + block.first
                    scores = subset.scores(queries, rows, name)
                    parts.append(Pairs(queries, rows, scores).of(scores >= edges[queries]))
                    if sum(len(pairs.rows) for pairs in parts) > 4 * self.lists[name] * len(subset) + SLAB:
                        parts = [Pairs.joined(parts).cut(self.lists[name], self.places)]
                        edges = np.maximum(edges, parts[0].edges(self.lists[name], len(subset)))
        pairs = Pairs.joined(parts)
        return Pairs(unsure[pairs.queries], pairs.rows, pairs.scores)


def _faiss(
    device: torch.device, terms: Sequence[str], best: Mapping[str, BestScores]
) -> Callable[[Tile, Passages], tuple[np.ndarray, np.ndarray]] | None:
    if list(best) != [""] or list(terms) != ["dense"]:
        return None
    import faiss

    depth, knn = best[""].depth, cast(Any, faiss.knn)
    if device.type != "cpu":
        if not hasattr(faiss, "StandardGpuResources") or depth > GPU_DEPTH:
            return None
        knn = functools.partial(faiss.knn_gpu, faiss.StandardGpuResources(), device=device.index or 0)

    def nearest(tile: Tile, block: Passages) -> tuple[np.ndarray, np.ndarray]:
        queries, passages = tile.vectors["dense"], block.vectors["dense"]
        return knn(queries, passages, min(depth, len(passages)), metric=faiss.METRIC_INNER_PRODUCT)

    return nearest


def _near(
    scores: torch.Tensor, edges: np.ndarray, errors: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (queries, rows) of pairs that may reach their query's edge when rounded to float32.

    ``scores``, (n, t) float64, of n rows and t queries, are wrong by up to ``errors``, (t,).
    """
    bounds = np.nextafter(edges, np.float32(-np.inf)).astype(np.float64) - errors
    near = scores >= torch.from_numpy(np.nextafter(bounds, -np.inf)).to(scores.device)
    step = max(1, SLAB // near.shape[1])
    for start in range(0, len(near), step):
        rows, queries = near[start : start + step].nonzero(as_tuple=True)
        if len(rows):
            yield queries.cpu().numpy(), rows.cpu().numpy() + start


class BestScores:
    """The greatest scores of each query so far, (Q, K), and the rows of their passages.

    Methods merge scores of a ``part`` of t queries for passages from row ``first`` on.
    """

    def __init__(self, queries: int, depth: int, device: torch.device):
        self.depth = depth
        self.scores = torch.full((queries, depth), -torch.inf, device=device)
        self.rows = torch.zeros((queries, depth), dtype=torch.int64, device=device)

    def take(self, part: slice, scores: np.ndarray, rows: np.ndarray, first: int) -> bool:
        """Merge a block's highest scores, (t, at most K). Returns False if one is not finite."""
        if (rows < 0).any() or not np.isfinite(scores).all():  # faiss returns -1 for nan
            return False
        found = (torch.from_numpy(array).to(self.scores.device) for array in (scores, rows + first))
        self._merge(part, *found)
        return True

    def join(self, other: BestScores) -> None:
        place = self.scores.device
        self._merge(slice(None), other.scores.to(place), other.rows.to(place))

    def add(self, part: slice, scores: torch.Tensor, first: int) -> None:
        """Merge the scores (n, t) that exceed the query's lowest kept score."""
        near, queries, depth = scores > self.scores[part, -1], scores.shape[1], self.depth  # (n, t)
        total = int(near.count_nonzero())
        if not total:
            return
        most = depth + 1
        if total <= queries * depth:
            rows, columns = near.nonzero(as_tuple=True)
            counts = columns.bincount(minlength=queries)
            most = int(counts.max())
        if most > depth:
            best, places = scores.T.contiguous().topk(depth, dim=1)  # (t, K)
        else:
            order = columns.argsort(stable=True)
            rows, columns = rows[order], columns[order]
            slots = torch.arange(total, device=scores.device) - (counts.cumsum(0) - counts)[columns]
            best = torch.full((queries, most), -torch.inf, device=scores.device)
            places = torch.zeros((queries, most), dtype=torch.int64, device=scores.device)
            best[columns, slots] = scores[rows, columns]
            places[columns, slots] = rows
        self._merge(part, best, places + first)

    def _merge(self, part: slice, scores: torch.Tensor, rows: torch.Tensor) -> None:
        merged = torch.cat((self.scores[part], scores), dim=1).topk(self.depth, dim=1)
        self.scores[part] = merged.values
        self.rows[part] = torch.cat((self.rows[part], rows), dim=1).gather(1, merged.indices)
