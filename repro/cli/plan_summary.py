"""Summarise a plan, e.g. its downloads, hours and missing requirements."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from repro.cli.obstacles import GB, names_in_a_line
from repro.cli.printing import in_words, say
from repro.graph import Node, grouped
from repro.machine import system
from repro.machine.system import size_in_words
from repro.manifest.cells import count_in_words
from repro.running import discarding, measurement, recipe_calls
from repro.running.cost.amounts import BATCHES
from repro.running.cost.estimate import Estimate
from repro.running.cost.work import step_memory_of
from repro.running.plan import Plan
from repro.stage_table import TRAININGS

FEW = 12
KINDS = 4


def show_summary(
    cost: Estimate, rows: Sequence[dict], root: Path, *, discard: Sequence[str], max_disk: int | None
) -> None:
    """Print a plan's summary. ``rows`` are its stages as JSON objects."""
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
        stages = ", ".join(dict.fromkeys(node.stage for node in cost.uncounted))
        lines.append(f"not estimated, for lack of a number of texts: {len(cost.uncounted)} stages ({stages})")
    lines += [_obstacle_line(plan, rows), *_incomparable_lines(plan)]
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
        lowest = size_in_words(peak(["vectors"])[0])
        lines.append(
            f"does not fit: at most {size_in_words(limit)} can be used."
            f" The peak is {lowest} with --discard vectors"
        )
    return lines


def _work_line(cost: Estimate) -> str:
    work, rates = f"work: about {cost.operations:.2g} FLOP", cost.throughput
    cores = f"{cost.core_hours(cost.nodes):,.1f} core hours for text, tokens, rankings and negatives"
    if rates is None:
        hint = "To estimate hours, measure this machine (`repro doctor calibrate`) or name a GPU with --gpu"
        return f"{work}, {cores}. {hint}"
    return f"{work}, about {cost.hours_in_words(cost.nodes)} {rates.unit} hours ({rates.basis}), {cores}"


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
    """Return a note on trainings that need micro-batches on the GPU of the estimate or of this machine."""
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
        if node.stage in TRAININGS:
            examples = node.params[BATCHES[node.stage]]
            if size := step_memory_of(node).micro_batch(examples, memory):
                counts[f"{node.stage} {node.params['objective']['name']} {size:,} of {examples:,}"] += 1
    return counts
