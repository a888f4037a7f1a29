"""The cost of whole nodes, extrapolated from what their rehearsals took by the rules of ``growth.yaml``."""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from repro.graph import Node
from repro.manifest import yaml_file
from repro.manifest.yaml_file import StrictMapping
from repro.running.cost.amounts import AMOUNTS, PlannedCounts, StoredCounts, amount, size_of
from repro.running.plan import Plan
from repro.store import Store

KIB = 1024
# what tells of a collection where nobody counted its documents
INSTEAD = {"documents": ("documents", "words")}
MOST = 10_000  # times that seconds are repeated where what is done once, loading libraries say, is among them


class Growth(StrictMapping):
    """The amounts that the cost of a stage grows with; ``growth.yaml`` tells what each entry is."""

    time: str | None = None
    disk: str | None = None
    memory: dict[str, float] = Field(default_factory=dict)


@dataclass(frozen=True)
class Share:
    """The amount of something that a rehearsal did, and how much there is in all.

    Attributes:
        of: its name in ``growth.yaml``.
    """

    of: str
    done: float
    whole: float

    @property
    def times(self) -> float:
        """The whole amount over that which was done."""
        return self.whole / self.done


@dataclass(frozen=True)
class RehearsedNode:
    """A node of full scale beside its rehearsal.

    Attributes:
        node, rehearsal: of the two plans.
        seconds, peak_bytes, gpu_bytes, disk_bytes: that the rehearsal took; of the GPU None without one.
        share: what its time grows with; None where it does not, or nobody knows.
        whole_seconds, whole_peak_bytes, whole_disk_bytes: extrapolated; None where a count is missing, or so
            little was done that nothing follows for the time.
        at_most: whether what the stage does once could not be told from what it repeats.
    """

    node: Node
    rehearsal: Node
    seconds: float
    peak_bytes: float
    gpu_bytes: float | None
    disk_bytes: float
    share: Share | None
    whole_seconds: float | None
    whole_peak_bytes: float | None
    whole_disk_bytes: float | None
    at_most: bool

    @property
    def rate(self) -> float | None:
        """Units of ``share`` a second, without what is done once."""
        if self.share is None or self.whole_seconds is None or self.share.whole <= self.share.done:
            return self.share and self.share.done / self.seconds if self.seconds else None
        added_seconds = self.whole_seconds - self.seconds
        return (self.share.whole - self.share.done) / added_seconds if added_seconds > 0 else None


@functools.cache
def growth() -> Mapping[str, Growth]:
    """The rules by stage. Raises ManifestError for an amount that there is not."""
    amounts = {*AMOUNTS}

    def faults(content: Mapping[str, Growth]) -> Iterator[yaml_file.Fault]:
        for stage, rule in content.items():
            for name in {rule.time, rule.disk, *rule.memory} - {None} - amounts:
                yield (stage,), f"{name!r} is no amount ({', '.join(sorted(amounts))})"

    return yaml_file.read(Path(__file__).with_name("growth.yaml"), dict[str, Growth], faults=faults)


def pairs(whole: Plan, rehearsal: Plan) -> dict[str, tuple[Node, Node]]:
    """Fingerprint of a node at full -> it and its rehearsal, from two plans of one selection.

    A node of the rehearsal alone, such as the first queries that judgements name, has no partner.
    """
    partners: dict[str, tuple[Node, Node]] = {}

    def meet(large: Node, small: Node) -> None:
        if large.fingerprint in partners or large.stage != small.stage:
            return
        for name, value in large.inputs.items():
            other = small.inputs.get(name)
            if isinstance(value, tuple) and isinstance(other, tuple):
                for one, another in zip(value, other, strict=False):
                    meet(one, another)
            elif isinstance(value, Node) and isinstance(other, Node):
                meet(value, other)
        partners[large.fingerprint] = large, small

    for large, small in zip(whole.ends, rehearsal.ends, strict=True):
        meet(large, small)
    return partners


def rehearsed_cost(node: Node, rehearsal: Node, store: Store) -> RehearsedNode:
    """The cost of ``node`` from its stored rehearsal. Raises StoreError where that is damaged or missing."""
    facts, rule = store.record(rehearsal)["facts"], growth().get(node.stage, Growth())
    disk, peak = size_of(rehearsal, store), facts["peak_memory_kib"] * KIB
    share, at_most = _share(rule.time, node, rehearsal, store), False
    seconds = whole = float(facts["seconds"])
    if share is not None:
        repeated_seconds, at_most = _repeated_seconds(facts)
        whole = None if at_most and share.times > MOST else seconds + repeated_seconds * (share.times - 1)
    elif rule.time:
        whole = None
    disk_share = _share(rule.disk, node, rehearsal, store)
    return RehearsedNode(
        node=node,
        rehearsal=rehearsal,
        seconds=seconds,
        peak_bytes=peak,
        gpu_bytes=facts.get("peak_gpu_bytes"),
        disk_bytes=disk,
        share=share,
        whole_seconds=whole,
        whole_peak_bytes=_peak(peak, rule, node, rehearsal, store),
        whole_disk_bytes=disk if rule.disk is None else disk_share and disk * disk_share.times,
        at_most=at_most,
    )


def _share(name: str | None, node: Node, rehearsal: Node, store: Store) -> Share | None:
    for unit in INSTEAD.get(name, (name,)) if name else ():
        part, total = amount(unit, rehearsal, StoredCounts(store)), amount(unit, node, PlannedCounts())
        if part and total:
            return Share(unit, part, total)
    return None


def _repeated_seconds(facts: Mapping[str, Any]) -> tuple[float, bool]:
    """Seconds of what a stage repeats for all that it worked on; whether more may be in it."""
    tasks = [task for task in facts.get("tasks", {}).values() if task["done"]]
    if not tasks:
        return float(facts["seconds"]), True
    seconds = [task["pace"] * task["done"] if "pace" in task else task["seconds"] for task in tasks]
    return sum(seconds), any("pace" not in task for task in tasks)


def _peak(peak: float, rule: Growth, node: Node, rehearsal: Node, store: Store) -> float | None:
    for name, factor in rule.memory.items():
        share, count = _share(name, node, rehearsal, store), amount(name, rehearsal, StoredCounts(store))
        if share is None or count is None:
            return None
        peak += factor * count * (share.times - 1)
    return peak
