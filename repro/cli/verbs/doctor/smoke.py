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
  repro doctor smoke --model DIR           an encoder of yours, through encoding, search and scoring""",
)
@click.argument("names", metavar="[PAPER]...", nargs=-1, shell_complete=completion.paper_names)
@table_and_row_options
@click.option(
    "--model", metavar="DIR", help="An encoder to score, in place of rows; of one PAPER and --table, or none."
)
@click.option("--summary", metavar="FILE", help="Append the outcome in Markdown: $GITHUB_STEP_SUMMARY.")
def command(names, tables, rows, model, summary):
    """Run stages from nothing on the embedded collection, two steps of each training, and keep nothing.

    For continuous integration: exit status 0 says that everything ran, 3 that a stage failed, 4 that
    something is missing. The numbers say nothing. Without a PAPER the cheapest trained row and BM25 are run.
    """
    import tempfile
    import time
    from pathlib import Path

    from repro.running.workspace import Workspace

    if model and (rows or (len(names), len(tables)) not in ((0, 0), (1, 1))):
        raise UsageError(
            "--model is scored in the columns of one PAPER's --table, or of none named; no --row"
        )
    if summary:
        Path(summary).open("a").close()  # minutes before there is something to write
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="repro-smoke-") as folder:
        workspace = Workspace.open(f"{folder}/store", f"{folder}/results")
        if model:
            lines, status = _score_encoder(model, names, tables, workspace), 0
        else:
            lines, status = _run_rows(names, tables, rows, workspace)
    lines.append(
        f"{'everything ran' if status == 0 else 'NOT everything ran'} in {time.monotonic() - start:.0f} s"
    )
    print("\n".join(lines))
    if summary:
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write("".join(f"- {line}\n" for line in lines))
    return status


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
    from repro.api.scores import evaluate
    from repro.progress import TerminalProgress

    table = f"{names[0]}/{tables[0]}" if names and tables else _bm25_cell().id.rsplit("/", 2)[0]
    scores = evaluate(model, table=table, scale=SCALE, workspace=workspace, progress=TerminalProgress())
    return [f"scored: {table}/{s.id}, {s.measure} {s.score:.{s.best.printed.decimals}f}" for s in scores]
