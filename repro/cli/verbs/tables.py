"""``repro tables``"""

from pathlib import Path

import click

from repro.cli.options import selecting_everything, stated_options
from repro.errors import UsageError


@click.command(
    "tables",
    epilog="""\b
Examples:
  repro tables PAPER --table 1 --scale tiny
  repro tables PAPER --table 2 --others
  repro tables PAPER --table 2 --format latex    to paste it somewhere
  repro tables --out DIR --document report.tex""",
)
@selecting_everything
@click.option("--out", metavar="DIR", help="Where to write them instead of RESULTS/tables/SCALE.")
@click.option("--document", metavar="FILE", help="Also write a whole LaTeX document around the tables.")
@click.option("--two-column", is_flag=True, help="For a paper of two columns: wide tables span both.")
@click.option("--others", is_flag=True, help="With what others state, between published and ours.")
@click.option(
    "--format", "form", type=click.Choice(("latex", "markdown", "csv", "json")), help="Print, write no file."
)
def command(selection, out, document, two_column, others, form):
    """Write LaTeX of the selected tables, published and ours, below RESULTS/tables/SCALE.

    A file is a table environment that needs booktabs and graphicx (a study's also amssymb); its label is
    tab:PAPER-TABLE, with the scale behind it where that is not full. What others state (`repro show
    others`) has columns of its own only where they are asked for. The scores of a study's queries are kept
    in RESULTS/scores/SCALE, from which its tables are made where the store lacks them.
    """
    from repro.store import translated_errors
    from repro.verdicts.comparison import judged_cells
    from repro.writers.table_files import table_texts, write_tables

    for option in stated_options("out", "document") if form else ():
        raise UsageError(f"--format prints the tables; leave {option} out")
    plan, store, results = selection.plan(), selection.workspace.store, selection.workspace.results
    comparison = judged_cells(plan, results, store, stated=others or form not in (None, "latex"))
    options = {"seeds": selection.seeds, "two_column": two_column, "others": others, "results": results}
    if form:
        from repro.cli.verdicts import show

        return show(comparison, plan, store, form, **options)
    if comparison.faults:
        _say(*comparison.faults)
    folder = Path(out) if out else results.root / "tables" / selection.scale
    named = (results.root, "results folder", "--results or REPRO_RESULTS")
    with translated_errors(*((folder, "folder", "--out") if out else named)):
        files = list(table_texts(comparison, plan, store, **options))
        for path in write_tables(files, folder):
            print(path)
    if not out:
        _write_scores(comparison, plan, store, results)
    if not files:
        _say("nothing to write: no table is among what is selected; `repro report figures` draws figures")
    if document:
        _write_document(files, Path(document), scale=selection.scale, two_column=two_column)


def _say(*sentences: str) -> None:
    from repro.cli.printing import say_each

    say_each(sentences)


def _write_scores(comparison, plan, store, results) -> None:
    """Write the scores behind tables of special kinds."""
    from repro.writers.table_files import writer_of

    for (paper, table), cells in comparison.by_table().items():
        writer = writer_of(cells[0].cell.table)
        if writer and (path := writer.keep(plan, store, results, paper=paper, table=table)):
            print(path)


def _write_document(files, path: Path, **options) -> None:
    from repro.writers.table_files import tables_document

    path.write_text(tables_document(files, **options), encoding="utf-8")
    print(path)
    _say(f"`pdflatex {path}`, three times for its contents, makes a PDF of it")
