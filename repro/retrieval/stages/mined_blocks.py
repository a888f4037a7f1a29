"""Makes a training set of a run, in blocks of the queries that begin in the same bytes of it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from repro.machine.shard import own_blocks
from repro.retrieval.datasets.arrow import in_batches
from repro.retrieval.datasets.row_blocks import RowBlocks
from repro.retrieval.evaluation.rankings import parts, rankings, scattered_query_error

Rows = Callable[[Iterator[tuple[str, list[str], list[float]]], dict[str, int]], Iterable[dict]]


def fill_blocks(
    blocks: RowBlocks,
    run: Path,
    size: int,
    rows: Rows,
    *,
    counts: Sequence[str],
    advance: Callable[[int], None],
) -> tuple[range, dict[str, int]]:
    """Write the blocks of this process' shard that are not there yet, one of each ``size`` bytes of the run.

    Args:
        rows: makes rows of queries with their documents and scores, and counts them in its second argument.
        counts: the names of what is counted.
        advance: is told the number of queries of each block.

    Returns all blocks, and what was counted in those of this shard. Raises DataError for a malformed run.
    """
    firsts = parts(run, size)
    totals, seen = Counter(dict.fromkeys(counts, 0)), set()
    for first in own_blocks(firsts):
        if (facts := blocks.kept(first)) is None:
            facts = {"of_run": [], **dict.fromkeys(counts, 0)}
            results = _note_queries(rankings(run, first, first + size), facts["of_run"])
            blocks.write(first, in_batches(rows(results, facts), blocks.features), facts)
        queries = facts.pop("of_run")
        if duplicate := next(filter(seen.__contains__, queries), None):
            raise scattered_query_error(run, duplicate)
        seen.update(queries)
        totals.update(facts)
        advance(len(queries))
    return firsts, dict(totals)


def _note_queries(results: Iterator[tuple], queries: list[str]) -> Iterator[tuple]:
    for result in results:
        queries.append(result[0])
        yield result
