"""The jobs that a plan is handed out as: a stage, a shard of one, or short stages that read one model."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from repro.graph import Node
from repro.machine.shard import Shard
from repro.running.cost.amounts import cost_of, total
from repro.running.cost.estimate import Estimate
from repro.running.cost.shapes import Number
from repro.running.engines.shared_work import count_of
from repro.stage_table import ENCODINGS, STAGES

GROUP = "score"  # what a job is called whose stages are of several kinds
SEARCHES = ("search", "search_views")
AT_ONCE = 60  # minutes that stages of one job may take together, by the estimate
MARGIN = 3  # times the estimate is what an attempt may take
LEAST, UNKNOWN = 10, 60  # minutes for what libraries take to load, and of a stage where nothing tells of it
BASE = 8_000  # megabytes of a job beside what grows with its texts: libraries, a model, a block


@dataclass(frozen=True)
class Job:
    """What one job of a queue builds: nodes, one after another, or a shard of one.

    Attributes:
        minutes, mem_mb: that the first attempt may take, and its memory in megabytes.
    """

    nodes: tuple[Node, ...]
    part: Shard
    minutes: int
    mem_mb: int

    @property
    def name(self) -> str:
        """What tells it from all other jobs."""
        first = self.nodes[0].fingerprint
        return first if self.part.whole else f"{first}.{self.part.number}-of-{self.part.count}"

    @property
    def kind(self) -> str:
        """The stage, or ``GROUP``."""
        kinds = {node.stage for node in self.nodes}
        return kinds.pop() if len(kinds) == 1 else GROUP


def takes_gpu(kind: str) -> bool:
    """Return whether jobs of a kind use a GPU where there is one."""
    return kind in (GROUP, *SEARCHES) or STAGES[kind].heavy


def arrange(nodes: Sequence[Node], cost: Estimate, *, shards: int = 1) -> list[Job]:
    """Arrange the nodes of a plan, inputs first, into jobs.

    Queries' encodings, searches and evaluations that read the vectors of one model on one collection are one
    job, as far as only such stages read what they make.

    Args:
        shards: jobs that share the work of a stage that can be divided, where it has so many blocks.
    """
    counts = {node.fingerprint: count_of(node, shards) for node in nodes}
    minutes = {node.fingerprint: _minutes(node, cost) for node in nodes}
    keys = _keys(nodes, counts)
    groups: dict[str, list[Node]] = {}  # by their first node
    latest: dict[str, tuple[str, float]] = {}  # by key, with the minutes so far
    for node in nodes:
        first, so_far = node.fingerprint, 0.0
        if key := keys.get(node.fingerprint):
            more = minutes[node.fingerprint] or 0.0
            if key in latest and latest[key][1] + more <= AT_ONCE:
                first, so_far = latest[key]
            latest[key] = first, so_far + more
        groups.setdefault(first, []).append(node)
    jobs = []
    for first, group in groups.items():
        count = counts[first]
        estimates = [minutes[node.fingerprint] for node in group]
        needed = sum(UNKNOWN if each is None else MARGIN * each for each in estimates) / count
        memory = max(total(cost_of(node).memory, node) or 0 for node in group) / 1e6
        for number in range(1, count + 1):
            part = Shard(number, count)
            jobs.append(Job(tuple(group), part, LEAST + math.ceil(needed), BASE + math.ceil(memory)))
    return jobs


def inputs(jobs: Sequence[Job]) -> dict[str, list[Job]]:
    """Return, by the name of a job, those that it waits for."""
    makers: dict[str, list[Job]] = {}
    for job in jobs:
        for node in job.nodes:
            makers.setdefault(node.fingerprint, []).append(job)
    waits: dict[str, list[Job]] = {}
    for job in jobs:
        parents = dict.fromkeys(parent.fingerprint for node in job.nodes for parent in node.parents())
        others = dict.fromkeys(other for parent in parents for other in makers.get(parent, ()))
        waits[job.name] = [other for other in others if other.nodes != job.nodes]
    return waits


def _keys(nodes: Sequence[Node], counts: Mapping[str, int]) -> dict[str, str]:
    """Return, by fingerprint of a short stage, the fingerprint of the vectors, or the run, that it reads."""
    readers: dict[str, list[Node]] = {}
    for node in nodes:
        for parent in node.parents():
            readers.setdefault(parent.fingerprint, []).append(node)
    keys: dict[str, str] = {}
    for node in reversed(nodes):
        reading = {keys.get(reader.fingerprint) for reader in readers.get(node.fingerprint, ())}
        key = None if None in reading or counts[node.fingerprint] > 1 else _key(node, reading)
        if key is not None:
            keys[node.fingerprint] = key
    return keys


def _key(node: Node, reading: set[str | None]) -> str | None:
    """Return the key of a node whose readers have the keys ``reading``; None where it is no short stage."""
    if node.stage in (*SEARCHES, "index_size"):
        return node.input("passages").fingerprint
    if node.stage == "evaluate":
        run = node.input("run")
        return (run.input("passages") if run.stage in SEARCHES else run).fingerprint
    if node.stage in ENCODINGS and node.params.get("kind") == "queries" and len(reading) == 1:
        return reading.pop()
    return None


def _minutes(node: Node, cost: Estimate) -> Number:
    """Return the minutes that a node takes by the estimate; None where nothing tells."""
    hours, is_known = cost.hours_of(node), cost.work_of(node).core_seconds is not None
    return 60 * (hours + cost.core_hours([node])) if hours is not None and is_known else None
