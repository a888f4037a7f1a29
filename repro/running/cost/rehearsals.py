"""Measurements of rehearsals on this machine, kept beside the artefacts, for plans of full scale."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

from repro.errors import UsageError
from repro.graph import Node, canonical
from repro.machine.bounded_reading import read_json_file
from repro.machine.system import hardware
from repro.running.cost.amounts import PlannedCounts, amount
from repro.running.cost.extrapolation import RehearsedNode
from repro.running.cost.shapes import shape
from repro.store import Store, make_writable, translated_errors
from repro.store.disk import write_whole

# parameters that say which of several alike it is, not how much work it is
ALIKE = ("seed", "sample", "source", "identity", "revision")


@dataclass(frozen=True)
class MeasuredTime:
    """The time of nodes of one kind.

    Attributes:
        once: seconds whatever the amount.
        each: seconds of one more of the amount.
        of: the amount that time grows with; empty where it does not.
    """

    once: float
    each: float = 0.0
    of: str = ""

    def hours(self, node: Node) -> float | None:
        """Hours of a node of this kind; None where nobody counted the amount."""
        if not self.of:
            return self.once / 3600
        count = amount(self.of, node, PlannedCounts())
        return None if count is None else (self.once + self.each * count) / 3600


@dataclass(frozen=True)
class Rehearsals:
    """Times by kind of node, as ``kind_of`` tells them apart."""

    by_kind: dict[str, MeasuredTime]

    def hours(self, node: Node) -> float | None:
        """Hours of a node; None where none of its kind was rehearsed here."""
        measured = self.by_kind.get(kind_of(node))
        return measured and measured.hours(node)


def kind_of(node: Node) -> str:
    """A digest of what the pace follows from: the stage with its parameters, its data and its model.

    Parameters that tell alike nodes apart are no part of it. Of a model that is trained here its sizes count.
    """
    params = {name: value for name, value in node.params.items() if name not in ALIKE}
    model = node.inputs.get("model")
    model_facts = [model.params.get("name", ""), *astuple(shape(model))] if isinstance(model, Node) else []
    key = [node.stage, params, _data(node), model_facts]
    return hashlib.sha256(canonical(key).encode()).hexdigest()[:16]


def _data(node: Node) -> list[str]:
    """Collections and splits that a node reads through whatever, but not those its models were trained on."""
    names, seen, queue = set(), set(), [node]
    while queue:
        current = queue.pop()
        if current.fingerprint in seen:
            continue
        seen.add(current.fingerprint)
        names.add(current.params.get("dataset", ""))
        for name, value in current.inputs.items():
            if name != "model":
                queue += value if isinstance(value, tuple) else [value]
    return sorted(map(str, names))


def keep_times(nodes: Iterable[RehearsedNode], store: Store) -> Path:
    """Add what was measured to the store's file; returns its path. Raises StoreError where it cannot be.

    Of several nodes of one kind it is the slowest. What an earlier rehearsal told of a kind goes.
    """
    make_writable(store.root)
    path, content = _file(store), _read(store)
    machine_times = content.setdefault(_machine(), {})
    by_kind: dict[str, list[RehearsedNode]] = {}
    for each in nodes:
        by_kind.setdefault(kind_of(each.node), []).append(each)
    for kind, group in by_kind.items():
        machine_times.pop(kind, None)
        times = [_measured_time(each) for each in group if each.whole_seconds is not None]
        if times:  # else too little was done to tell
            machine_times[kind] = asdict(max(times, key=lambda one: one.hours(group[0].node) or 0.0))
    with translated_errors(store.root):
        write_whole(path, json.dumps(content, indent=1, sort_keys=True) + "\n")
    return path


def rehearsals(store: Store) -> Rehearsals:
    """Read what a machine like this one measured. Raises UsageError where the file cannot be read."""
    times = _read(store).get(_machine(), {})
    try:
        return Rehearsals({kind: MeasuredTime(**fields) for kind, fields in times.items()})
    except TypeError as error:
        raise _read_error(store, error) from None


def _measured_time(each: RehearsedNode) -> MeasuredTime:
    if each.share is None or each.whole_seconds is None:
        return MeasuredTime(each.seconds)
    if each.share.whole == each.share.done:
        return MeasuredTime(0.0, each.seconds / each.share.done, each.share.of)
    slope = (each.whole_seconds - each.seconds) / (each.share.whole - each.share.done)
    return MeasuredTime(each.seconds - slope * each.share.done, slope, each.share.of)


def _machine() -> str:
    """A digest of the hardware that decides times."""
    components = {name: value for name, value in hardware().items() if name in ("cpu", "cores", "gpu")}
    return hashlib.sha256(canonical(components).encode()).hexdigest()[:16]


def _file(store: Store) -> Path:
    return store.root / "rehearsals.json"


def _read(store: Store) -> dict:
    path = _file(store)
    if not path.exists():
        return {}
    try:
        content = read_json_file(path)
        if not isinstance(content, dict) or not all(isinstance(times, dict) for times in content.values()):
            raise ValueError("no object of objects")
    except (OSError, ValueError) as error:
        raise _read_error(store, error) from None
    return content


def _read_error(store: Store, error: Exception) -> UsageError:
    return UsageError(
        f"{_file(store)} cannot be read ({error}); remove it, `repro run --rehearse` writes it anew"
    )
