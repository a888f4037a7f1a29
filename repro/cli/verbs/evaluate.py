"""``repro evaluate``"""

import sys

import click

from repro.cli import completion
from repro.cli.options import OF_FILE, scale_option, stated_options
from repro.errors import UsageError
from repro.nn.encoder_conventions import CHOICES


@click.command(
    "evaluate",
    epilog="""\b
Examples:
  repro evaluate my.run --dataset msmarco-passage/dev/small
  repro evaluate my.run --cell PAPER/1/ROW/dev.rr10           the run is meant to be this row's
  repro evaluate --model DIR --table PAPER/1
  repro evaluate --model OWNER/NAME --table PAPER/1 --column dev.rr10 --pooling mean --similarity cosine
  repro evaluate --model DIR --table PAPER/1 --scale tiny     on the embedded collection, in seconds""",
)
@click.argument("run", metavar="[RUN]", required=False)
@click.option(
    "--dataset", metavar="ID", shell_complete=completion.datasets, help="Whose judgements a RUN is scored by."
)
@click.option(
    "--measure", "measures", multiple=True, metavar="M", help="Only this measure of a RUN; may be repeated."
)
@click.option(
    "--cell",
    "cells",
    multiple=True,
    metavar="ID",
    shell_complete=completion.cells,
    help="A cell that a RUN is meant to give: its place among others' reports is told; may be repeated.",
)
@click.option("--model", metavar="DIR|NAME", help="An encoder: a directory, or a name of the hub.")
@click.option("--query-model", metavar="DIR|NAME", help="The encoder of queries, where it is another one.")
@click.option(
    "--table",
    metavar="PAPER/N",
    shell_complete=completion.paper_tables,
    help="The table whose datasets and measures an encoder meets.",
)
@click.option("--column", "columns", multiple=True, metavar="ID", help="Only this column; may be repeated.")
@click.option(
    "--row", metavar="ID", help="The row that an encoder is meant to be, not the best published one."
)
@click.option("--kind", type=click.Choice(CHOICES["kind"]), help="What kind of vectors it makes.")
@click.option("--pooling", type=click.Choice(CHOICES["pooling"]), help="How tokens become a vector.")
@click.option("--similarity", type=click.Choice(CHOICES["similarity"]), help="How vectors are compared.")
@click.option("--query-length", type=int, metavar="N", help="Tokens of a query.")
@click.option("--passage-length", type=int, metavar="N", help="Tokens of a passage.")
@click.option("--query-prefix", metavar="TEXT", help="Stands before every query.")
@click.option("--passage-prefix", metavar="TEXT", help="Stands before every passage.")
@click.option(
    "--separator",
    metavar="TEXT",
    help="Between title and text; `pair` makes two segments, `none` leaves titles out.",
)
@click.option("--precision", type=click.Choice(CHOICES["precision"]), help="Of encoding; fp32 by default.")
@scale_option(help="small and tiny take other collections in place of the table's.")
@click.option("--store", metavar="DIR", help="Where artefacts lie (REPRO_STORE).")
@click.option("--json", "as_json", is_flag=True, help="The same as JSON.")
def command(
    run,
    dataset,
    measures,
    cells,
    model,
    query_model,
    table,
    columns,
    row,
    scale_name,
    store,
    as_json,
    **options,
):
    """Score a TREC run, or an encoder in the columns of a published table.

    An encoder goes through the suite's own encoding, search and scoring. How it reads texts is taken from its
    directory where that says so, and from the options above all. No record of the table's rows is written. A
    measure that looks deeper than a RUN goes is refused, or left out where none was named; scales below full
    search an encoder's runs less deep, which is said beside the measure. At full scale the place of a score
    among what others report is told: of the cell or row that is named, else of the best published row.
    """
    if (run is None) == (model is None):
        raise UsageError("give a RUN with --dataset, or --model with --table, and not both")
    if run is not None:
        scale_is_stated = stated_options("scale_name") or OF_FILE in click.get_current_context().meta
        if any((table, columns, row, query_model, scale_is_stated, set(options.values()) - {None})):
            raise UsageError("a RUN is scored by --dataset, --measure and --cell alone")
        return _score_run(run, dataset, measures, cells, as_json)
    if any((dataset, measures, cells)):
        raise UsageError("an encoder is scored by a --table's datasets and measures; leave these options out")
    if not table:
        raise UsageError("an encoder needs the --table whose columns it is scored in, as PAPER/N")
    _score_encoder((model, query_model or model), options, (table, columns, row), scale_name, store, as_json)


