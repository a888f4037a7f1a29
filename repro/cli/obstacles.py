"""Print the requirements that this machine lacks for a selection, e.g. ``PAPER/1``."""

import shlex
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from repro import locations, stage_table
from repro.cli import printing
from repro.errors import first_of
from repro.graph import grouped
from repro.manifest.cells import count_in_words
from repro.retrieval.datasets.fetching import amount
from repro.running import requirements, runner
from repro.running.cost.estimate import Estimate, Throughput, assumed_throughput, estimate, throughput
from repro.running.plan import Plan
from repro.store import Store
from repro.verdicts.compared import ComparedCell, Comparison

GB = 1e9
DEVICE = "h100"
ROWS = 3


def nothing_can_run(comparison: Comparison, outcome: runner.Outcome) -> bool:
    """Return whether cells are blocked and no stage ran or failed."""
    is_waiting = any(c.obstacles for c in comparison.cells)
    return is_waiting and bool(outcome.blocked) and not (outcome.run or outcome.failed)


def show_needs(
    words: Sequence[str], plan: Plan, comparison: Comparison, store: Store, *, gpu: str | None
) -> None:
    """Print requirements, remedies and hours of a selection that cannot run."""
    trainings = [node for node in plan.needed() if node.stage in stage_table.TRAININGS]
    cells = [c for c in comparison.cells if c.obstacles]
    places = _places(cells)
    verb = "trained" if trainings else "measured"
    waiting = count_in_words(c.cell for c in cells)
    print(f"Nothing of {', '.join(places)} can be {verb} on this machine.")
    printing.table(f"Blocked: {waiting}", ["kind", "requirement"], _requirement_lines(plan, store, gpu))
    tables = {c.cell.row_path.rpartition("/")[0] for c in cells}
    lines = _lines_by_row(cells, prefix=f"{min(tables)}/" if len(tables) == 1 else "")
    printing.table("Missing items by row", ["rows", "missing"], lines)
    print("Next commands:")
    for command, effect in _command_lines(shlex.join(words), plan, places):
        printing.show(f"{command}  {effect}")


def _requirement_lines(plan: Plan, store: Store, gpu: str | None) -> list[tuple[str, str]]:
    obstacles = plan.lacking
    rates = throughput(store, gpu)
    if rates is None or (gpu is None and rates.unit != "GPU"):
        rates = assumed_throughput(DEVICE)
    cost = estimate(plan, rates)
    lines = [("machine", str(o)) for o in obstacles.of_machine]
    if obstacles.fetch:
        lines.append(("to fetch", amount(obstacles.fetch)))
    lines += [("to find", sentence) for sentence in obstacles.otherwise]
    if any(stage_table.STAGES[node.stage].heavy for node in cost.nodes):
        lines.append(("work", _hours_in_words(cost, rates)))
    return [*lines, ("disk", f"about {cost.stored / GB:,.1f} GB of artefacts")]


def _hours_in_words(cost: Estimate, rates: Throughput) -> str:
    remainder = f", without {len(cost.uncounted)} stages of unknown size" if cost.uncounted else ""
    is_small = (cost.hours(cost.nodes) or 0.0) < 0.1
    hours = "less than 0.1" if is_small else f"about {cost.hours_in_words(cost.nodes)}"
    return f"{hours} {rates.unit} hours ({rates.basis}){remainder}"


def _command_lines(words: str, plan: Plan, places: Sequence[str]) -> list[tuple[str, str]]:
    lines = []
    if plan.lacking.fetch:
        folder = str(locations.data_folder()).replace(f"{Path.home()}/", "~/", 1)
        lines.append((_fetching(places), f"downloads the data into {folder}, with your consent"))
    if plan.scale.compares_with_paper:
        lines.append((f"repro run {words} --scale tiny", "runs it on embedded data"))
    return [*lines, (f"repro plan {words}", "lists the stages and their missing items")]


def _lines_by_row(cells: Sequence[ComparedCell], *, prefix: str = "") -> list[tuple[str, str]]:
    names_by_row = _names_by_row(cells, prefix)
    shared = set.intersection(*map(set, names_by_row.values()))
    common = [name for name in next(iter(names_by_row.values())) if name in shared]
    own = {row: tuple(name for name in names if name not in common) for row, names in names_by_row.items()}
    groups = grouped((names, row) for row, names in own.items())
    lines = [("every row", names_in_a_line(common))] if common else []
    if len(groups) > 1:
        lines += [(first_of(rows, ROWS), names_in_a_line(n) or "nothing else") for n, rows in groups.items()]
    return lines


def _names_by_row(cells: Sequence[ComparedCell], prefix: str) -> dict[str, list[str]]:
    by_row = grouped((c.cell.row_path.removeprefix(prefix), each) for c in cells for each in c.obstacles)
    return {row: requirements.NodeObstacles(obstacles).names for row, obstacles in by_row.items()}


def names_in_a_line(names: Sequence[str]) -> str:
    """Join names, grouped by their first part, e.g. "DATA (documents, dev)"."""
    phrases = []
    for root, parts in grouped((root, part) for root, _, part in (n.partition("/") for n in names)).items():
        contents = ", ".join(part or "documents" for part in parts)
        phrases.append(f"{root} ({contents})" if len(parts) > 1 else f"{root}/{parts[0]}".rstrip("/"))
    return ", ".join(phrases)


def blocked_cell_lines(comparison: Comparison) -> list[str]:
    """Return lines on the missing requirements of blocked rows, with remedies."""
    cells = [c for c in comparison.cells if c.obstacles and not c.cell.column.mean_of]
    if not cells:
        return []
    lacking = requirements.NodeObstacles(chain.from_iterable(c.obstacles for c in cells))
    if len(lacking.obstacles) == 1:
        [o] = lacking.obstacles
        return [f"blocked: {o} [{first_of([c.cell.id for c in cells], 3)}]"]
    lines = [f"blocked: {rows}: {names}" for rows, names in _lines_by_row(cells)]
    lines += [*map(str, lacking.of_machine), *lacking.otherwise]
    if lacking.fetch:
        lines.append(f"`{_fetching(_places(cells))}` downloads {amount(lacking.fetch)}")
    return lines


def _fetching(places: Sequence[str]) -> str:
    return " ".join(["repro data fetch", *(f"--for {place}" for place in places)])


def _places(cells: Sequence[ComparedCell]) -> list[str]:
    rows = list(dict.fromkeys(c.cell.row_path for c in cells))
    if len(rows) <= 2:
        return rows
    tables = grouped((c.cell.paper.name, c.cell.table.id) for c in cells)
    return [f"{name}/{ids[0]}" if len(set(ids)) == 1 else name for name, ids in tables.items()]
