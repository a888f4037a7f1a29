"""Summarise a plan: its downloads, disk and hours, and the missing requirements of cells that cannot run."""

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from repro import locations, stage_table
from repro.cli.printing import in_words, say, show, table
from repro.errors import first_of
from repro.graph import Node, grouped
from repro.machine import system
from repro.machine.system import size_in_words
from repro.manifest.cells import count_in_words
from repro.retrieval.datasets.fetching import amount
from repro.running import discarding, measurement, recipe_calls, requirements, runner
from repro.running.cost.amounts import BATCHES
from repro.running.cost.estimate import (
    Estimate,
    Throughput,
    assumed_throughput,
    estimate,
    rounded,
    throughput,
)
from repro.running.cost.work import step_memory_of
from repro.running.plan import Plan
from repro.store import Store
from repro.verdicts.compared import ComparedCell, Comparison

GB = 1e9
FEW = 12
KINDS = 4
Cells = Sequence[ComparedCell]


def show_summary(
    cost: Estimate, rows: Sequence[dict], root: Path, *, discard: Sequence[str], max_disk: int | None
) -> None:
    """Print a plan's summary on standard error. ``rows`` are its stages as JSON."""
    plan = cost.plan
    lines = [
        f"{count_in_words(plan.cells)}: {len(plan.measurements)} measurements at scale {plan.scale.name}",
        f"{len(rows)} stages ({plan.asked} without sharing), {sum(r['needed'] for r in rows)} to run",
    ]
    if reasons := recipe_calls.refusals(plan.cells, plan.scale):
        lines.append(f"not measured: {reasons.total()} cells. Reasons: {in_words(reasons)}")
    if cost.nodes:
        lines += [f"to download: {downloads(cost)}", *_disk_lines(cost, root, discard, max_disk)]
        lines += [_work_line(cost), *_rehearsal_lines(cost), *micro_batch_notes(cost)]
        if cost.throughput and cost.throughput.shares:
            lines.append(f"shares of the peak: {cost.throughput.shares}")
    if cost.uncounted:
        stages = ", ".join(dict.fromkeys(n.stage for n in cost.uncounted))
        lines.append(f"not estimated (unknown number of texts): {len(cost.uncounted)} stages ({stages})")
    lines += [_obstacle_line(plan, rows), *_incomparable_lines(plan)]
    for line in lines:
        say(line)


def downloads(cost: Estimate) -> str:
    """Return e.g. "1.0 GB in 2 archives, 3 checkpoints", or "nothing"."""
    sizes = [size for size in cost.downloads.values() if size]
    unknown = len(cost.downloads) - len(sizes)
    parts = [f"{sum(sizes) / GB:,.1f} GB in {len(sizes)} archives"] if sizes else []
    parts += [f"{unknown} collections of unknown size"] if unknown else []
    parts += [f"{len(cost.checkpoints)} checkpoints"] if cost.checkpoints else []
    return ", ".join(parts) or "nothing"


def _disk_lines(cost: Estimate, root: Path, discard: Sequence[str], max_disk: int | None) -> list[str]:
    before, free = cost.bytes_stored(root), system.disk_free(root)

    def peak(kinds: Sequence[str]) -> tuple[float, str]:
        level = cost.fullest(discarding.discarded_stages(kinds), before=before)
        return (level.during, level.node.stage) if level else (0.0, "")

    most, stage = peak(discard)
    current = f", {size_in_words(before)} already stored" if before else ""
    option = f" with --discard {','.join(discard)}" if discard else ""
    lines = [
        f"disk: about {size_in_words(cost.stored)} of new artefacts{current}. Peak{option}:"
        f" {size_in_words(most)}, while {stage} writes. Free: {size_in_words(free)}"
    ]
    limit = before + free if max_disk is None else min(before + free, max_disk)
    if most > limit:
        limits = f"at most {size_in_words(limit)} can be used"
        lowest = f"The peak is {size_in_words(peak(['vectors'])[0])} with --discard vectors"
        lines.append(f"does not fit: {limits}. {lowest}")
    return lines


def _work_line(cost: Estimate) -> str:
    work, rates = f"work: about {cost.operations:.2g} FLOP", cost.throughput
    cores = f"{rounded(cost.core_hours(cost.nodes))} core hours for text, tokens, rankings and negatives"
    if rates is None:
        hint = "To estimate hours, measure this machine (`repro doctor calibrate`) or name a GPU with --gpu"
        return f"{work}, {cores}. {hint}"
    return f"{work}, about {cost.hours_in_words(cost.nodes)} {rates.unit} hours ({rates.basis}), {cores}"


def _rehearsal_lines(cost: Estimate) -> list[str]:
    nodes = [n for n in cost.nodes if cost.rehearsed(n) is not None]
    if not nodes:
        return []
    share = f"{len(nodes)} of {len(cost.nodes)} stages"
    return [f"measured in rehearsal on this machine: {share}, {cost.hours_in_words(nodes)} hours in all"]


def _obstacle_line(plan: Plan, rows: Sequence[dict]) -> str:
    number = sum(row["state"] == "blocked" for row in rows)
    if not number:
        return "obstacles: none"
    names = plan.lacking.names
    remainder = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return f"obstacles: {number} stages are blocked, lacking {names_in_a_line(names[:FEW])}{remainder}"


def _incomparable_lines(plan: Plan) -> list[str]:
    judged = plan.measurements if plan.scale.compares_with_paper else ()
    others = (m for m in judged if not _is_authors_model(m))
    cells = grouped((departure, m.cell) for m in others for departure in m.departures.items())
    return [
        f"not comparable: {count_in_words(group)}, because the unspecified choice {reading} is {choice}"
        f" and not its default. Remove --reading {reading} to compare them"
        for (reading, choice), group in cells.items()
    ]


