"""``repro import``, e.g. ``repro import run run.trec.gz PAPER/1/ROW/COLUMN``."""

from pathlib import Path

import click

from repro.cli import completion
from repro.cli.groups import views
from repro.cli.options import format_option, reading_choices, repeatable_option
from repro.cli.printing import emit_json, say, table
from repro.errors import UsageError
from repro.machine.bounded_reading import as_file
from repro.manifest.cells import select
from repro.progress import TerminalProgress
from repro.running.workspace import Workspace
from repro.store import make_writable

command = views(
    "import",
    {
        "run": "score a run file, or the known public runs, for published cells",
    },
    help="""Score a run by others for published cells.""",
    epilog="""\b
Examples:
  repro import run run.trec.gz PAPER/1/ROW/dl19.ndcg10 --source PAGE""",
)


@command.command(
    "run",
    epilog="""\b
Examples:
  repro import run run.trec.gz PAPER/1/ROW/dl19.ndcg10 --source "the authors' page"
  repro import run --public DIR           every known public run in DIR""",
)
@click.argument("file", required=False)
@click.argument("cells", metavar="[CELL]...", nargs=-1, shell_complete=completion.cells)
@click.option("--source", metavar="TEXT", help="Origin of the file (required), kept with the record.")
@click.option("--toolkit", metavar="TEXT", help="Software that made the run, kept with the record.")
@repeatable_option(
    "reading",
    "ID=CHOICE",
    "Value of an unspecified choice in the run, e.g. bm25-parameters=anserini-tuned (repeatable).",
)
@click.option("--public", metavar="DIR", help="Score the known public runs in DIR instead of FILE.")
@format_option("json", "markdown")
def run(file, cells, source, toolkit, readings, public, form):
    """Score a run by others and record it for published cells.

    FILE is a TREC run or MS MARCO's qid-pid-rank (plain or gzipped, with or without ir_metadata), or JSON or
    Parquet by ranx. Contradictions in it are printed. A cutoff beyond the depth of the run is refused. A run
    with another choice than the row gets no verdict.
    """
    from repro.cli.verdicts import show_recurrences
    from repro.exchange.run_import import Importer, Origin, import_public
    from repro.running.records import Recurrence

    file = file and str(as_file(file))  # a pipe is read once
    _check_choice(file, cells, public, source, toolkit, *readings)
    target_cells = [] if public else select(cells=cells)
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
    added = [item.added for item in imports if item.added]
    show_recurrences([Recurrence(a.record, a.contradicted) for a in added if a.contradicted])


def _check_choice(file: str | None, cells, public: str | None, source, *origin) -> None:
    if any((file, cells, source, *origin)) if public else not (file and cells):
        raise UsageError("`repro import run` needs a FILE with its cells, or --public DIR alone")
    if file and not Path(file).is_file():
        raise UsageError(f"{file}: no such file")
    if file and not source:
        raise UsageError("the record needs the origin of the run. Add it, e.g. --source 'the authors page'.")


HEAD = ["cell", "run", "published", "scored here", "difference", "verdict"]


def _rows(imports: list) -> list[tuple[str, ...]]:
    from repro.writers.grid import rounded

    rows: list[tuple[str, ...]] = []
    for item in sorted(imports, key=lambda i: i.cell.id):
        cell, verdict, record = item.cell, item.verdict, item.record
        difference = "–" if verdict.difference is None else f"{verdict.difference:+.4g}"
        values = (cell.printed.plain, rounded(record.measured, cell), difference, verdict.name)
        rows.append((cell.id, record.origin["file"], *values))
    return rows


def _print_imports(imports: list, form: str) -> None:
    from repro.cli.printing import show

    if form == "json":
        return emit_json([item.as_json() for item in imports])
    if form == "markdown":
        return print(_page(imports), end="")
    table(f"{len(imports)} cells by imported runs", HEAD, _rows(imports), right=(2, 3, 4))
    for line in _file_lines(imports):
        show(line)
    print(f"{sum(item.new for item in imports)} new records, {len(imports)} in all.")


def _file_lines(imports: list) -> dict[str, None]:
    return dict.fromkeys(line for item in imports for line in item.described)


def _page(imports: list) -> str:
    from repro.writers.markdown import escaped, table

    lines = table(HEAD, [[cell, *map(escaped, others)] for cell, *others in _rows(imports)])
    lines += [f"* {escaped(line)}" for line in _file_lines(imports)]
    return "\n".join(["# Cells by imported runs", "", *lines, "", "Generated by `repro import run`.", ""])
