"""``repro import``: somebody else's run."""

from pathlib import Path

import click

from repro.cli import completion
from repro.cli.groups import views
from repro.cli.options import format_option
from repro.errors import UsageError

command = views(
    "import",
    {
        "run": "score somebody else's run file for cells, or the public runs",
    },
    title="things to import",
    help="""Score somebody else's run for cells.""",
    epilog="""\b
Examples:
  repro import run run.trec.gz PAPER/1/ROW/dl19.ndcg10 --source PAGE""",
)


@command.command(
    "run",
    epilog="""\b
Examples:
  repro import run run.trec.gz PAPER/1/ROW/dl19.ndcg10 --source "the authors' page"
  repro import run --public DIR           every public run in DIR, for every cell it is the row of""",
)
@click.argument("file", required=False)
@click.argument("cells", metavar="[CELL]...", nargs=-1, shell_complete=completion.cells)
@click.option("--source", metavar="TEXT", help="Where the file is from; kept with the record.")
@click.option("--toolkit", metavar="TEXT", help="The software that made it; kept with the record.")
@click.option(
    "--reading",
    "readings",
    multiple=True,
    metavar="ID=CHOICE",
    help="What it takes for an unspecified choice.",
)
@click.option("--public", metavar="DIR", help="Instead of FILE: the known public runs that lie in DIR.")
@format_option("json", "markdown")
def run(file, cells, source, toolkit, readings, public, form):
    """Score somebody else's run and record it for published cells, beside the suite's own.

    FILE is a TREC run or MS MARCO's qid-pid-rank, plain or gzipped, with or without an ir_metadata header, or
    JSON or Parquet as ranx writes them. It is read strictly against the topics of the cells, and what it says
    against itself is told; ties are broken by the suite's rule; a cell that looks deeper than the run goes is
    refused. The judgements are looked for in REPRO_DATA. The run is judged by
    itself, as no measurement of the suite's, and not compared where it follows another choice than the row.
    """
    from repro.cli.options import reading_choices
    from repro.cli.printing import say
    from repro.cli.verdicts import show_recurrences
    from repro.exchange.run_import import Importer, Origin, import_public
    from repro.manifest.cells import select
    from repro.progress import TerminalProgress
    from repro.running.records import Recurrence
    from repro.running.workspace import Workspace
    from repro.store import make_writable

    _check_choice(file, cells, public, source, toolkit, *readings)
    target_cells = [] if public else select((), tables=(), rows=(), cells=cells)
    importer = Importer(Workspace.open(), TerminalProgress())
    make_writable(importer.store.root)
    importer.results.make_writable()
    if public:
        imports, notices = import_public(importer, Path(public))
        for notice in notices:
            say(notice)
    else:
        origin = Origin(source, toolkit, readings=reading_choices(readings))
        imports = importer.add(Path(file), target_cells, origin=origin)
    _print_imports(imports, form)
    contradictions = [item.added for item in imports if item.added and item.added.contradicted]
    show_recurrences([Recurrence(a.record, a.contradicted) for a in contradictions])


def _check_choice(file: str | None, cells, public: str | None, *origin) -> None:
    is_whole = (not file and not cells and not any(origin)) if public else (file and cells)
    if not is_whole:
        raise UsageError(
            "`repro import run` takes a FILE with the cells that it measures, or --public DIR alone"
        )
    if file and not Path(file).is_file():
        raise UsageError(f"{file}: no such file; give a run, plain or gzipped")


HEAD = ["cell", "run", "published", "scored here", "difference", "verdict"]


def _rows(imports: list) -> list[tuple[str, ...]]:
    """Return the values below ``HEAD``, in the order of the cells."""
    from repro.writers.grid import rounded

    rows: list[tuple[str, ...]] = []
    for item in sorted(imports, key=lambda i: i.cell.id):
        cell, verdict, file = item.cell, item.verdict, item.record.origin["file"]
        difference = "–" if verdict.difference is None else f"{verdict.difference:+.4g}"
        measured = rounded(item.record.measured, cell)
        rows.append((cell.id, file, cell.printed.plain, measured, difference, verdict.name))
    return rows


def _print_imports(imports: list, form: str) -> None:
    from repro.cli.printing import emit_json, show, table

    if form == "json":
        return emit_json([item.as_json() for item in imports])
    if form == "markdown":
        return print(_page(imports), end="")
    table(f"{len(imports)} cells by imported runs", HEAD, _rows(imports), right=(2, 3, 4))
    for line in dict.fromkeys(line for item in imports for line in item.described):
        show(line)
    print(f"{sum(item.new for item in imports)} new records, {len(imports)} in all.")


def _page(imports: list) -> str:
    """Return the table, and a line on each file, as Markdown."""
    from repro.writers.markdown import escaped, table

    lines = table(HEAD, [[cell, *map(escaped, others)] for cell, *others in _rows(imports)])
    files = [
        f"* {escaped(line)}" for line in dict.fromkeys(line for item in imports for line in item.described)
    ]
    footer = "Generated by `repro import run`."
    return "\n".join(["# Cells by imported runs", "", *lines, *files, "", footer, ""])
