"""``repro doctor smoke``"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from repro.cli import completion
from repro.cli.options import table_and_row_options

if TYPE_CHECKING:
    from repro.manifest.cells import Cell
    from repro.running.workspace import Workspace

SCALE = "smoke"


@click.command(
    "smoke",
    epilog="""\b
Examples:
  repro doctor smoke                       one trained row and BM25: that this installation works
  repro doctor smoke PAPER --table 1       every row of a table, as of a paper of yours""",
)
@click.argument("names", metavar="[PAPER]...", nargs=-1, shell_complete=completion.paper_names)
@table_and_row_options
def command(names, tables, rows):
    """Run stages from nothing on the embedded collection, two steps of each training, and keep nothing.

    For continuous integration: exit status 0 says that everything ran, 3 that a stage failed, 4 that
    something is missing. The numbers say nothing. Without a PAPER the cheapest trained row and BM25 are run.
    What is printed is Markdown, for $GITHUB_STEP_SUMMARY.
    """
    return tell(lambda workspace: run_rows(names, tables, rows, workspace))


def tell(run: Callable[[Workspace], tuple[list[str], int]]) -> int:
    """Print what a run in an empty workspace says, and how long it took; return its exit status."""
    import tempfile
    import time

    from repro.running.workspace import Workspace

    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="repro-smoke-") as folder:
        lines, status = run(Workspace.open(f"{folder}/store", f"{folder}/results"))
    lines.append(
        f"{'everything ran' if status == 0 else 'NOT everything ran'} in {time.monotonic() - start:.0f} s"
    )
    print("\n".join(f"- {line}" for line in lines))
    return status


def run_rows(names, tables, rows, workspace: Workspace) -> tuple[list[str], int]:
    """Run rows; return a line each of stages, of what was scored and what was not, and the exit status."""
    from repro.api.measurement import measure
    from repro.api.selection import select
    from repro.cli import verdicts
    from repro.progress import TerminalProgress

    cell_names = names or _cheapest_cells(workspace)
    selection = select(*cell_names, tables=tables, rows=rows, scale=SCALE, workspace=workspace)
    cells = measure(selection, progress=TerminalProgress())
    stages = Counter(node.stage for node in cells.outcome.run) if cells.outcome else Counter()
    row_names = dict.fromkeys(c.cell.id.rpartition("/")[0] for c in cells if c.measured is not None)
    lines = [f"stages: {', '.join(f'{number} {stage}' for stage, number in stages.items())}"]
    lines += [f"scored: {row}" for row in row_names]
    notices = verdicts.notices(cells.comparison, list(cells))
    lines += [notice for notice in notices if notice.startswith(("failed", "blocked"))]
    return lines, verdicts.status(cells.comparison, strict=False, outcome=cells.outcome)


def _cheapest_cells(workspace) -> list[str]:
    """Two cells of the first table with BM25, of one dataset: BM25's and that of the cheapest trained row."""
    from repro.api.selection import select
    from repro.graph import walk

    bm25 = bm25_cell()
    table = select(f"{bm25.paper.name}/{bm25.table.id}", scale=SCALE, workspace=workspace)
    parts: dict[str, list] = {}
    for m in table.plan().measurements:
        if m.cell.column.dataset == bm25.column.dataset and m.cell.role != "reference":
            parts.setdefault(m.cell.id, []).extend(m.parts)
    stages = {cell: [node.stage for node in walk(nodes)] for cell, nodes in parts.items()}
    training_cells = [cell for cell in stages if "finetune" in stages[cell]]
    return [bm25.id, min(training_cells, key=lambda cell: len(stages[cell]))]


def bm25_cell() -> Cell:
    """Return the first cell of BM25 that a recipe measures."""
    from repro.api.papers import papers

    cells = (cell for paper in papers().values() for cell in paper.cells)
    return next(cell for cell in cells if cell.row.system == "bm25" and cell.recipe)
