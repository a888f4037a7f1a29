"""Rewrite the first table of the tutorial: ``python docs/first_table.py``.

Reads results/records only: the numbers of ``repro run costa --table 1 --scale tiny`` and those of five seeds
(``--seeds 1,2,3,4,5``).
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from itertools import combinations, groupby
from pathlib import Path
from statistics import fmean

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from repro.api import select  # noqa: E402
from repro.running.workspace import Workspace  # noqa: E402
from repro.verdicts.compared import ComparedCell  # noqa: E402
from repro.verdicts.comparison import judged_cells  # noqa: E402
from repro.writers.grid import Grid, compared_grid, rounded  # noqa: E402
from repro.writers.markdown import table  # noqa: E402

PAGE = ROOT / "docs/tutorial.md"
BEGIN, END = "<!-- written by docs/first_table.py: begin -->", "<!-- written by docs/first_table.py: end -->"
SEEDS = (1, 2, 3, 4, 5)
Spans = dict[str, tuple[float, float]]  # id of a cell -> lowest and highest of its seeds


def block(results: Path = ROOT / "results") -> str:
    """Return the table and a sentence on its noise. Outdated and missing numbers are printed as "–"."""
    one, five = (_measured(seeds, results) for seeds in ((), SEEDS))
    spans = {c.cell.id: span for c in five if (span := _span(c))}
    grid = compared_grid(one)
    return "\n".join([*_table(grid, spans), *_noise(grid, spans)])


def page(path: Path, new: str) -> str:
    """Return the content of a page with a new block between its markers."""
    head, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    return f"{head}{BEGIN}\n{new}\n{END}{rest.partition(END)[2]}"


def _measured(seeds: tuple[int, ...], results: Path) -> list[ComparedCell]:
    with tempfile.TemporaryDirectory() as store:
        workspace = Workspace.open(store, str(results))
        plan = select("costa/1", scale="tiny", seeds=seeds, workspace=workspace).plan()
        return judged_cells(plan, workspace.results, workspace.store).cells


def _span(c: ComparedCell) -> tuple[float, float] | None:
    values = [record.measured for record in c.records if record.seed is not None and not c.outdated]
    return (min(values), max(values)) if len(values) == len(SEEDS) else None


def _table(grid: Grid[ComparedCell], spans: Spans) -> Iterator[str]:
    labels, rows = {group.id: group.label for group in grid.table.groups}, []
    for group, members in groupby(grid.rows, key=lambda row: row.group):
        rows.append([f"*{labels.get(group or '', 'Rows of reference')}*", *("" for _ in grid.columns)])
        for row in members:
            cells = (grid.cells.get((row.id, column.id)) for column in grid.columns)
            rows.append([row.label, *(_entry(c, spans) for c in cells)])
    yield from table(["", *(column.label for column in grid.columns)], rows)


def _entry(c: ComparedCell | None, spans: Spans) -> str:
    """Return one run and the range of the seeds without brackets, e.g. "0.502, 0.410–0.504"."""
    if c is None or c.measured is None or c.outdated:
        return "–"
    span = spans.get(c.cell.id)
    ends = f", {'–'.join(rounded(end, c.cell) for end in span)}" if span else ""
    return f"{rounded(c.measured, c.cell)}{ends}"


def _noise(grid: Grid[ComparedCell], spans: Spans) -> Iterator[str]:
    """Yield the width of the ranges in the first column and the number of pairs of rows that overlap."""
    column = grid.columns[0]
    cells = {row.id: grid.cells[row.id, column.id] for row in grid.rows if (row.id, column.id) in grid.cells}
    trained = {id: spans[c.cell.id] for id, c in cells.items() if c.cell.id in spans and _is_published(c)}
    if not trained:
        return
    widths = [high - low for low, high in trained.values()]
    pairs = list(combinations(trained.values(), 2))
    alike = sum(low <= other_high and other_low <= high for (low, high), (other_low, other_high) in pairs)
    below = [
        c.cell.row.label
        for id, c in cells.items()
        if id not in trained and c.measured is not None and _highest(c, spans) < min(trained.values())[0]
    ]
    yield (
        f"Each entry is one run, followed by the lowest–highest of five seeds of fine-tuning. "
        f"In {column.label} these ranges are "
        f"{fmean(widths):.3f} wide on average and {max(widths):.3f} at most. "
        f"In {alike} of {len(pairs)} pairs of pre-trained rows they overlap, "
        f"and the order of the two is noise here. "
        f"Rows below all ranges: {', '.join(below) or 'none'}."
    )


def _is_published(c: ComparedCell) -> bool:
    """Return False for rows of reference, which the paper does not have."""
    return c.cell.role != "reference"


def _highest(c: ComparedCell, spans: Spans) -> float:
    return spans[c.cell.id][1] if c.cell.id in spans else c.measured


if __name__ == "__main__":
    PAGE.write_text(page(PAGE, block()), encoding="utf-8")
