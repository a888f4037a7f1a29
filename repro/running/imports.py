"""The scoring of somebody else's run for a cell: as the cell's own run is, by the rules of its dataset."""

from collections.abc import Mapping
from typing import Any

from repro.graph import Node
from repro.manifest.cells import Cell
from repro.retrieval.datasets.catalog import dataset
from repro.running.measurement import Measurement, evaluation
from repro.running.requirements import Machine

RULES = ("ignore_identical_ids", "judgements")


def import_of(cell: Cell, made: Measurement | None, machine: Machine, file: Mapping[str, str]) -> Measurement:
    """The measurement of a cell of one dataset by the run in a file, without readings of a recipe's own.

    Args:
        made: how the cell's own recipe measures it; None without a recipe.
        file: sha256 of the run and, to read it, its name and path (``source``).
    """
    run = Node("imported_run", {"dataset": cell.column.dataset, **file})
    if made:
        part, measure = made.parts[0], made.measure
    else:
        measure = cell.column.measure
        part = machine.resolve(evaluation(run, dataset(cell.column.dataset), measure, {}))
    evaluation_node = Node("evaluate", part.params, {**part.inputs, "run": run})
    return Measurement(cell, None, ((evaluation_node,),), measure, {}, {})


def scoring_settings(measurement: Measurement) -> dict[str, Any]:
    """The settings of scoring that a record of an imported run states, beside measure and unit."""
    params = measurement.parts[0].params
    return {"dataset": measurement.cell.column.dataset} | {name: params[name] for name in RULES}
