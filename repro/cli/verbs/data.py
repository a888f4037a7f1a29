"""``repro data``, e.g. ``repro data fetch --for PAPER/1``."""

import sys
from dataclasses import asdict
from pathlib import Path

import click

from repro import errors, progress
from repro.api import Selection, select
from repro.cli import completion, groups, options
from repro.cli.printing import emit_json, put, say, table
from repro.locations import Locations, data_folder
from repro.manifest.papers import check_on_hub
from repro.retrieval.datasets.catalog import key, unpublished
from repro.retrieval.datasets.sources import describe_size
from repro.running.workspace import Workspace
from repro.store import translated_errors

command = groups.views(
    "data",
    {
        "list": "the datasets, their sizes and licences",
        "check": "read collections in full and report faults",
        "fetch": "download collections and checkpoints",
        "make": "build a file from its makers' releases",
    },
    help="""List, check, fetch and make collections.

    Collections are in the folder of REPRO_DATA, by default in the user's data folder.
    """,
    epilog="""\b
Examples:
  repro data list
  REPRO_DATA=/data repro data check
  repro data fetch beir/scifact
  repro data fetch --for PAPER/1
  repro data make msmarco-passage/rocketqa para.txt para.title.txt""",
)


@command.command("list", epilog="\b\nExamples:\n  repro data list\n  repro data list --format json")
@options.json_option
def list_(as_json):
    """List every dataset with its state, counts, download size and licence."""
    from repro.retrieval.datasets.survey import survey

    places = Locations.resolve()
    rows = survey(places.data, places.home)
    if as_json:
        return emit_json([{**asdict(row), "counts": dict(row.counts)} for row in rows])
    lines = []
    for r in rows:
        counts = ", ".join(f"{number:,} {piece}" for piece, number in r.counts.items())
        lines.append([r.state, r.id, r.what, counts, describe_size(r.size) if r.size else "", r.licence])
    table("datasets", ["", "id", "description", "records", "download", "licence"], lines)
    count = sum(r.state in ("found", "embedded") for r in rows)
    say(f"{count} of {len(rows)} found. Data folder: {places.data or f'{data_folder()}, not created yet'}")


@command.command("check", epilog="\b\nExamples:\n  repro data check\n  repro data check beir/scifact/test")
@click.argument("ids", metavar="[ID]...", nargs=-1, shell_complete=completion.datasets)
@options.json_option
def check_(ids, as_json):
    """Read collections in full and report faults. The default is all collections found.

    Rows are counted. Digests that ignore order and white space are compared with known ones.
    """
    from repro.retrieval.datasets.survey import check, problems_of

    places = Locations.resolve()
    pieces = check(places.data, ids, home=places.home)
    problems = problems_of(pieces)
    if as_json:
        emit_json([piece.as_json() for piece in pieces])
    else:
        for problem in problems:
            put(problem)
        digests = {key(p.dataset, p.piece): p.facts.get("digest", "") for p in pieces if not p.problems}
        if unheld := unpublished(digests):
            put(f"without a known digest: {', '.join(unheld)}")
        print(f"problems: {len(problems)}" if problems else "no problems")
    return min((problem.exit_status for problem in problems), default=0)


@command.command(
    "fetch",
    epilog="""\b
Examples:
  repro data fetch beir/scifact
  repro data fetch --for PAPER/1  everything that table 1 lacks, with one question
  repro data fetch model:bert-base-uncased --yes""",
)
@click.argument("identifiers", metavar="[ID]...", nargs=-1, shell_complete=completion.datasets)
@click.option(
    "--for",
    "places",
    metavar="PAPER[/TABLE[/ROW]]",
    multiple=True,
    shell_complete=completion.names,
    help="Fetch the collections and checkpoints that this lacks at scale full, e.g. PAPER/1 (repeatable).",
)
@click.option("--yes", is_flag=True, help="Accept sizes and licences without a question.")
@click.option("--library", default="", metavar="beir", help="Fetch BEIR collections with the beir library.")
def fetch_(identifiers, places, yes, library):
    """Download datasets, or checkpoints as model:NAME, into the data folder.

    Sizes and licences are shown first.
    """
    from repro.retrieval.datasets.fetching import MODEL, offer

    if not (identifiers or places):
        hint = "`repro data list` lists the datasets."
        raise errors.UsageError(f"data fetch needs an ID or --for PAPER/TABLE. {hint}")
    target, obstacles = data_folder(), _missing_requirements(places)
    ids = list(dict.fromkeys((*identifiers, *obstacles.fetch)))
    for id in ids:
        check_on_hub(id.removeprefix(MODEL))
    offers = {id: offer(id, library=library if id.startswith("beir/") or not places else "") for id in ids}
    _describe(offers, target, obstacles.otherwise)
    if not ids:
        print("nothing to fetch")
    elif not yes:
        _ask_consent(identifiers, places)
    return max(_load_offers(offers, target), 4 if obstacles.otherwise else 0)


@command.command(
    "make",
    epilog="""\b
Examples:
  repro data make msmarco-passage/rocketqa marco/para.txt marco/para.title.txt
  repro data make lists/stopwords.txt PROP/data/stopwords.txt galago/inquery""",
)
@click.argument("name")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
def make_(name, files):
    """Build a file that nobody publishes, from the FILEs of its makers, and check it.

    NAME is msmarco-passage/rocketqa, from the texts and titles in RocketQA's marco.tar.gz, or
    lists/stopwords.txt, from the stop words of NLTK and INQUERY.
    """
    from repro.retrieval.datasets.fetching import make

    target = data_folder()
    with translated_errors(target, "data folder", "REPRO_DATA"):
        print(make(name, files, target, progress.TerminalProgress()))


def _describe(offers, target, unfetchable) -> None:
    from repro.retrieval.datasets.fetching import amount

    ending = f"; into {target}"
    for offer in offers.values():
        say(f"{offer.description}{ending if len(offers) == 1 else ''}")
    if len(offers) > 1:
        print(f"total: {amount(offers)}{ending}", file=sys.stderr)
    for sentence in unfetchable:
        say(f"manual download: {sentence}")


def _missing_requirements(places):
    workspace = Workspace(Locations.resolve(fetching=True))
    cells, exhibits = {}, {}
    for place in places:
        name, *parts = place.strip("/").split("/")
        row = {"tables": parts[:1], "rows": parts[1:]} if len(parts) == 2 else {}
        selection = select(name if row else place.strip("/"), **row, workspace=workspace)
        cells |= {c.id: c for c in selection.cells}
        exhibits |= {e.id: e for e in selection.exhibits}
    plan = Selection(list(cells.values()), list(exhibits.values()), workspace=workspace).plan()
    plan.look(workspace.store)
    return plan.lacking


def _ask_consent(identifiers, places) -> None:
    if not sys.stdin.isatty():
        words = " ".join([*identifiers, *(f"--for {place}" for place in places)])
        raise errors.UsageError(f"fetching {words} needs your consent: add --yes")
    click.confirm("Go on?", abort=True, err=True)


def _load_offers(offers, target) -> int:
    status = 0
    for offer in offers.values():
        try:
            with translated_errors(target, "data folder", "REPRO_DATA"):
                for path in offer.load(target, progress.TerminalProgress()):
                    print(path)
        except (errors.BlockedError, errors.DataError) as error:
            if len(offers) == 1:
                raise
            say(f"repro: {error}")
            status = max(status, error.exit_status)
    return status
