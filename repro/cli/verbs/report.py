"""``repro report``"""

import sys
import webbrowser

import click

from repro.cli.options import _papers, _scales
from repro.errors import UsageError


@click.command(
    "report",
    epilog="""\b
Examples:
  repro report --open                          every scale that has a number, as report.html in the browser
  repro report PAPER --scale tiny -o FILE      one paper, one scale
  repro report --markdown                      a summary, what fails first
  repro report --readme docs/papers/index.md   bring the table between its markers up to date""",
)
@click.argument("names", metavar="[PAPER]...", nargs=-1, shell_complete=_papers)
@click.option(
    "--scale",
    "scale_names",
    multiple=True,
    metavar="NAME",
    help="Of these scales only.",
    shell_complete=_scales,
)
@click.option(
    "-o", "--output", metavar="FILE", help="Where to write; report.html, Markdown to standard output."
)
@click.option("--open", "opened", is_flag=True, help="Show the page in the browser.")
@click.option("--markdown", is_flag=True, help="A summary in Markdown instead of the page.")
@click.option("--readme", metavar="FILE", help="Rewrite the table of verdicts in this file.")
@click.option("--store", metavar="DIR", help="Where artefacts lie (REPRO_STORE); it may be empty.")
@click.option("--results", metavar="DIR", help="Where records lie (REPRO_RESULTS).")
def command(names, scale_names, output, opened, markdown, readme, store, results):
    """Write one HTML file with every table, published and measured, which needs no network to be read.

    It holds full scale and every other that has a number. Nothing is measured. Drawings are those that `repro
    figures` left in the results folder; tests between rows and drawings by query need the store of the runs.
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

    if readme and (markdown or output or opened or scale_names):
        raise UsageError("--readme says what full scale gave and rewrites its own file; give it alone")
    if markdown and (opened or len(scale_names) > 1):
        raise UsageError("--markdown is a text of one scale; give it without --open and a second --scale")
    workspace = Workspace.open(store, results)
    selected = select(names, tables=(), rows=(), cells=())
    if readme or markdown:
        scale_names = scale_names or ("full",)
    else:
        scale_names = scale_names or ("full", *_others(workspace.results, selected))
    plans = [
        plan(selected, scale=scale(name), machine=workspace.machine) for name in dict.fromkeys(scale_names)
    ]
    if readme:
        changed = update_verdicts(Path(readme), plans[0], workspace)
        return print(f"{readme} {'was brought up to date' if changed else 'is up to date'}")
    if markdown:
        text = summary(judged_cells(plans[0], workspace.results, workspace.store), scale=scale_names[0])
    else:
        text = page(gather(plans, workspace.results, workspace.store, made=_made()))
    if markdown and not output:
        return print(text, end="")
    path = Path(output or "report.html")
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file to write the report to")
    path.write_text(text, encoding="utf-8")
    print(path)
    if opened and not webbrowser.open(path.resolve().as_uri()):
        print(f"no browser could be started; open {path} in one", file=sys.stderr)


def _others(results, selected) -> list[str]:
    """The scales below full at which a selected paper has a record."""
    from repro.running.scale import scales

    papers = {cell.paper.name for cell in selected}
    recorded = results.scales("records") - {"full"}
    return [name for name in scales() if name in recorded and any(results.read(name, p) for p in papers)]


def _made() -> tuple[str, ...]:
    from datetime import date

    from repro.locations import CHECKOUT
    from repro.machine.versions import commit

    known = commit(CHECKOUT)
    return (date.today().isoformat(), *([f"commit {known[:12]}{known[40:]}"] if known else []))
