"""Summarise a plan, e.g. its downloads, hours and missing requirements."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from repro.cli.obstacles import GB, names_in_a_line
from repro.cli.printing import in_words, say
from repro.graph import Node
from repro.machine import system
from repro.machine.system import size_in_words
from repro.manifest.cells import count_in_words
from repro.retrieval.training.declaration import declared
from repro.running import discarding, measurement, recipe_calls
from repro.running.cost.estimate import Estimate, assumed_throughput, estimate
from repro.running.cost.work import step_memory_of
from repro.running.plan import Plan
from repro.stage_table import TRAININGS

COMMON = ("h100", "rtx4090")
SHOWN = 0.05  # hours, which one decimal shows
FEW = 12
KINDS = 4


def show_summary(
    cost: Estimate, rows: Sequence[dict], root: Path, *, discard: Sequence[str], max_disk: int | None
) -> None:
    """Print a plan's summary. ``rows`` are its stages as JSON."""
    plan = cost.plan
    lines = [
        f"{count_in_words(plan.cells)}: {len(plan.measurements)} measurements at scale {plan.scale.name}",
        f"{len(rows)} stages ({plan.asked} without sharing), {sum(r['needed'] for r in rows)} to run",
    ]
    if reasons := recipe_calls.refusals(plan.cells, plan.scale):
        lines.append(f"not measured: {reasons.total()} cells. Reasons: {in_words(reasons)}")
    if cost.nodes:
        lines += [f"to download: {downloads(cost)}", *_disk_lines(cost, root, discard, max_disk)]
        lines += [_work_line(cost), *_rehearsal_lines(cost), *device_notes(cost)]
        if cost.throughput and cost.throughput.shares:
            lines.append(f"shares of the peak: {cost.throughput.shares}")
    if cost.uncounted:
        stages = ", ".join(dict.fromkeys(node.stage for node in cost.uncounted))
        number = len(cost.uncounted)
        lines.append(f"not estimated, because their number of texts is unknown: {number} of {stages}")
    lines += [_obstacle_line(plan, rows), *_incomparable_lines(plan, rows)]
    for line in lines:
        say(line)


def downloads(cost: Estimate) -> str:
    """Describe downloads, e.g. "1.0 GB in 2 archives, 3 checkpoints"."""
    sizes = [size for size in cost.downloads.values() if size]
    without_size = len(cost.downloads) - len(sizes)
    parts = [f"{sum(sizes) / GB:,.1f} GB in {len(sizes)} archives"] if sizes else []
    parts += [f"{without_size} collections of unknown size"] if without_size else []
    parts += [f"{len(cost.checkpoints)} checkpoints"] if cost.checkpoints else []
    return ", ".join(parts) or "nothing"


def _disk_lines(cost: Estimate, root: Path, discard: Sequence[str], max_disk: int | None) -> list[str]:
    bytes_before, free = cost.bytes_stored(root), system.disk_free(root)

    def peak(kinds: Sequence[str]) -> tuple[float, str]:
        level = cost.fullest(discarding.discarded_stages(kinds), before=bytes_before)
        return (level.during, level.node.stage) if level else (0.0, "")

    most, stage = peak(discard)
    current = f", {size_in_words(bytes_before)} already stored" if bytes_before else ""
    option = f" with --discard {','.join(discard)}" if discard else ""
    lines = [
        f"disk: about {size_in_words(cost.stored)} of new artefacts{current}. Peak{option}:"
        f" {size_in_words(most)}, while {stage} writes. Free: {size_in_words(free)}"
    ]
    limit = bytes_before + free if max_disk is None else min(bytes_before + free, max_disk)
    if most > limit:
        vectors, lowest = (
            size_in_words(peak(kinds)[0]) for kinds in (["vectors"], [*discarding.DISCARDABLE])
        )
        lines.append(
            f"does not fit: at most {size_in_words(limit)} can be used. The peak is {vectors}"
            f" with --discard vectors, {lowest} with --discard {','.join(discarding.DISCARDABLE)}"
        )
    return lines


def _work_line(cost: Estimate) -> str:
    work, rates = f"work: about {cost.operations:.2g} FLOP", cost.throughput
    cores = f"{cost.core_hours(cost.nodes):,.1f} core hours for text, tokens, rankings and negatives"
    if rates is None:
        hint = "To estimate hours, measure this machine (`repro doctor calibrate`) or name a GPU with --gpu"
        return f"{work}, {cores}{_hours_by_device(cost)}. {hint}"
    return f"{work}, about {cost.hours_in_words(cost.nodes)} {rates.unit} hours ({rates.basis}), {cores}"


