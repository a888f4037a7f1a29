"""Measured costs of rehearsals, extrapolated by ``stages.yaml``."""

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from repro.errors import UsageError
from repro.graph import Node, digest_of, each_node, grouped
from repro.machine.bounded_reading import read_json_file
from repro.machine.system import hardware
from repro.running.cost.amounts import StageCost, StoredCounts, amount, cost_of, size_of
from repro.running.cost.shapes import Number, shape
from repro.running.plan import Plan
from repro.store import Store, make_writable, translated_errors
from repro.store.disk import write_whole

KIB = 1024
FILE = "rehearsals.json"
INSTEAD = {"documents": ("documents", "words")}  # for uncounted amounts
MOST = 10_000  # maximum factor of times with one-time work
ALIKE = ("seed", "sample", "source", "identity", "revision")  # without influence on time


@dataclass(frozen=True)
class Share:
    """The size of an amount, e.g. "documents", in a rehearsal (``done``) and at full scale (``whole``)."""

    of: str
    done: float
    whole: float

    @property
    def times(self) -> float:
        return self.whole / self.done


@dataclass(frozen=True)
class MeasuredTime:
    """Seconds for the work done ``once``, and for ``each`` unit of the amount ``of``."""

    once: float
    each: float = 0.0
    of: str = ""

    def hours(self, node: Node) -> Number:
        count = amount(self.of, node) if self.of else 0.0
        return None if count is None else (self.once + self.each * count) / 3600


Rehearsals = Mapping[str, MeasuredTime]  # by kind
TIMES = TypeAdapter(dict[str, dict[str, MeasuredTime]])  # by machine and kind


@dataclass(frozen=True)
class RehearsedNode:
    """A node of full scale with measured and extrapolated costs.

    Attributes:
        share: the amount that its time grows with.
        time: None if too little was done.
        at_most: whether the time per unit may include work done once.
    """

    node: Node
    rehearsal: Node
    seconds: float
    peak_bytes: float
    gpu_bytes: float | None
    disk_bytes: float
    share: Share | None
    time: MeasuredTime | None
    whole_peak_bytes: Number
    whole_disk_bytes: Number
    at_most: bool

    @property
    def whole_seconds(self) -> Number:
        if self.time is None:
            return None
        return self.time.once + (self.time.each * self.share.whole if self.share else 0.0)

    @property
    def rate(self) -> float | None:
        """Units of ``share`` per second."""
        if self.share is None:
            return None
        each = self.time.each if self.time else self.seconds / self.share.done
        return 1 / each if each > 0 else None


def pairs(whole: Plan, rehearsal: Plan) -> dict[str, tuple[Node, Node]]:
    """Match the nodes of two plans. Returns fingerprint at full scale -> (node, its rehearsal)."""
    partners: dict[str, tuple[Node, Node]] = {}

    def meet(large: Node, small: Node) -> None:
        if large.fingerprint in partners or large.stage != small.stage:
            return
        for name, value in large.inputs.items():
            for one, another in zip(each_node(value), each_node(small.inputs.get(name, ())), strict=False):
                meet(one, another)
        partners[large.fingerprint] = large, small

    for large, small in zip(whole.ends, rehearsal.ends, strict=True):
        meet(large, small)
    return partners


def rehearsed_cost(node: Node, rehearsal: Node, store: Store) -> RehearsedNode:
    """Return the cost of a node by its rehearsal. Raises StoreError."""
    facts, cost = store.record(rehearsal)["facts"], cost_of(node)
    disk, seconds = size_of(rehearsal, store), float(facts["seconds"])
    share, disk_share = (_share(name, node, rehearsal, store) for name in (cost.time, cost.disk))
    time, at_most = None if cost.time else MeasuredTime(seconds), False
    if share is not None:
        repeated_seconds, at_most = _repeated_seconds(facts)
        if share.whole == share.done:
            time = MeasuredTime(0.0, seconds / share.done, share.of)
        elif not at_most or share.times <= MOST:
            time = MeasuredTime(seconds - repeated_seconds, repeated_seconds / share.done, share.of)
    return RehearsedNode(
        node=node,
        rehearsal=rehearsal,
        seconds=seconds,
        peak_bytes=facts["peak_memory_kib"] * KIB,
        gpu_bytes=facts.get("peak_gpu_bytes"),
        disk_bytes=disk,
        share=share,
        time=time,
        whole_peak_bytes=_peak(facts["peak_memory_kib"] * KIB, cost, node, rehearsal, store),
        whole_disk_bytes=disk * disk_share.times if disk_share else None if cost.disk else disk,
        at_most=at_most,
    )


