"""``repro report``, e.g. ``repro report figures PAPER``."""

import sys
import webbrowser
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import click

from repro.cli import groups, options, printing
from repro.errors import UsageError
from repro.locations import CHECKOUT
from repro.machine.versions import commit
from repro.manifest.cells import select
from repro.running.plan import plan
from repro.running.scale import known_scales, scale
from repro.running.workspace import Workspace
from repro.store import translated_errors
from repro.store.results import FOLDER
from repro.verdicts.comparison import judged_cells

command = groups.views(
    "report",
    {"figures": "drawings of measured figures", "site": "a Markdown page per table for a documentation site"},
    default="page",
    epilog="""\b
Examples:
  repro report --open                      report.html in the browser
  repro report PAPER --scale tiny -o FILE  one paper, one scale
  repro report --format markdown           a summary, failures first
  repro report figures PAPER --scale tiny  its figures
  repro report site -o docs/tables         a page for every table""",
)


@command.command("page")
@options.PAPERS
@options.scale_option(
    "scale_names", multiple=True, metavar="NAME", help="Show this scale, e.g. tiny (repeatable)."
)
@click.option("-o", "--output", metavar="FILE", help="File to write, by default report.html for HTML.")
@click.option("--open", "opened", is_flag=True, help="Show the page in the browser.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("html", "markdown")),
    default="html",
    show_default=True,
    help="Output format: HTML report or Markdown summary.",
)
@click.option("--readme", metavar="FILE", help="Rewrite the table of verdicts in this file.")
def page(names, scale_names, output, opened, form, readme):
    """Write one HTML file with every table, published and measured.

    Without --scale it shows full, and each other scale that you measured gets a linked file, e.g.
    report-tiny.html. --scale also shows the suite's own results. Drawings come from `repro report figures`.
    Significance tests need the store with the runs.
    """
    markdown = form == "markdown"
    if readme and any((markdown, output, opened, scale_names)):
        raise UsageError("--readme cannot be combined with other options")
    if markdown and any((opened, scale_names[1:])):
        raise UsageError("--format markdown cannot be combined with --open or a second --scale")
    workspace, cells = Workspace.open(), select(names)
    if readme:
        return _update_readme(target(readme, is_there=True), workspace, cells)
    if markdown:
        path = target(output) if output else None
        text = _summary(workspace, cells, *scale_names)
        return _write(text, path) if path else print(text, end="")
    path = target(output or "report.html")
    for name, text in _pages(workspace, cells, scale_names, path).items():
        _write(text, path.with_name(name))
    if opened and not webbrowser.open(path.resolve().as_uri()):
        print(f"no browser could be started. Open {path} yourself.", file=sys.stderr)


def target(file: str, *, is_there: bool = False) -> Path:
    """Return the path of a file to write.

    Raises UsageError for a folder, for a missing parent or, if ``is_there``, for a missing file.
    """
    path = Path(file)
    if path.is_dir():
        raise UsageError(f"{path} is a folder. Name a file for the report.")
    needed = path if is_there else path.parent
    if not needed.exists():
        raise UsageError(f"{needed}: No such file or directory. Make it or name another.")
    return path


