"""``repro data list | check | fetch``"""

import sys

import click

from repro.errors import UsageError
from repro.locations import Locations, data_folder


@click.group(
    "data",
    epilog="""\b
Examples:
  repro data list
  REPRO_DATA=/data repro data check
  repro data fetch beir/scifact""",
)
def command():
    """Show what data there is, check it, and fetch what libraries can give.

    Data lies in the folder that REPRO_DATA names, else in the user's data folder.
    """


@command.command("list", epilog="\b\nExamples:\n  repro data list\n  repro data list --json")
@click.option("--json", "as_json", is_flag=True, help="One object per dataset.")
def list_(as_json):
    """List every dataset with where it was found, its size to download and its licence."""
    from dataclasses import asdict

    from repro.cli.printing import emit_json, table
    from repro.datasets.sources import describe_size
    from repro.datasets.survey import survey

    rows = survey(Locations.resolve().data)
    if as_json:
        return emit_json([{**asdict(row), "counts": dict(row.counts)} for row in rows])
    shown = [
        [r.state, r.id, r.what, _counts(r.counts), describe_size(r.size) if r.size else "", r.licence]
        for r in rows
    ]
    table("datasets", ["", "id", "what", "records", "download", "licence"], shown)
    there = sum(r.state in ("found", "embedded") for r in rows)
    print(f"{there} of {len(rows)} are at hand; data folder: {Locations.resolve().data}")


@command.command("check", epilog="\b\nExamples:\n  repro data check\n  repro data check beir/scifact/test")
@click.argument("ids", nargs=-1)
def check_(ids):
    """Read collections in full (all that are at hand, or those named) and say what is wrong with them."""
    from repro.datasets.survey import check

    problems = check(Locations.resolve().data, ids)
    for problem in problems:
        print(problem)
    print(f"problems: {len(problems)}" if problems else "nothing wrong")
    return min((problem.exit_status for problem in problems), default=0)


@command.command(
    "fetch",
    epilog="\b\nExamples:\n  repro data fetch beir/scifact\n  repro data fetch model:bert-base-uncased --yes",
)
@click.argument("identifier", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask: the size and the licence are fine.")
@click.option("--library", default="", metavar="beir", help="Fetch a BEIR collection through beir itself.")
def fetch_(identifier, yes, library):
    """Download a dataset, or model:NAME, into the data folder, after showing its size and licence."""
    from repro.progress import TerminalProgress
    from repro.store import translated

    target = data_folder()
    if identifier.startswith("model:"):
        from repro.datasets.hub_models import offer

        wanted = offer(identifier.removeprefix("model:"))
    else:
        from repro.datasets.fetching import offer

        wanted = offer(identifier, library=library)
    print(f"{wanted.description}; into {target}", file=sys.stderr)
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError(f"fetching {identifier} needs your consent: add --yes")
        click.confirm("Go on?", abort=True, err=True)
    with translated(target, "data folder", "REPRO_DATA"):
        for path in wanted.load(target, TerminalProgress()):
            print(path)


def _counts(counts) -> str:
    return ", ".join(f"{number:,} {piece}" for piece, number in counts.items())
