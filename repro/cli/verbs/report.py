"""``repro report``"""

import click

from repro.cli.options import _papers, _scales
from repro.errors import UsageError


@click.command(
    "report",
    epilog="""\b
Examples:
  repro report                                 everything judged at full scale, as report.html
  repro report PAPER --scale tiny -o FILE      one paper, one scale
  repro report --markdown                      a summary, what fails first
  repro report --readme docs/papers/index.md   bring the table between its markers up to date""",
)
@click.argument("names", metavar="[PAPER]...", nargs=-1, shell_complete=_papers)
@click.option("--scale", "scale_name", default="full", show_default=True, shell_complete=_scales)
@click.option(
    "-o", "--output", metavar="FILE", help="Where to write; report.html, Markdown to standard output."
)
@click.option("--markdown", is_flag=True, help="A summary in Markdown instead of the page.")
@click.option("--readme", metavar="FILE", help="Rewrite the table of verdicts in this file.")
@click.option("--store", metavar="DIR", help="Where artefacts lie (REPRO_STORE); it may be empty.")
@click.option("--results", metavar="DIR", help="Where records lie (REPRO_RESULTS).")
def command(names, scale_name, output, markdown, readme, store, results):
    """Write one HTML file with every table, published and measured, which needs no network to be read.

    Nothing is measured. Drawings are those that `repro figures` left in the results folder; tests between
    rows and drawings by query need the store of the runs.
    """
    from pathlib import Path

    from repro.judging.comparison import judged_cells
    from repro.manifest.cells import select
    from repro.report.html import page
    from repro.report.html.sections import gather
    from repro.report.markdown import summary, update_verdicts
    from repro.running.plan import plan
    from repro.running.scale import scale
    from repro.running.workspace import Workspace

    if readme and (markdown or output or scale_name != "full"):
        raise UsageError("--readme says what full scale gave and rewrites its own file; give it alone")
    workspace = Workspace.open(store, results)
    selected = select(names, tables=(), rows=(), cells=())
    planned = plan(selected, scale=scale(scale_name), machine=workspace.machine)
    if readme:
        changed = update_verdicts(Path(readme), planned, workspace)
        return print(f"{readme} {'was brought up to date' if changed else 'is up to date'}")
    if markdown:
        text = summary(judged_cells(planned, workspace.results, workspace.store), scale=scale_name)
    else:
        text = page(gather(planned, workspace.results, workspace.store))
    if markdown and not output:
        return print(text, end="")
    path = Path(output or "report.html")
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file to write the report to")
    path.write_text(text, encoding="utf-8")
    print(path)
