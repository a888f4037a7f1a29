"""``repro show readings``"""

import click

from repro.cli import completion
from repro.cli.options import json_option, stated_options
from repro.errors import UsageError

MOST = 10  # of --decisive


@click.command(
    "readings",
    epilog="\b\nExamples:\n  repro show readings PAPER\n  repro show readings PAPER --decisive\n"
    "  repro show readings PAPER/1/ROW/COLUMN --kind conflict\n  repro show readings PAPER --citations\n"
    "  repro show readings PAPER --format json",
)
@click.argument("names", metavar="[PAPER|CELL]...", nargs=-1, shell_complete=completion.papers_and_cells)
@click.option(
    "--table",
    "tables",
    multiple=True,
    metavar="N",
    shell_complete=completion.tables,
    help="Behind this table or figure-N.",
)
@click.option("--kind", type=click.Choice(["silence", "conflict", "misprint", "data"]), help="Of this kind.")
@click.option("--decisive", is_flag=True, help="The ten that could move a published number most.")
@click.option(
    "--gpu", metavar="NAME", default="h100", help="Of --decisive: hours of this GPU, v100 to rtx4090."
)
@click.option("--citations", is_flag=True, help="What authors and others state outside of the paper.")
@json_option
def command(names, tables, kind, decisive, gpu, citations, as_json):
    """List what the papers leave open or contradict, the weightiest first, with the choices and the default.

    Switches come before notes, of which no choice changes anything that is planned. The order follows from
    the plan: what another choice changes first, how many published numbers it can decide, by what factor
    choices differ; only a measurement tells what a choice does. Take another with `repro run … --reading
    ID=CHOICE`; its result is never mixed with the default.
    """
    from repro.cli import weighed_readings
    from repro.cli.printing import emit_json

    papers, cells = ([n for n in names if ("/" in n) == is_cell] for is_cell in (False, True))
    _check_gpu(is_shown=decisive and not (citations or as_json))
    groups = [
        group.limited(kind=kind, most=MOST if decisive else None)
        for group in weighed_readings.of_papers(papers, cells, tables)
    ]
    if as_json:
        return emit_json([item for group in groups for item in group.as_json()])
    for group in groups:
        if citations:
            group.show_citations()
        else:
            group.show(gpu if decisive else None)


def _check_gpu(*, is_shown: bool) -> None:
    if stated_options("gpu") and not is_shown:
        raise UsageError("--gpu tells hours in the table of --decisive; say that alone, or leave --gpu out")
