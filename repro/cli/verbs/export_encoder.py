"""``repro export-encoder``"""

from __future__ import annotations

from pathlib import Path

import click

from repro.errors import UsageError


@click.command(
    "export-encoder",
    epilog="""\b
Examples:
  repro export-encoder PAPER/1/ROW/COLUMN -o DIR
  repro export-encoder PAPER/1/ROW/COLUMN --scale tiny -o DIR
  repro export-encoder 3f2a… -o DIR                     of a run or a score, by its fingerprint""",
)
@click.argument("what", metavar="CELL|FINGERPRINT")
@click.option("-o", "--output", required=True, metavar="DIR", help="A directory that is not there, or empty.")
@click.option("--scale", "scale_name", default="full", show_default=True, help="At which it was measured.")
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), metavar="N", help="Of several; else the paper's own."
)
@click.option("--store", metavar="DIR", help="Where artefacts lie (REPRO_STORE).")
@click.option("--results", metavar="DIR", help="Where records lie (REPRO_RESULTS).")
def command(what, output, scale_name, seed, store, results):
    """Write the encoder behind a measured cell where other libraries can load it.

    transformers finds the model and its tokenizer, sentence-transformers what comes behind it as well, and
    `repro evaluate --model` all of it. README.md tells what it was made from and what it reached.
    """
    from repro.exchange.encoder_export import Source, export
    from repro.report.model_card import card
    from repro.running.scale import scale
    from repro.running.workspace import Workspace

    workspace, at = Workspace.open(store, results), scale(scale_name)
    opened = workspace.store
    if "/" in what:
        measurement = _measurement(what, at, seed, workspace)
        source = _only(what, [Source.of(run) for run in measurement.runs])
    else:
        measurement, source = None, Source.of(_run(opened.remembered(what)))
    facts, told = _facts(what, measurement, at.name), _told(measurement, at.name, workspace)
    text = card(
        f"Encoder of {what}",
        source.model,
        source.conventions,
        facts=facts,
        records=told,
        readings=measurement.departures if measurement else {},
        substitutes=measurement.substitutes if measurement else {},
    )
    about = {"from": what, "scale": at.name, "seed": seed, "model": source.model.fingerprint}
    export(source, opened, Path(output).expanduser(), card=text, about=about)
    print(output)


def _measurement(cell_id: str, at, seed: int | None, workspace):
    """How the cell is measured. Raises UsageError for one that no recipe makes."""
    from repro.manifest.cells import cell
    from repro.running.plan import plan

    seeds = () if seed is None else (seed,)
    found = plan([cell(cell_id)], scale=at, machine=workspace.machine, seeds=seeds).measurements
    if not found:
        none = f"nothing is measured for this cell at scale {at.name}, so there is no model of it"
        raise UsageError(f"{cell_id}: {none}")
    return found[0]


def _only(cell_id: str, sources: list):
    """The one model behind a cell. Raises UsageError where there is none, or are several."""
    models = {source.model.fingerprint for source in sources}
    if len(models) != 1:
        shown = ", ".join(sorted(fingerprint[:12] for fingerprint in models))
        several = f"it is a mean over {len(models)} models ({shown}); name a run of one by its fingerprint"
        raise UsageError(f"{cell_id}: {several if models else 'no encoder is behind this cell'}")
    return sources[0]


def _run(node):
    """The run that a remembered node is, or is about."""
    if "run" in node.inputs and node.stage == "evaluate":
        return node.inputs["run"]
    if node.stage not in ("search", "search_views"):
        raise UsageError(
            f"{node} is neither a run nor its scores; give the fingerprint of one of these, since only a run "
            "tells how texts are read"
        )
    return node


def _facts(what: str, measurement, scale_name: str) -> dict:
    from repro import __version__
    from repro.locations import CHECKOUT
    from repro.machine import commit

    facts = {"made by": f"repro {__version__}", "commit": commit(CHECKOUT), "scale": scale_name}
    if measurement is None:
        return facts | {"fingerprint": what}
    from repro.running.measurement import recipe_path

    cell = measurement.cell
    options = ", ".join(f"{name} {value!r}" for name, value in cell.options.items())
    return facts | {
        "cell": cell.id,
        "row": cell.row.label,
        "recipe": recipe_path(cell),
        "options": options,
        "seed": measurement.seed,
        "fingerprint": measurement.fingerprint,
    }


def _told(measurement, scale_name: str, workspace) -> list:
    """The newest record of each cell of the row, under the same seed and readings."""
    if measurement is None:
        return []
    prefix = measurement.cell.id.rpartition("/")[0] + "/"
    found = {
        record.cell: record
        for record in workspace.results.read(scale_name, measurement.cell.paper.name)
        if record.cell.startswith(prefix)
        and record.seed == measurement.seed
        and record.readings == dict(measurement.departures)
    }
    return list(found.values())
