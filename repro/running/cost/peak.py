"""The disk that a plan takes at its fullest, by carrying it out in thought: node by node, with what goes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from repro.graph import Node
from repro.running.discarding import Consumers


@dataclass(frozen=True)
class MemoryLevel:
    """The bytes that a plan takes with one node.

    Attributes:
        during: at most while it is made.
        after: once it is stored, and what nothing reads any more is gone.
        gone: what went then.
    """

    node: Node
    during: float
    after: float
    gone: tuple[Node, ...]


def levels(
    order: Iterable[Node],
    consumers: Consumers,
    sizes: Callable[[Node], tuple[float, float]],
    *,
    before: float = 0.0,
) -> Iterator[MemoryLevel]:
    """Carry out nodes in an order.

    Args:
        consumers: of what may go, as a run has it before its first node; used up.
        sizes: bytes of a node's artefact, and those beside it while it is made.
        before: bytes that are stored already.
    """
    used_bytes = before
    for node in _discard_free(consumers):
        used_bytes -= sizes(node)[0]
    for node in order:
        artefact_bytes, extra_bytes = sizes(node)
        peak = used_bytes + artefact_bytes + extra_bytes
        consumers.stored(node)
        removed_nodes = _discard_free(consumers)
        used_bytes += artefact_bytes - sum(sizes(other)[0] for other in removed_nodes)
        yield MemoryLevel(node, peak, used_bytes, removed_nodes)


def _discard_free(consumers: Consumers) -> tuple[Node, ...]:
    free_nodes = tuple(consumers.free())
    for node in free_nodes:
        consumers.gone(node)
    return free_nodes


def fullest_level(course: Sequence[MemoryLevel]) -> MemoryLevel | None:
    """The level at which most is taken; None of an empty plan."""
    return max(course, key=lambda level: level.during, default=None)
