"""Nodes that are submitted together: siblings of one stage, and shards of one node, as one job array."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from repro.graph import Node

LONGEST = 1000  # where a cluster says nothing else, the number of an array's task is at most that


@dataclass(frozen=True)
class Batch:
    """The tasks that one call of sbatch submits.

    Attributes:
        tasks: number in the array -> node; of a single job 0.
        shards: number in the array -> how many shards its node has, where the tasks are shards of one node.
        waits: ids of jobs that every task waits for: whole jobs, whole arrays, or tasks ("12_3").
        same: ids of arrays of which each task waits for the one of its own number.
    """

    tasks: Mapping[int, Node]
    shards: int = 1
    waits: tuple[str, ...] = ()
    same: tuple[str, ...] = ()

    @property
    def array(self) -> bool:
        return 0 not in self.tasks

    @property
    def nodes(self) -> list[Node]:
        """The nodes that its tasks build, each once."""
        return list(dict.fromkeys(self.tasks.values()))

    def dependency(self) -> list[str]:
        """Options of sbatch: a task starts when what it waits for ended well, and goes when that failed."""
        kinds = (("afterok", self.waits), ("aftercorr", self.same))
        conditions = [":".join((kind, *ids)) for kind, ids in kinds if ids]
        return [f"--dependency={','.join(conditions)}", "--kill-on-invalid-dep=yes"] if conditions else []


@dataclass(frozen=True)
class _Dependency:
    """A way for tasks of one array to wait: all for ``waits``, each for its own number in ``same``."""

    stage: str
    waits: tuple[str, ...]
    same: tuple[str, ...]


def siblings(nodes: Iterable[Node], jobs: Mapping[str, Sequence[str]]) -> list[Batch]:
    """Arrange nodes, whose inputs are stored or submitted, into few submissions.

    In one array are nodes of one stage that wait for the same jobs and, in arrays submitted before, for the
    tasks of their own number. Nothing waits for more than its own inputs. Of the arrays that are possible
    the largest is taken first.

    Args:
        jobs: fingerprint -> ids of the jobs that build it, of what is submitted.
    """
    possible: dict[_Dependency, dict[Node, int | None]] = {}
    for node in nodes:
        for way, number in _ways(node, _ids(node, jobs)):
            possible.setdefault(way, {})[node] = number
    batches = []
    while possible:
        way = max(possible, key=lambda way: len(possible[way]))
        members = possible.pop(way)
        batches += _batches(way, members, jobs)
        possible = {
            w: remaining
            for w, numbers in possible.items()
            if (remaining := {n: numbers[n] for n in numbers if n not in members})
        }
    return batches


def _ways(node: Node, ids: tuple[str, ...]) -> Iterator[tuple[_Dependency, int | None]]:
    """The ways in which a node can wait for jobs and tasks, with the number that it then has, if it must."""
    yield _Dependency(node.stage, ids, ()), None
    for number in dict.fromkeys(id.partition("_")[2] for id in ids if "_" in id):
        numbered_ids = tuple(id for id in ids if id.endswith(f"_{number}"))
        other_ids = tuple(id for id in ids if id not in numbered_ids)
        yield (
            _Dependency(node.stage, other_ids, tuple(id.partition("_")[0] for id in numbered_ids)),
            int(number),
        )


def _ids(node: Node, jobs: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    ids = (id for parent in node.parents() for id in jobs.get(parent.fingerprint, ()))
    return tuple(dict.fromkeys(ids))


def _batches(
    way: _Dependency, members: Mapping[Node, int | None], jobs: Mapping[str, Sequence[str]]
) -> Iterator[Batch]:
    """The arrays of nodes that wait in one way: two that must have one number are in two of them."""
    arrays: list[dict[int, Node]] = []
    for node, number in members.items():
        free_arrays = (array for array in arrays if (number not in array if number else len(array) < LONGEST))
        if (array := next(free_arrays, None)) is None:
            arrays.append(array := {})
        array[number or len(array) + 1] = node
    for array in arrays:
        [node, *other_nodes] = array.values()
        yield (
            Batch(array, waits=way.waits, same=way.same)
            if other_nodes
            else Batch({0: node}, waits=_ids(node, jobs))
        )


def shard_array(node: Node, numbers: Iterable[int], shards: int, jobs: Mapping[str, Sequence[str]]) -> Batch:
    """An array whose tasks are shards of one node: those of ``numbers``, among ``shards``."""
    return Batch(dict.fromkeys(sorted(numbers), node), shards=shards, waits=_ids(node, jobs))
