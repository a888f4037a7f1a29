"""``repro data list | check | fetch | make``"""

import sys
from pathlib import Path

import click

from repro.cli import completion
from repro.cli.options import json_option
from repro.cli.printing import put, say
from repro.errors import BlockedError, DataError, ReproError, UsageError
from repro.locations import Locations, data_folder


@click.group(
    "data",
    epilog="""\b
Examples:
  repro data list
  REPRO_DATA=/data repro data check
  repro data fetch beir/scifact
  repro data fetch --for PAPER/1
  repro data make msmarco-passage/rocketqa para.txt para.title.txt""",
)
def command():
    """Show what data there is, check it, fetch what libraries can give, and make what nobody gives out.

    Data lies in the folder that REPRO_DATA names, else in the user's data folder, which fetching makes.
    """


@command.command("list", epilog="\b\nExamples:\n  repro data list\n  repro data list --format json")
@json_option
def list_(as_json):
    """List every dataset with where it was found, its size to download and its licence."""
    from dataclasses import asdict

    from repro.cli.printing import emit_json, table
    from repro.retrieval.datasets.sources import describe_size
    from repro.retrieval.datasets.survey import survey

    places = Locations.resolve()
    rows = survey(places.data, places.home)
    if as_json:
        return emit_json([{**asdict(row), "counts": dict(row.counts)} for row in rows])
    lines = [
        [r.state, r.id, r.what, _counts(r.counts), describe_size(r.size) if r.size else "", r.licence]
        for r in rows
    ]
    table("datasets", ["", "id", "what", "records", "download", "licence"], lines)
    count = sum(r.state in ("found", "embedded") for r in rows)
    say(
        f"{count} of {len(rows)} are at hand; data folder: {places.data or f'{data_folder()}, not there yet'}"
    )


@command.command("check", epilog="\b\nExamples:\n  repro data check\n  repro data check beir/scifact/test")
@click.argument("ids", metavar="[ID]...", nargs=-1, shell_complete=completion.datasets)
@json_option
def check_(ids, as_json):
    """Read collections in full, those named or all at hand, and say what is wrong.

    Rows are counted and, where it is known what their makers publish, compared with that: in any order, and
    with any white space, they are to say the same.
    """
    from repro.cli.printing import emit_json
    from repro.retrieval.datasets.catalog import key, unpublished
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
            put(f"not held against a known digest: {', '.join(unheld)}")
        print(f"problems: {len(problems)}" if problems else "nothing wrong")
    return min((problem.exit_status for problem in problems), default=0)


@command.command(
    "fetch",
    epilog="""\b
Examples:
  repro data fetch beir/scifact
  repro data fetch --for PAPER/1             all that table 1 lacks here, asked for once
  repro data fetch model:bert-base-uncased --yes""",
)
@click.argument("identifiers", metavar="[ID]...", nargs=-1, shell_complete=completion.datasets)
@click.option(
    "--for",
    "places",
    metavar="PAPER[/TABLE[/ROW]]",
    multiple=True,
    shell_complete=completion.places,
    help="Everything that this lacks here at full scale, collections and checkpoints; may be repeated.",
)
@click.option("--yes", is_flag=True, help="Do not ask: the sizes and the licences are fine.")
@click.option("--library", default="", metavar="beir", help="Fetch BEIR collections through beir itself.")
def fetch_(identifiers, places, yes, library):
    """Download datasets, or model:NAME, after showing sizes and licences.

    They go into the data folder: that of REPRO_DATA, else one in the user's own data, which is made and
    then looked in by every verb.
    """
    from repro.manifest.papers import check_on_hub
    from repro.retrieval.datasets.fetching import MODEL, offer

    if not (identifiers or places):
        raise UsageError("name what to fetch, or --for PAPER/TABLE; `repro data list` says what there is")
    target, obstacles = data_folder(), _obstacles(places)
    ids = list(dict.fromkeys((*identifiers, *obstacles.fetch)))
    for id in ids:
        check_on_hub(id.removeprefix(MODEL))
    offers = {id: offer(id, library=library if id.startswith("beir/") or not places else "") for id in ids}
    _describe(offers, target, obstacles.otherwise)
    if not ids:
        print("nothing to fetch: all that can be fetched is here")
    elif not yes:
        _ask(identifiers, places)
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
    """Make a file that nobody gives out from what its makers publish, and check it.

    NAME is msmarco-passage/rocketqa, of the texts and titles in RocketQA's marco.tar.gz, or
    lists/stopwords.txt, of NLTK's and INQUERY's stop words. Other files are refused.
    """
    from repro.progress import TerminalProgress
    from repro.retrieval.datasets.fetching import make
    from repro.store import translated_errors

    target = data_folder()
    with translated_errors(target, "data folder", "REPRO_DATA"):
        print(make(name, files, target, TerminalProgress()))


def _describe(offers, target, unfetchable) -> None:
    from repro.retrieval.datasets.fetching import amount

    ending = f"; into {target}"
    for offer in offers.values():
        say(f"{offer.description}{ending if len(offers) == 1 else ''}")
    if len(offers) > 1:
        print(f"in all {amount(offers)}{ending}", file=sys.stderr)
    for sentence in unfetchable:
        say(f"not to be fetched: {sentence}")


def _obstacles(places):
    from repro.api import Selection, select
    from repro.running.workspace import Workspace

    workspace = Workspace(Locations.resolve(fetching=True))
    cells, exhibits = {}, {}
    for place in places:
        name, *parts = place.strip("/").split("/")
        row = {"tables": parts[:1], "rows": parts[1:]} if len(parts) == 2 else {}
        selection = select(name if row else place.strip("/"), **row, workspace=workspace)
        cells |= {cell.id: cell for cell in selection.cells}
        exhibits |= {exhibit.id: exhibit for exhibit in selection.exhibits}
    plan = Selection(list(cells.values()), list(exhibits.values()), workspace=workspace).plan()
    plan.look(workspace.store)
    return plan.lacking


def _ask(identifiers, places) -> None:
    if not sys.stdin.isatty():
        words = " ".join([*identifiers, *(f"--for {place}" for place in places)])
        raise UsageError(f"fetching {words} needs your consent: add --yes")
    click.confirm("Go on?", abort=True, err=True)


def _load_offers(offers, target) -> int:
    """Load every offer, continuing after errors. Returns the largest exit status of the failed ones."""
    from repro.progress import TerminalProgress
    from repro.store import translated_errors

    errors: list[ReproError] = []
    for offer in offers.values():
        try:
            with translated_errors(target, "data folder", "REPRO_DATA"):
                for path in offer.load(target, TerminalProgress()):
                    print(path)
        except (BlockedError, DataError) as error:
            if len(offers) == 1:
                raise
            say(f"repro: {error}")
            errors.append(error)
    return max((error.exit_status for error in errors), default=0)


def _counts(counts) -> str:
    return ", ".join(f"{number:,} {piece}" for piece, number in counts.items())