def _hours_by_device(cost: Estimate) -> str:
    costs = {gpu: estimate(cost.plan, assumed_throughput(gpu), cost.rehearsals) for gpu in COMMON}
    if max(each.hours(cost.nodes) or 0.0 for each in costs.values()) < SHOWN:
        return ""
    words = (f"{each.hours_in_words(cost.nodes)} hours of one {gpu}" for gpu, each in costs.items())
    return f", about {' or '.join(words)}"


def _rehearsal_lines(cost: Estimate) -> list[str]:
    nodes = [node for node in cost.nodes if cost.rehearsed(node) is not None]
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


def _incomparable_lines(plan: Plan, rows: Sequence[dict]) -> list[str]:
    by_id = {m.cell.id: m.cell for m in plan.measurements}

    def counted(ids: Iterable[str]) -> str:
        return count_in_words(by_id[identifier] for identifier in ids)

    lines = [
        f"not comparable: {counted(ids)}, because the unspecified choice"
        f" {reading} is {choice} and not its default. Remove --reading {reading} to compare them"
        for (reading, choice), ids in incomparable_cells(plan).items()
    ]
    remedies = {row["fingerprint"]: [o["remedy"] for o in row["blocked"]] for row in rows}
    for stand_in, ids in incomparable_by_stand_ins(plan, remedies).items():
        names = " and ".join(name for name, choice in plan.machine.stand_ins.items() if choice == stand_in)
        lines.append(
            f"not comparable with --reading {stand_in}: {counted(ids)}, because"
            f" {names} is not here: get it to compare them"
        )
    return lines


def incomparable_cells(plan: Plan) -> dict[tuple[str, str], set[str]]:
    """Return (reading, choice) -> cells that this choice makes not comparable with the paper."""
    cells: dict[tuple[str, str], set[str]] = {}
    for m in plan.measurements if plan.scale.compares_with_paper else ():
        for departure in () if _is_authors_model(m) else m.departures.items():
            cells.setdefault(departure, set()).add(m.cell.id)
    return cells


def incomparable_by_stand_ins(plan: Plan, remedies: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
    """Return a remedy's ``READING=CHOICE`` -> cells that it makes not comparable with the paper."""
    cells: dict[str, set[str]] = {}
    for choice in dict.fromkeys(plan.machine.stand_ins.values()):
        for m in plan.measurements:
            if any(f"--reading {choice}" in remedy for p in m.parts for remedy in remedies[p.fingerprint]):
                cells.setdefault(choice, set()).add(m.cell.id)
    return cells


def _is_authors_model(m: measurement.Measurement) -> bool:
    readings = m.cell.paper.readings
    return all(r in readings and choice in readings[r].released for r, choice in m.departures.items())


def device_notes(cost: Estimate) -> list[str]:
    """Return notes on GPU memory: of the GPU of the estimate, or of this machine."""
    memory = cost.throughput.memory if cost.throughput else system.gpu_memory()
    return [*_largest_step(cost), *(_micro_batches(cost, memory) if memory else ())]


def _largest_step(cost: Estimate) -> list[str]:
    trainings = [node for node in cost.nodes if node.stage in TRAININGS]
    largest = max(trainings, key=step_bytes, default=None)
    if largest is None or (size := step_bytes(largest)) < GB:
        return []
    step = f"{largest.stage} {largest.params['objective']['name']}"
    return [f"GPU memory needed: about {size / GB:,.0f} GB for the largest step at once ({step})"]


def _micro_batches(cost: Estimate, memory: float) -> list[str]:
    counts = in_parts(cost.nodes, memory)
    if not counts:
        return []
    names = [*counts][:KINDS] + ([f"{len(counts) - KINDS} more kinds"] if len(counts) > KINDS else [])
    start = "1 training begins" if counts.total() == 1 else f"{counts.total()} trainings begin"
    return [
        f"micro-batches: on {memory / GB:.0f} GB, {start} with a part of a step at a time"
        f" ({', '.join(names)}). A part that does not fit is halved. REPRO_MICRO_BATCH sets another size"
    ]


def in_parts(nodes: Iterable[Node], memory: float) -> Counter[str]:
    """Count trainings that need micro-batches in ``memory`` bytes, by a description of the training."""
    counts: Counter[str] = Counter()
    for node in nodes:
        if node.stage in TRAININGS and not declared(objective := node.params["objective"]).own_parts:
            examples = _examples(node)
            if size := step_memory_of(node).micro_batch(examples, memory):
                counts[f"{node.stage} {objective['name']} {size:,} of {examples:,}"] += 1
    return counts


def _examples(node: Node) -> int:
    return node.params.get("texts_per_batch") or node.params["queries_per_batch"]


def step_bytes(node: Node) -> float:
    """Return the GPU memory in bytes of a training step without micro-batches."""
    return step_memory_of(node).whole(_examples(node))