def _write(text: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")
    print(path)


def _plan(workspace, cells, name: str):
    return plan(cells, scale=scale(name), machine=workspace.machine)


def _update_readme(readme: Path, workspace, cells) -> None:
    from repro.writers.markdown import update_verdicts

    is_changed = update_verdicts(readme, _plan(workspace, cells, "full"), workspace)
    print(f"{readme} {'was brought up to date' if is_changed else 'is up to date'}")


def _summary(workspace, cells, name: str = "full") -> str:
    from repro.verdicts.coverage import coverage
    from repro.writers.markdown import summary

    plan, papers = _plan(workspace, cells, name), dict.fromkeys(c.paper for c in cells)
    covered = [item for source in papers for item in coverage(source, workspace.results)]
    comparison = judged_cells(plan, workspace.results, workspace.store)
    printing.say_each(comparison.faults)
    return summary(comparison, covered, scale=name)


def _pages(workspace, cells, scale_names: Sequence[str], path: Path) -> dict[str, str]:
    from repro.writers.html.page import page
    from repro.writers.html.sections import gather

    results = workspace.results
    shown = {name: _cells_to_show(results, cells, name) for name in scale_names or _scales(workspace, cells)}
    plans = [_plan(workspace, chosen or cells, name) for name, chosen in shown.items()]
    reports = gather(plans, results, workspace.store, selected=cells, home=path.name, made=_date_and_commit())
    printing.say_each(f for r in reports for part in r.parts for f in part.view.comparison.faults)
    files = {report.scale: f"{path.stem}-{report.scale}{path.suffix}" for report in reports}
    files[reports[0].scale] = path.name
    return {files[report.scale]: page(report, files) for report in reports}


def _scales(workspace, cells) -> list[str]:
    results = workspace.results
    names = [name for name in known_scales() if name in {"full", *results.scales("records")}]
    recorded = [name for name in names if _cells_to_show(results, cells, name)]
    own = [name for name in recorded if name == "full" or _is_measured(workspace, cells, name)]
    return own or recorded[:1] or ["full"]


def _is_measured(workspace, cells, scale: str) -> bool:
    results, papers = workspace.results, {c.paper.name for c in cells}
    if any(results.path(scale, paper).is_file() for paper in papers):
        return True
    # equal results are not recorded again
    evaluated = {path.name for path in workspace.store.root.glob("evaluate/*")}
    return bool(evaluated) and any(r.fingerprint in evaluated for p in papers for r in results.read(scale, p))


def _cells_to_show(results, cells, scale: str) -> list:
    papers = {c.paper.name: c.paper for c in cells}
    to_compare = {name for name, p in papers.items() if scale == "full" and not p.manifest.is_study}
    chosen = to_compare | {name for name in papers if results.read(scale, name)}
    return [c for c in cells if c.paper.name in chosen]


def _date_and_commit() -> tuple[str, ...]:
    version = commit(CHECKOUT)
    return (date.today().isoformat(), *([f"commit {version[:12]}{version[40:]}"] if version else []))


@command.command(
    "figures",
    epilog="""\b
Examples:
  repro report figures PAPER --table figure-4 --scale tiny""",
)
@options.selecting_everything
def figures(selection):
    """Draw the selected measured figures into RESULTS/figures/SCALE, with their numbers as CSV.

    `repro run PAPER --table figure-N` measures them.
    """
    from repro.verdicts.training_costs import training_hours
    from repro.writers.drawing import draw_curves, draw_exhibits

    plan, store, results = selection.plan(), selection.workspace.store, selection.workspace.results
    cells = judged_cells(plan, results, store).cells
    folder = results.root / "figures" / selection.scale
    with translated_errors(results.root, *FOLDER):
        folder.mkdir(parents=True, exist_ok=True)
        curves = draw_curves(cells, folder, hours=training_hours(plan, store))
        paths = [*curves, *draw_exhibits(plan, store, folder)]
    for path in paths:
        print(path)
    if not paths:
        printing.say("nothing to draw: the selection has no measured figure. `repro run` measures it.")


@command.command(
    "site",
    epilog="""\b
Examples:
  repro report site -o docs/tables
  repro report site PAPER --scale smoke -o DIR""",
)
@options.PAPERS
@click.option("-o", "--out", metavar="DIR", required=True, help="Folder of the pages.")
@options.scale_option(default="tiny", help="Second scale of measurements, next to full.")
def site(names, out, scale_name):
    """Write a Markdown page per table with its rows, commands, published and measured numbers.

    index.md links the pages.
    """
    from repro.writers.table_pages import table_pages

    if scale_name == "full":
        raise UsageError("--scale full is always included. Name a smaller scale or remove --scale.")
    workspace, cells = Workspace.open(), select(names)
    plans = [_plan(workspace, cells, name) for name in ("full", scale_name)]
    full, rehearsal = (judged_cells(plan, workspace.results, workspace.store) for plan in plans)
    folder = Path(out)
    with translated_errors(folder, "folder", "--out"):
        folder.mkdir(parents=True, exist_ok=True)
        pages = table_pages(full, rehearsal)
        for name, text in pages.items():
            (folder / name).write_text(text, encoding="utf-8")
    print(f"{len(pages)} pages in {folder}")
