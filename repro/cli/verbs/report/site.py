"""``repro report site``"""

import click

from repro.cli import completion
from repro.cli.options import scale_option
from repro.errors import UsageError


@click.command(
    "site",
    epilog="""\b
Examples:
  repro report site -o docs/tables
  repro report site PAPER --scale smoke -o DIR""",
)
@click.argument("names", metavar="[PAPER]...", nargs=-1, shell_complete=completion.paper_names)
@click.option("-o", "--out", metavar="DIR", required=True, help="Where to write them.")
@scale_option(default="tiny", help="The scale whose measurements stand beside those of full scale.")
def command(names, out, scale_name):
    """Write a page of Markdown for every table: row, the command that measures it, published, measured.

    They are for a documentation site; index.md leads to them. Nothing is measured: they are written from the
    manifests and the records in the results folder.
    """
    from pathlib import Path

    from repro.manifest.cells import select
    from repro.running.plan import plan
    from repro.running.scale import scale
    from repro.running.workspace import Workspace
    from repro.store import translated_errors
    from repro.verdicts.comparison import judged_cells
    from repro.writers.table_pages import table_pages

    if scale_name == "full":
        raise UsageError("--scale names what stands beside full scale; leave it out, or name a smaller one")
    workspace = Workspace.open()
    cells = select(names, tables=(), rows=(), cells=())
    full, rehearsal = (
        judged_cells(
            plan(cells, scale=scale(name), machine=workspace.machine), workspace.results, workspace.store
        )
        for name in ("full", scale_name)
    )
    folder = Path(out)
    with translated_errors(folder, "folder", "--out"):
        folder.mkdir(parents=True, exist_ok=True)
        pages = table_pages(full, rehearsal)
        for name, text in pages.items():
            (folder / name).write_text(text, encoding="utf-8")
    print(f"{len(pages)} pages in {folder}")
