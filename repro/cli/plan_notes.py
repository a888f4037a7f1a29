"""Lines of a plan on the device: steps that it takes in parts."""

from collections.abc import Iterable
from dataclasses import dataclass

from repro.graph import Node
from repro.machine import system
from repro.retrieval.training.declaration import declared
from repro.retrieval.training.memory import StepMemory, example_tokens, predicts_words
from repro.running.cost.estimate import Estimate
from repro.running.cost.shapes import shape
from repro.stage_table import TRAININGS

GB = 1e9
FEW = 4  # kinds of training that are named


def device_notes(cost: Estimate) -> list[str]:
    """Sentences on the GPU that hours are told of, else on the one at hand; none without."""
    memory = cost.throughput.memory if cost.throughput else system.gpu_memory()
    return [*_largest_step(cost), *(_micro_batches(cost, memory) if memory else ())]


def _largest_step(cost: Estimate) -> list[str]:
    """The bytes of a GPU that the largest step takes at once, where they are a GB at least."""
    trainings = [node for node in cost.nodes if node.stage in TRAININGS]
    largest = max(trainings, key=step_bytes, default=None)
    if largest is None or step_bytes(largest) < GB:
        return []
    step = f"{largest.stage} {largest.params['objective']['name']}"
    return [
        f"memory of the GPU: about {step_bytes(largest) / GB:,.0f} GB for the largest step at once ({step})"
    ]


def _micro_batches(cost: Estimate, memory: float) -> list[str]:
    counts = in_parts(cost.nodes, memory)
    if not counts:
        return []
    names = [f"{p.stage} {p.objective} {p.size:,} of {p.examples:,}" for p in list(counts)[:FEW]]
    tail = [f"{len(counts) - FEW} more kinds"] if len(counts) > FEW else []
    number = sum(counts.values())
    start = f"{number} training{' begins' if number == 1 else 's begin'} with a part of a step at a time"
    return [
        f"micro-batches: on {memory / GB:.0f} GB, {start} ({', '.join([*names, *tail])}); what does not"
        " fit is halved, and REPRO_MICRO_BATCH sets another size"
    ]


@dataclass(frozen=True)
class PartedTraining:
    """A training whose step begins in parts of ``size`` of its ``examples``."""

    stage: str
    objective: str
    examples: int
    size: int


def in_parts(nodes: Iterable[Node], memory: float) -> dict[PartedTraining, int]:
    """The trainings, counted, that take a step in such parts on a GPU of so many bytes; none with its own."""
    counts: dict[PartedTraining, int] = {}
    for node in nodes:
        if node.stage in TRAININGS and (part := _part(node, memory)):
            counts[part] = counts.get(part, 0) + 1
    return counts


def _part(node: Node, memory: float) -> PartedTraining | None:
    objective, params = node.params["objective"], node.params
    examples = params.get("texts_per_batch") or params["queries_per_batch"]
    size = step_memory_of(node).micro_batch(examples, memory)
    if size is None or declared(objective).own_parts:
        return None
    return PartedTraining(node.stage, objective["name"], examples, size)


def step_bytes(node: Node) -> float:
    """Bytes of a GPU that a step of a planned training takes when it is made at once."""
    examples = node.params.get("texts_per_batch") or node.params["queries_per_batch"]
    return step_memory_of(node).whole(examples)


def step_memory_of(node: Node) -> StepMemory:
    """Return the memory of a step of a planned training, as ``training.memory.step_memory`` has it."""
    model = shape(node)
    return StepMemory(
        parameters=model.all_weights,
        layers=model.layers,
        hidden=model.hidden,
        tokens=example_tokens(node.params),
        vocabulary=model.vocabulary if predicts_words(node.params) else 0,
        precision=node.params["precision"],
    )