def _is_authors_model(m: measurement.Measurement) -> bool:
    readings = m.cell.paper.readings
    return all(r in readings and choice in readings[r].released for r, choice in m.departures.items())


def micro_batch_notes(cost: Estimate) -> list[str]:
    """Return at most one note, on trainings that need micro-batches on the estimate's GPU or this one."""
    memory = cost.throughput.memory if cost.throughput else system.gpu_memory()
    if not memory or not (counts := _trainings_in_parts(cost.nodes, memory)):
        return []
    names = [*counts][:KINDS] + ([f"{len(counts) - KINDS} more kinds"] if len(counts) > KINDS else [])
    number = f"{counts.total()} training{'s' * (counts.total() > 1)}"
    return [
        f"micro-batches: on a GPU of {memory / GB:.0f} GB, each step of {number} is computed in parts"
        f" ({', '.join(names)}). A part that does not fit is halved. REPRO_MICRO_BATCH sets another size"
    ]


def _trainings_in_parts(nodes: Iterable[Node], memory: float) -> Counter[str]:
    counts: Counter[str] = Counter()
    for node in nodes:
        if node.stage in stage_table.TRAININGS:
            examples = node.params[BATCHES[node.stage]]
            if size := step_memory_of(node).micro_batch(examples, memory):
                counts[f"{node.stage} {node.params['objective']['name']} {size:,} of {examples:,}"] += 1
    return counts


DEVICE = "h100"
ROWS = 3


def nothing_can_run(comparison: Comparison, outcome: runner.Outcome) -> bool:
    """Return whether cells and stages are blocked, and no stage ran or failed."""
    is_waiting = any(c.obstacles for c in comparison.cells)
    return is_waiting and bool(outcome.blocked) and not (outcome.run or outcome.failed)


def show_needs(
    words: Sequence[str], plan: Plan, comparison: Comparison, store: Store, *, gpu: str | None
) -> None:
    """Print requirements, remedies and hours of a selection that cannot run. ``words`` select it."""
    trainings = [n for n in plan.needed() if n.stage in stage_table.TRAININGS]
    cells = [c for c in comparison.cells if c.obstacles]
    places = _places(cells)
    verb = "trained" if trainings else "measured"
    waiting = count_in_words(c.cell for c in cells)
    print(f"Nothing of {', '.join(places)} can be {verb} on this machine.")
    table(f"Blocked: {waiting}", ["kind", "requirement"], _requirement_lines(plan, store, gpu))
    tables = {c.cell.row_path.rpartition("/")[0] for c in cells}
    lines = _lines_by_row(cells, prefix=f"{min(tables)}/" if len(tables) == 1 else "")
    table("Missing items by row", ["rows", "missing"], lines)
    print("Next commands:")
    for command, effect in _command_lines(shlex.join(words), plan, places):
        show(f"{command}  {effect}")


def _requirement_lines(plan: Plan, store: Store, gpu: str | None) -> list[tuple[str, str]]:
    obstacles = plan.lacking
    rates = throughput(store, gpu)
    if rates is None or (gpu is None and rates.unit != "GPU"):
        rates = assumed_throughput(DEVICE)
    cost = estimate(plan, rates)
    lines = [("machine", str(o)) for o in obstacles.of_machine]
    if obstacles.fetch:
        lines.append(("to fetch", amount(obstacles.fetch)))
    lines += [("to find", s) for s in obstacles.otherwise]
    if any(stage_table.STAGES[n.stage].heavy for n in cost.nodes):
        lines.append(("work", _hours_in_words(cost, rates)))
    return [*lines, ("disk", f"about {rounded(cost.stored / GB, 3)} GB of artefacts")]


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


def _lines_by_row(cells: Cells, *, prefix: str = "") -> list[tuple[str, str]]:
    lacking = _names_by_row(cells, prefix)
    shared = set.intersection(*map(set, lacking.values()))
    common = [name for name in next(iter(lacking.values())) if name in shared]
    groups = grouped((tuple(n for n in names if n not in common), row) for row, names in lacking.items())
    lines = [("every row", names_in_a_line(common))] if common else []
    if len(groups) > 1:
        lines += [(first_of(rows, ROWS), names_in_a_line(n) or "nothing else") for n, rows in groups.items()]
    return lines


def _names_by_row(cells: Cells, prefix: str) -> dict[str, list[str]]:
    by_row = grouped((c.cell.row_path.removeprefix(prefix), each) for c in cells for each in c.obstacles)
    return {row: requirements.NodeObstacles(each).names for row, each in by_row.items()}


def names_in_a_line(names: Sequence[str]) -> str:
    """Return names as text, grouped by their first part, e.g. "DATA (documents, dev)"."""
    phrases = []
    for root, parts in grouped((root, part) for root, _, part in (n.partition("/") for n in names)).items():
        contents = ", ".join(part or "documents" for part in parts)
        phrases.append(f"{root} ({contents})" if len(parts) > 1 else f"{root}/{parts[0]}".rstrip("/"))
    return ", ".join(phrases)


def blocked_cell_lines(comparison: Comparison) -> list[str]:
    """Return sentences on the missing requirements of blocked rows, and their remedies."""
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


def _places(cells: Cells) -> list[str]:
    rows = list(dict.fromkeys(c.cell.row_path for c in cells))
    if len(rows) <= 2:
        return rows
    tables = grouped((c.cell.paper.name, c.cell.table.id) for c in cells)
    return [f"{name}/{ids[0]}" if len(set(ids)) == 1 else name for name, ids in tables.items()]
