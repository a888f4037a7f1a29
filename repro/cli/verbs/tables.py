"""``repro tables``"""

import click

from repro.cli.options import selecting


@click.command(
    "tables",
    epilog="""\b
Examples:
  repro tables PAPER --table 1 --scale tiny
  repro tables --all --out DIR --document report.tex""",
)
@selecting
@click.option("--out", metavar="DIR", help="Where to write them instead of RESULTS/tables/SCALE.")
@click.option("--document", metavar="FILE", help="Also write a whole LaTeX document around the tables.")
def command(selection, out, document):
    """Write LaTeX of the selected tables, published and ours, below RESULTS/tables/SCALE.

    A file is a table environment that needs booktabs, siunitx and graphicx (a study's booktabs and amssymb).
    """
    from pathlib import Path

    from repro.judging.comparison import judged_cells
    from repro.report import latex
    from repro.report.table_files import table_texts, write_tables
    from repro.store import translated

    plan, workspace = selection.plan(), selection.workspace
    comparison = judged_cells(plan, workspace.results, workspace.store)
    results = workspace.results.root
    folder = Path(out) if out else results / "tables" / selection.scale
    with translated(*((folder, "folder", "--out") if out else (results, "results folder", "--results"))):
        texts = table_texts(comparison, plan, workspace.store, seeds=selection.seeds)
        files = write_tables(texts, folder)
    for path in files:
        print(path)
    if document:
        tables = [text for path, text in files.items() if path.suffix == ".tex"]
        Path(document).write_text(latex.document(tables), encoding="utf-8")
        print(document)
