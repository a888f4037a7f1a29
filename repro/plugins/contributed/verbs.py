"""``repro export records`` and ``repro import records``."""

from dataclasses import replace
from itertools import chain
from pathlib import Path

import click

from repro.cli.options import selection_options
from repro.cli.printing import say, table
from repro.errors import UsageError, shortened
from repro.plugins.contributed.records import FOLDER, doubts_about, read
from repro.running.workspace import Workspace
from repro.store import translated_errors
from repro.store.disk import write_whole
from repro.store.results import FOLDER as RESULTS
from repro.store.results import Results, line_of


@click.command(
    "records", epilog="\b\nExamples:\n  repro export records PAPER --table 1 --by 'Jane Doe' -o jane.jsonl"
)
@selection_options
@click.option("--by", "person", required=True, metavar="NAME", help="Your name, which others will see.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE")
def export(selection, person, output):
    """Write your own records of the selected cells, as input of `repro import records`."""
    if not person.strip() or person != shortened(person):
        raise UsageError("--by needs a name of one line, at most 80 characters")
    cells, results = {c.id for c in selection.cells}, Results(selection.workspace.locations.results)
    newest = {
        (r.cell, r.seed, *sorted(r.readings.items())): replace(r, origin={"by": person.strip()})
        for paper in sorted({c.paper.name for c in selection.cells})
        for r in results.read(selection.scale, paper)
        if r.cell in cells and not r.origin and (not selection.seeds or r.seed in selection.seeds)
    }
    if not newest:
        raise UsageError("the results folder has no own record of these cells at this scale")
    output.write_bytes(b"".join(map(line_of, newest.values())))
    say(f"{len(newest)} records in {output}")


@click.command(
    "records", epilog="\b\nExamples:\n  repro import records jane.jsonl\n  repro import records FOLDER"
)
@click.argument("source", metavar="FILE|FOLDER", type=click.Path(path_type=Path, exists=True))
def import_(source):
    """Check records of others and copy their files to results/contributed.

    The cells show them as run by others, with all doubts. No verdict uses them.
    """
    files = sorted(source.glob("*.jsonl")) if source.is_dir() else [source]
    if not files:
        raise UsageError(f"{source} contains no file *.jsonl")
    workspace, contents = Workspace.open(), {path: read(path) for path in files}
    folder = workspace.locations.results / FOLDER
    with translated_errors(workspace.locations.results, *RESULTS):
        for path in files:
            target = (folder / path.name).with_suffix(".jsonl")
            if target.exists() and target.read_bytes() != path.read_bytes():
                raise UsageError(f"{target} has other content. Rename {path.name}.")
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(target, path.read_text(encoding="utf-8"))
    rows = [
        [r.cell, r.scale, f"{r.measured:.6g}", r.origin["by"], r.recorded[:10], ", ".join(kinds) or "none"]
        for r in chain.from_iterable(contents.values())
        for kinds in [[doubt.kind for doubt in doubts_about(r, workspace)]]
    ]
    table("run by others", ["cell", "scale", "value", "by", "date", "doubts"], rows, right=(2,))
    say(f"{len(rows)} records are in {folder}")
