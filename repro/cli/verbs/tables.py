"""``repro tables``, e.g. ``repro tables PAPER --table 1 --scale tiny``."""

from pathlib import Path

import click

from repro.cli.options import selecting_everything, stated_options
from repro.cli.printing import say, say_each
from repro.errors import UsageError
from repro.store import translated_errors
from repro.store.results import FOLDER


@click.command(
    "tables",
    epilog="""\b
Examples:
  repro tables PAPER --table 1 --scale tiny
  repro tables PAPER --table 2 --others
  repro tables PAPER --table 2 --format latex  print one table
  repro tables --out DIR --document report.tex""",
)
@selecting_everything
@click.option("--out", metavar="DIR", help="Folder to write, by default RESULTS/tables/SCALE.")
@click.option("--document", metavar="FILE", help="Write a LaTeX document with all tables too.")
@click.option("--two-column", is_flag=True, help="Let wide tables span both columns of a paper.")
@click.option("--others", is_flag=True, help="Add columns of values reported elsewhere.")
@click.option(
    "--format", "form", type=click.Choice(("latex", "markdown", "csv", "json")), help="Print the tables."
)
def command(selection, out, document, two_column, others, form):
    """Write LaTeX of the selected tables, published and measured, to RESULTS/tables/SCALE.

    The tables need booktabs and graphicx (a study's also amssymb). Each label is tab:PAPER-TABLE, or
    tab:PAPER-TABLE-SCALE unless the scale is full. The scores per query of a study are written to
    RESULTS/scores/SCALE.
    """
    from repro.verdicts.comparison import judged_cells
    from repro.writers.table_files import table_texts, tables_document, write_tables

    for option in stated_options("out", "document") if form else ():
        raise UsageError(f"--format cannot be combined with {option}")
    plan, store, results = selection.plan(), selection.workspace.store, selection.workspace.results
    comparison = judged_cells(plan, results, store, stated=others or form not in (None, "latex"))
    options = {"seeds": selection.seeds, "two_column": two_column, "others": others, "results": results}
    if form:
        from repro.cli.verdicts import show

        return show(comparison, plan, store, form, **options)
    say_each(comparison.faults)
    folder, place = results.root / "tables" / selection.scale, (results.root, *FOLDER)
    if out:
        folder, place = Path(out), (Path(out), "folder", "--out")
    with translated_errors(*place):
        files = list(table_texts(comparison, plan, store, **options))
        print(*write_tables(files, folder), sep="\n", end="\n" if files else "")
    if not out:
        _write_scores(comparison, plan, store, results)
    if not files:
        say("nothing to write: the selection has no table. `repro report figures` draws figures.")
    if document:
        text = tables_document(files, scale=selection.scale, two_column=two_column)
        Path(document).write_text(text, encoding="utf-8")
        print(document)
        say(f"`pdflatex {document}`, run three times, makes a PDF")


def _write_scores(comparison, plan, store, results) -> None:
    from repro.writers.table_files import writer_of

    for (paper, table), cells in comparison.by_table().items():
        writer = writer_of(cells[0].cell.table)
        if writer and (path := writer.keep(plan, store, results, paper=paper, table=table)):
            print(path)
