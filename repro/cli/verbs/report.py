"""``repro report``"""

import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path

import click

from repro.cli import completion
from repro.cli.options import scale_option
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
@click.argument("names", metavar="[PAPER]...", nargs=-1, shell_complete=completion.paper_names)
@scale_option("scale_names", multiple=True, metavar="NAME", help="Of these scales only.")
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
    from repro.manifest.cells import select
    from repro.running.workspace import Workspace

    if readme and any((markdown, output, opened, scale_names)):
        raise UsageError("--readme says what full scale gave and rewrites its own file; give it alone")
    if markdown and any((opened, scale_names[1:])):
        raise UsageError("--markdown is a text of one scale; give it without --open and a second --scale")
    path = (
        _checked(readme or output or "report.html", is_there=bool(readme)) if output or not markdown else None
    )
    workspace = Workspace.open(store, results)
    selected = select(names, tables=(), rows=(), cells=())
    if readme:
        return _renew(path, workspace, selected)
    if markdown:
        return _tell(_summary(workspace, selected, *(scale_names or ("full",))), path)
    _write(_page(workspace, selected, scale_names), path)
    if opened:
        _open(path)


def _checked(file: str, *, is_there: bool) -> Path:
    """The path of what is to be written, looked at before the work that fills it.

    Raises UsageError for a folder, for a new file in no folder, and for an old one that is not there.
    """
    path = Path(file)
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file to write the report to")
    needed = path if is_there else path.parent
    if not needed.exists():
        raise UsageError(f"{needed}: No such file or directory; make it, or name another")
    return path


def _open(path: Path) -> None:
    if not webbrowser.open(path.resolve().as_uri()):
        print(f"no browser could be started; open {path} in one", file=sys.stderr)


def _tell(text: str, path: Path | None) -> None:
    if path:
        _write(text, path)
    else:
        print(text, end="")


def _write(text: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")
    print(path)


def _planned(workspace, selected, name: str):
    from repro.running.plan import plan
    from repro.running.scale import scale

    return plan(selected, scale=scale(name), machine=workspace.machine)


def _renew(readme: Path, workspace, selected) -> None:
    from repro.report.markdown import update_verdicts

    changed = update_verdicts(readme, _planned(workspace, selected, "full"), workspace)
    print(f"{readme} {'was brought up to date' if changed else 'is up to date'}")


def _summary(workspace, selected, name: str) -> str:
    from repro.judging.comparison import judged_cells
    from repro.report.markdown import summary

    planned = _planned(workspace, selected, name)
    return summary(judged_cells(planned, workspace.results, workspace.store), scale=name)


def _page(workspace, selected, scale_names: Sequence[str]) -> str:
    from repro.report.html import page
    from repro.report.html.sections import gather

    names = scale_names or ("full", *_others(workspace.results, selected))
    plans = [_planned(workspace, selected, name) for name in dict.fromkeys(names)]
    return page(gather(plans, workspace.results, workspace.store, made=_origin()))


def _others(results, selected) -> list[str]:
    """The scales below full at which a selected paper has a record."""
    from repro.running.scale import known_scales

    papers = {cell.paper.name for cell in selected}
    recorded = [name for name in known_scales() if name in results.scales("records") - {"full"}]
    return [name for name in recorded if any(results.read(name, p) for p in papers)]


def _origin() -> tuple[str, ...]:
    from datetime import date

    from repro.locations import CHECKOUT
    from repro.machine.versions import commit

    known = commit(CHECKOUT)
    return (date.today().isoformat(), *([f"commit {known[:12]}{known[40:]}"] if known else []))
