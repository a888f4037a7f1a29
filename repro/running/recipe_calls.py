"""Find a cell's recipe and its readings, and call it once per machine."""

import inspect
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

from repro import errors, locations
from repro.graph import Node
from repro.manifest import papers, reading_schema, yaml_file
from repro.manifest.cells import Cell, ShownExhibit, missing_setting
from repro.retrieval.recipe.request import Choices, Request, Runs
from repro.running.requirements import Machine
from repro.running.scale import Scale


def call_recipe(
    cell: Cell | ShownExhibit,
    identifier: str,
    overrides: Mapping[str, str],
    seed: int | None = None,
    *,
    machine: Machine,
    originals_only: bool = False,
) -> tuple[Node | Runs, Choices]:
    """Return a recipe's graph or runs for one dataset, and its choices. Raises ManifestError.

    ``originals_only`` requires the papers' own data.
    """
    path = recipe_path(cell)
    key = path, cell.paper.name, identifier, seed, repr(cell.options), *sorted(overrides.items())
    if (key, originals_only) not in machine.calls:
        function = recipe_function(cell)
        valid_readings = machine.once(
            ("readings", cell.paper, path.partition(":")[0]), lambda: readings_for(cell.paper, path)
        )
        choices = Choices(valid_readings, overrides, machine.data, originals_only=originals_only)
        result = _call(cell, function, Request(identifier, choices, seed)), choices
        equal_calls = () if choices.missing or choices.substitutes else ((key, not originals_only),)
        for call in ((key, originals_only), *equal_calls):
            machine.calls.setdefault(call, result)
    return machine.calls[key, originals_only]


def not_at(cell: Cell | ShownExhibit, scale: Scale) -> str:
    """Return why the recipe measures nothing at this scale, or ""."""
    if not cell.recipe:
        return ""
    function = recipe_function(cell)
    scale_name = getattr(function, "only_at", None)
    if scale_name and scale_name not in scale.lineage:
        return f"measured only at scale {scale_name} or one like it"
    if not scale.has_originals and (reason := getattr(function, "full_only", "")):
        return reason
    if scale.facts.named_only and not scale_name:
        return f"scale {scale.name} measures only cells with a recipe for this scale"
    return _without_grades(cell, scale) if isinstance(cell, Cell) else ""


def _without_grades(cell: Cell, scale: Scale) -> str:
    measure, identifier = cell.column.measure or "", cell.column.dataset
    return scale.undefined(measure, identifier) if identifier and "(rel=" in measure else ""


def is_made_at(cell: Cell | ShownExhibit, scale: Scale) -> bool:
    return bool(cell.recipe) and not not_at(cell, scale)


NOT_MEASURABLE = "not measurable by the suite, see `repro show coverage`"


def refusals(cells: Iterable[Cell], scale: Scale) -> Counter[str]:
    """Return reason -> number of cells that it prevents from being measured."""
    reasons: list[str] = []
    for cell in cells:
        is_stated = cell.column.not_measurable or cell.row.not_measurable
        reasons.append(not_at(cell, scale) or (NOT_MEASURABLE if is_stated else missing_setting(cell)))
    return Counter(filter(None, reasons))


def recipe_path(cell: Cell | ShownExhibit) -> str:
    """Return ``module:function``, by default in the paper's recipes.py."""
    recipe = cell.recipe
    assert recipe, cell.id
    return recipe if ":" in recipe else f"{cell.paper.package}.recipes:{recipe}"


def readings_for(source: papers.Paper, path: str) -> dict[str, reading_schema.Reading]:
    """Return id -> reading, of the row's paper and of the folder of the recipe."""
    home_paper = papers.home(path)
    if home_paper is not None:
        return {**source.readings, **home_paper.readings}
    module = Path(papers.load(path.partition(":")[0] + ":__file__"))
    return {**source.readings, **papers.readings(module.with_name("readings.yaml"))}


def recipe_function(cell: Cell | ShownExhibit) -> Callable[..., Node | Runs]:
    """Return a recipe. Raises ManifestError if it is missing or refuses the options."""
    try:
        function = papers.load(recipe_path(cell))
    except (errors.ReproError, OSError):  # these name the file
        raise
    except Exception as error:
        place = _place(error, cell)
        reason = f"cannot be loaded: {place}: {_in_one_line(error)}" if place else f"does not exist: {error}"
        raise recipe_fault(cell, f" {reason}") from error
    if refusal := _refusal(function, tuple(cell.options)):
        raise recipe_fault(cell, f": {refusal}")
    return function


@cache
def _refusal(function: Callable, options: tuple[str, ...]) -> str:
    signature = inspect.signature(function)
    try:
        if not any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
            errors.check_known("option", *options, valid=list(signature.parameters)[1:])
        signature.bind(None, **dict.fromkeys(options))
    except (errors.UsageError, TypeError) as error:
        return str(error)
    return ""


def _call(cell: Cell | ShownExhibit, function: Callable[..., Node | Runs], request: Request) -> Node | Runs:
    try:
        result = function(request, **cell.options)
    except (errors.ReproError, OSError):
        raise
    except Exception as error:
        place = _place(error, cell) or recipe_path(cell)
        raise recipe_fault(cell, f" fails at {place}: {_in_one_line(error)}") from error
    if not isinstance(result, Node | Runs):
        raise recipe_fault(cell, f" returns {result!r} instead of a node or Runs")
    return result


def _place(error: Exception, cell: Cell | ShownExhibit) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    folders = locations.PAPERS, cell.paper.folder
    frames = traceback.extract_tb(error.__traceback__)
    within = [f for f in frames if any(Path(f.filename).is_relative_to(folder) for folder in folders)]
    return f"{within[-1].filename}:{within[-1].lineno}" if within else ""


def _in_one_line(error: Exception) -> str:
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {' '.join(message.split())}"


def recipe_fault(cell: Cell | ShownExhibit, problem: str) -> errors.ManifestError:
    """Return an error about a cell's recipe. ``problem`` follows its name, e.g. ": no option lr"."""
    return fault(cell, "recipe", f"recipe {recipe_path(cell)!r}{problem}")


def fault(cell: Cell | ShownExhibit, key: str, reason: str) -> errors.ManifestError:
    """Return an error about ``key``, e.g. "unit", in a cell's manifest."""
    if isinstance(cell, ShownExhibit) or cell.table.kind == "figure":
        return errors.ManifestError(f"{cell.paper.folder / 'cells.yaml'}: {cell.id}: {reason}")
    table = cell.table
    part = () if key == "unit" else ("rows", table.rows.index(cell.row))
    if getattr(cell.column, key) and not (key == "measure" and cell.column.id in cell.row.measures):
        part = ("columns", [c.id for c in table.columns].index(cell.column.id))
    location = ("tables", cell.paper.manifest.tables.index(table), *part, key)
    return yaml_file.fault_at(cell.paper.folder / "cells.yaml", location, f"cell {cell.id}: {reason}")
