"""``repro demo``"""

import sys

import click

from repro import errors, locations
from repro.api import select
from repro.api.measurement import measure
from repro.cli import verdicts
from repro.cli.printing import put, say, table
from repro.cli.verbs import doctor, report
from repro.progress import TerminalProgress
from repro.retrieval.datasets import fetching, sources
from repro.running.workspace import Workspace
from repro.verdicts import comparison, summary
from repro.writers.grid import label_in_full, shown_measurement

REAL, COLLECTION = "beir/scifact/test", "beir/scifact"  # BM25 over it is published


@click.command(
    "demo",
    epilog="""\b
Examples:
  repro demo
  repro demo --yes --open  fetch SciFact without a question and show the report""",
)
@click.option("--yes", is_flag=True, help="Fetch SciFact (2.8 MB) without a question.")
@click.option("-o", "--output", metavar="FILE", default="report.html", show_default=True, help="Report file.")
@click.option("--open", "opened", is_flag=True, help="Show the report in the browser.")
@click.pass_context
def command(ctx, yes, output, opened):
    """Measure BM25 on toy data and on SciFact, and write a report.

    Nothing is downloaded without consent. Exit status 4 means that SciFact could not be fetched.
    """
    report.target(output)
    tiny, scifact = _cells()
    names = [tiny.paper.name]
    print("1. The embedded collection\n")
    status = _measure_tiny(tiny, Workspace.open())
    print("\n2. The paper's own data\n")
    try:
        if _fetch_scifact(yes):
            status = max(status, _measure_scifact(scifact, Workspace.open()))
            names.append(scifact.paper.name)
    except errors.BlockedError as error:
        print(f"left out: {error}", file=sys.stderr)
        status = max(status, error.exit_status)
    print("\n3. The tables of the paper on one page\n")
    ctx.invoke(report.page, names=names, output=output, opened=opened)
    name, number = tiny.paper.name, tiny.table.id
    print("\nNext:")
    for purpose, words in (
        ("train and compare every row of a table", f"run {name} --table {number} --scale tiny"),
        ("explain one number", f"show {tiny.id}"),
        ("compare your own encoder", f"compare DIR {name} --table {number} --scale tiny"),
    ):
        print(f"  {purpose}\n    repro {words}")
    return status


def _cells():
    cells = doctor.bm25_cells()
    return cells[0], next(c for c in cells if c.column.dataset == REAL)


def _measure_tiny(cell, workspace) -> int:
    name = f"{cell.paper.name}/{cell.table.id}"
    bm25 = measure(select(cell.id, scale="tiny", workspace=workspace), progress=TerminalProgress())
    plan = select(name, scale="tiny", workspace=workspace).plan()
    found = comparison.judged_cells(plan, workspace.results, workspace.store).cells
    rows = [c for c in found if c.cell.column.id == cell.column.id and c.measured is not None]
    lines = [[label_in_full(cell.table, c.cell.row), shown_measurement(c) or ""] for c in rows]
    table(f"{name} at scale tiny", ["system", cell.column.measure], lines, right=(1,))
    if doubts := summary.doubts_in_brief(rows):
        put(f"{doubts}.")
    print(f"{cell.row.label} was measured now. Other rows, if any, are on record and were trained earlier.")
    print("These numbers are for toy data and are not comparable with the paper.")
    return _status(bm25)


def _fetch_scifact(yes: bool) -> bool:
    pieces = ("documents", "queries", "qrels")
    if not any(
        isinstance(sources.locate(REAL, piece, locations.Locations.resolve().data), sources.MissingPiece)
        for piece in pieces
    ):
        return True
    offer = fetching.offer(COLLECTION)
    print(f"{offer.description}; into {locations.data_folder()}")
    if not yes and not (sys.stdin.isatty() and click.confirm("Fetch it?", err=True)):
        print(f"SciFact was left out. `repro demo --yes` or `repro data fetch {COLLECTION}` fetches it.")
        return False
    offer.load(locations.data_folder(), TerminalProgress())
    return True


def _measure_scifact(cell, workspace) -> int:
    [c] = cells = measure(select(cell.id, workspace=workspace), progress=TerminalProgress())
    row = [cell.id, cell.column.measure, cell.printed.plain, shown_measurement(c) or "–", c.verdict.name]
    table("published and measured", ["cell", "measure", "published", "measured", "verdict"], [row])
    put(c.verdict.why)
    return _status(cells)


def _status(cells) -> int:
    sentences, status = verdicts.problems(cells)
    for sentence in sentences:
        say(sentence)
    return status