def _score_run(run: str, dataset: str | None, measures: tuple, cells: tuple, as_json: bool) -> None:
    from repro.api.scores import evaluate
    from repro.cli.printing import emit_json
    from repro.exchange.user_run_scores import common_dataset
    from repro.manifest.cells import cell

    if not (dataset or cells):
        requirement = "the --dataset whose judgements score it, or the --cell that it is meant to give"
        raise UsageError(f"a RUN needs {requirement}; `repro data list` names datasets")
    dataset = common_dataset([cell(name) for name in cells], dataset)
    scores = evaluate(run, dataset=dataset, measures=measures, cells=cells).as_json()
    if as_json:
        return emit_json({"run": run, "dataset": dataset, **scores})
    places, differing = scores.pop("among_reports"), scores.pop("differing")
    print(f"{run} on {dataset}")
    for name in scores.pop("left_out"):
        reason = f"the run has {scores['depth']} documents a query"
        print(f"{name} is left out: {reason}, and it looks deeper", file=sys.stderr)
    for name, value in _flatten(scores):
        print(f"  {name:16}{value:.4f}" if isinstance(value, float) else f"  {name:16}{value}")
    for place in places:
        print(f"{place['cell']}: {place['sentence']}")
    for sentence in differing:
        print(f"no published number compares with this: {sentence}")


def _flatten(scores: dict):
    """Names and values, of mappings inside too."""
    for name, value in scores.items():
        yield from _flatten(value) if isinstance(value, dict) else ((name, value),)


def _score_encoder(names, options: dict, places: tuple, scale_name: str, store: str | None, as_json: bool):
    from repro.api.scores import evaluate
    from repro.cli.printing import emit_json
    from repro.cli.printing import table as printed
    from repro.progress import TerminalProgress
    from repro.running.scale import scale
    from repro.running.workspace import Workspace

    table, columns, row = places
    scores = evaluate(
        names[0],
        query_model=names[1],
        table=table,
        columns=columns,
        row=row,
        conventions=options,
        scale=scale_name,
        workspace=Workspace.open(store),
        progress=TerminalProgress(),
    )
    description = f"{_in_words(scores.conventions)} ({scores.origin}; options above that)"
    for sentence in (f"{names[0]}: {description}", *scores.left_out):
        print(sentence, file=sys.stderr)
    if as_json:
        return emit_json([column.as_json() for column in scores])
    rows = []
    for c in scores:
        best = c.best.printed
        score = f"{c.score:.{best.decimals}f}"
        measure = f"{c.measure}, cut at {c.depth}" if c.cut else c.measure
        rows.append((c.id, c.head, measure, score, str(best.value), c.best.row.label))
    note = (
        ""
        if scale(scale_name).compares_with_paper
        else f" (scale {scale_name}: other collections than the paper's)"
    )
    head = ("column", "", "measure", "this encoder", "best published", "by")
    printed(f"{names[0]} on {table}{note}", head, rows, right=(3, 4))
    for place in filter(None, (column.among_reports for column in scores)):
        print(f"{place.cell.column.id}, {place.cell.row.label}: {place}")


def _in_words(conventions) -> str:
    facts = conventions.to_json()
    return ", ".join(f"{name.replace('_', ' ')} {value!r}" for name, value in facts.items() if value != "")
