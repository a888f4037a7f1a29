"""``repro doctor smoke``"""

from collections import Counter

import click

from repro.cli import completion
from repro.cli.options import table_and_row_options
from repro.errors import UsageError

SCALE = "smoke"


@click.command(
    "smoke",
    epilog="""\b
Examples:
  repro doctor smoke                       one trained row and BM25: that this installation works
  repro doctor smoke PAPER --table 1       every row of a table, as of a paper of yours
  repro doctor smoke DIR                   an encoder of yours, through encoding, search and scoring""",
)
@click.argument("names", metavar="[PAPER|ENCODER]...", nargs=-1, shell_complete=completion.paper_names)
@table_and_row_options
def command(names, tables, rows):
    """Run stages from nothing on the embedded collection, two steps of each training, and keep nothing.

    For continuous integration: exit status 0 says that everything ran, 3 that a stage failed, 4 that
    something is missing. The numbers say nothing. Without a PAPER the cheapest trained row and BM25 are run.
    What is printed is Markdown, for $GITHUB_STEP_SUMMARY.
    """
    import tempfile
    import time

    from repro.running.workspace import Workspace

    encoder, others = _parted(names, tables, rows)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="repro-smoke-") as folder:
        workspace = Workspace.open(f"{folder}/store", f"{folder}/results")
        if encoder:
            lines, status = _score_encoder(encoder, others, tables, workspace), 0
        else:
            lines, status = _run_rows(names, tables, rows, workspace)
    lines.append(
        f"{'everything ran' if status == 0 else 'NOT everything ran'} in {time.monotonic() - start:.0f} s"
    )
    print("\n".join(f"- {line}" for line in lines))
    return status


def _parted(names, tables, rows) -> tuple[str, list[str]]:
    """Return the encoder among names, or nothing, and the others. Raises UsageError where both do not go."""
    from repro.manifest.papers import papers
    from repro.plugins.yours.sources import is_encoder

    encoders = [name for name in names if name.partition("/")[0] not in papers() and is_encoder(name)]
    others = [name for name in names if name not in encoders]
    if encoders and (rows or encoders[1:] or (len(others), len(tables)) not in ((0, 0), (1, 1))):
        message = "one encoder is scored, in the columns of one PAPER's --table or of none named; no --row"
        raise UsageError(message)
    return "".join(encoders), others


def _run_rows(names, tables, rows, workspace) -> tuple[list[str], int]:
    """Run rows; a line each of stages, of what was scored and of what was not; and the exit status."""
    from repro.api.measurement import measure
    from repro.api.selection import select
    from repro.cli import verdicts
    from repro.progress import TerminalProgress

    cell_names = names or _cheapest_cells(workspace)
    selection = select(*cell_names, tables=tables, rows=rows, scale=SCALE, workspace=workspace)
    cells = measure(selection, progress=TerminalProgress())
    stages = Counter(node.stage for node in cells.outcome.run)
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

    bm25 = _bm25_cell()
    table = select(f"{bm25.paper.name}/{bm25.table.id}", scale=SCALE, workspace=workspace)
    parts: dict[str, list] = {}
    for m in table.plan().measurements:
        if m.cell.column.dataset == bm25.column.dataset and m.cell.role != "reference":
            parts.setdefault(m.cell.id, []).extend(m.parts)
    stages = {cell: [node.stage for node in walk(nodes)] for cell, nodes in parts.items()}
    training_cells = [cell for cell in stages if "finetune" in stages[cell]]
    return [bm25.id, min(training_cells, key=lambda cell: len(stages[cell]))]


def _bm25_cell():
    from repro.api.papers import papers

    cells = (cell for paper in papers().values() for cell in paper.cells)
    return next(cell for cell in cells if cell.row.system == "bm25" and cell.recipe)


def _score_encoder(model, names, tables, workspace) -> list[str]:
    """Score an encoder in the columns of a table, the first one without a name."""
    from repro.api.comparisons import compare
    from repro.progress import TerminalProgress
    from repro.writers.grid import rounded

    table = f"{names[0]}/{tables[0]}" if names and tables else _bm25_cell().id.rsplit("/", 2)[0]
    compared = compare(table, yours=model, scale=SCALE, workspace=workspace, progress=TerminalProgress())
    cells = [c for own in compared.yours for row in own.rows for c in row.cells]
    return [f"scored: {c.cell.id}, {c.records[0].measure} {rounded(c.measured, c.cell)}" for c in cells]