def _share(name: str | None, node: Node, rehearsal: Node, store: Store) -> Share | None:
    for unit in INSTEAD.get(name, (name,)) if name else ():
        part, total = amount(unit, rehearsal, StoredCounts(store)), amount(unit, node)
        if part and total:
            return Share(unit, part, total)
    return None


def _repeated_seconds(facts: Mapping[str, Any]) -> tuple[float, bool]:
    tasks = [task for task in facts.get("tasks", {}).values() if task["done"]]
    if not tasks:
        return float(facts["seconds"]), True
    seconds = [task["pace"] * task["done"] if "pace" in task else task["seconds"] for task in tasks]
    return sum(seconds), any("pace" not in task for task in tasks)


def _peak(peak: float, cost: StageCost, node: Node, rehearsal: Node, store: Store) -> Number:
    for name, factor in cost.memory.items():
        share, count = _share(name, node, rehearsal, store), amount(name, rehearsal, StoredCounts(store))
        if share is None or count is None:
            return None
        peak += factor * count * (share.times - 1)
    return peak


def kind_of(node: Node) -> str:
    """Return a digest of all that determines a node's time per unit: parameters, data, model sizes."""
    params = {name: value for name, value in node.params.items() if name not in ALIKE}
    model = node.inputs.get("model")
    model_facts = [model.params.get("name", ""), *astuple(shape(model))] if isinstance(model, Node) else []
    return digest_of([node.stage, params, _data(node), model_facts])[:16]


def _data(node: Node) -> list[str]:
    names, nodes = set(), {node.fingerprint: node}
    queue = [node]
    while queue:
        current = queue.pop()
        names.add(str(current.params.get("dataset", "")))
        parents = [p for name, value in current.inputs.items() if name != "model" for p in each_node(value)]
        queue += [parent for parent in parents if parent.fingerprint not in nodes]
        nodes |= {parent.fingerprint: parent for parent in parents}
    return sorted(names)


def keep_times(nodes: Iterable[RehearsedNode], store: Store) -> Path:
    """Store the slowest time of each kind of node, and return the file. Raises StoreError."""
    make_writable(store.root)
    path, content = store.root / FILE, _read(store)
    machine_times = content.setdefault(_machine(), {})
    for kind, group in grouped((kind_of(each.node), each) for each in nodes).items():
        machine_times.pop(kind, None)
        if times := [each.time for each in group if each.time]:
            machine_times[kind] = max(times, key=lambda one: one.hours(group[0].node) or 0.0)
    with translated_errors(store.root):
        write_whole(path, TIMES.dump_json(content, indent=1).decode() + "\n")
    return path


def rehearsals(store: Store) -> dict[str, MeasuredTime]:
    """Return kind -> time measured on machines like this one. Raises UsageError for an unreadable file."""
    return _read(store).get(_machine(), {})


def _machine() -> str:
    facts = hardware()
    return digest_of({name: facts[name] for name in ("cpu", "cores", "gpu")})[:16]


def _read(store: Store) -> dict[str, dict[str, MeasuredTime]]:
    path = store.root / FILE
    try:
        return TIMES.validate_python(read_json_file(path)) if path.exists() else {}
    except (OSError, ValueError) as error:
        remedy = "remove it, `repro run --rehearse` writes it again"
        raise UsageError(f"{path} cannot be read ({str(error).partition(chr(10))[0]}), {remedy}") from None
