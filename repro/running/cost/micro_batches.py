"""The trainings of a plan whose steps are made in parts, since a GPU does not hold the whole."""

from collections.abc import Iterable
from dataclasses import dataclass

from repro.graph import Node
from repro.running.cost.shapes import shape
from repro.stage_table import TRAININGS
from repro.training.declaration import declaration
from repro.training.memory import StepMemory, example_tokens, predicts_words


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
    if size is None or declaration(objective["path"]).own_parts:
        return None
    return PartedTraining(node.stage, objective["name"], examples, size)


def step_bytes(node: Node) -> float:
    """Bytes of a GPU that a step of a planned training takes when it is made at once."""
    examples = node.params.get("texts_per_batch") or node.params["queries_per_batch"]
    return step_memory_of(node).whole(examples)


def step_memory_of(node: Node) -> StepMemory:
    """The memory of a step of a planned training, as ``repro.training.memory.step_memory`` has it."""
    model = shape(node)
    return StepMemory(
        parameters=model.all_weights,
        layers=model.layers,
        hidden=model.hidden,
        tokens=example_tokens(node.params),
        vocabulary=model.vocabulary if predicts_words(node.params) else 0,
        precision=node.params["precision"],
    )
