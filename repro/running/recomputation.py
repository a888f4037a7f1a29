"""A sample of the stored artefacts, computed again from their stored inputs in a scratch folder."""

from __future__ import annotations

import functools
import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from repro.errors import BlockedError
from repro.graph import Node
from repro.machine import kernels
from repro.progress import Progress
from repro.running.agreement import Agreement, agreement
from repro.running.engines.inline import run_stage
from repro.running.provenance import differences
from repro.stage_table import ENCODINGS, STAGES, TRAININGS
from repro.store import Store
from repro.store.lineage import Lineage

# days of work, and bytes of Lucene's that differ each time
TOO_MUCH = (*TRAININGS, "lucene_index")
OUTSIDE = {"source", "checkpoint"}  # where these lie the store does not hold all inputs
# of floats drawn or added up by instructions that a processor chooses; of all else every bit is due
TOLERANCES = dict.fromkeys(("initialise", *ENCODINGS, "score_pairs", "rerank"), 1e-5)
TOLERANCES |= {"project": 1e-5, "compare": 1e-9, "evaluate": 1e-12}  # the last two: functions of a C library
HALF_PRECISION = 1e-2


@dataclass(frozen=True)
class Recomputation:
    """One artefact, computed again.

    Attributes:
        agreement: ``bits``, ``tolerance``, ``none``, or ``failed`` and ``blocked``, where nothing came of it.
        difference: as :class:`repro.running.agreement.Agreement` has it.
        why: a sentence where it does not agree, or could not be computed.
        other_code: the modules and libraries that made the stored one and are others here; None if unknown.
    """

    stage: str
    fingerprint: str
    agreement: str
    tolerance: float
    difference: float | None
    why: str
    other_code: list[str] | None

    def as_json(self) -> dict:
        """The object that ``verify --deep --json`` prints."""
        return asdict(self)


@dataclass(frozen=True)
class Sample:
    """Nodes to compute again, and the artefacts, by stage, that could not be chosen.

    Attributes:
        nodes: in the order of the stages.
        of: stage -> how many it was drawn from.
        left_out: stage -> artefacts that are not computed again: a training, one whose inputs or plan are not
            in the store, or one of an earlier version of its stage.
    """

    nodes: list[Node]
    of: dict[str, int]
    left_out: dict[str, int]


def draw(store: Store, *, size: int, seed: int) -> Sample:
    """``size`` artefacts of every stage that can be computed again from what is stored.

    The choice among a stage's artefacts depends on the seed and on these alone.
    """
    nodes, counts, omissions, find_node = [], {}, {}, _node_lookup(Lineage(store.root))
    for stage in STAGES:
        names = sorted(path.name for path in store.root.glob(f"{stage}/*") if len(path.name) == 64)
        candidates = [node for name in names if (node := find_node(name)) and _can_be_computed(node, store)]
        if candidates:
            counts[stage] = len(candidates)
            nodes += random.Random(f"{seed} {stage}").sample(candidates, min(size, len(candidates)))
        if len(candidates) < len(names):
            omissions[stage] = len(names) - len(candidates)
    return Sample(nodes, counts, omissions)


def recompute(sample: Sample, store: Store, progress: Progress) -> Iterator[Recomputation]:
    """Run each node's stage into a scratch folder and compare; nothing of the store is written.

    Kernels are pinned where those of one of the artefacts were.
    """
    if any(store.record(node).get("facts", {}).get("kernels", {}).get("pins") for node in sample.nodes):
        kernels.pin()
    with progress.task("computing again", total=len(sample.nodes)) as advance:
        for node in sample.nodes:
            yield _recompute_node(node, store)
            advance(1)


def _can_be_computed(node: Node, store: Store) -> bool:
    """Whether the stage as it is now can be run on inputs that are stored."""
    spec = STAGES[node.stage]
    if node.stage in TOO_MUCH or not spec.inputs or spec.needs & OUTSIDE:
        return False
    is_described = spec.ignored <= node.params.keys()  # by the note of a plan; no record has what is ignored
    return is_described and all(store.state(parent) == "stored" for parent in node.parents())


def _node_lookup(lineage: Lineage) -> Callable[[str], Node | None]:
    """Gives the node that notes and records describe under a fingerprint.

    None where they do not, or where the version of a stage is another one here.
    """

    @functools.cache
    def find_node(fingerprint: str) -> Node | None:
        description = lineage.describe(fingerprint)
        inputs = {}
        for name, value in description.get("inputs", {}).items():
            is_list = isinstance(value, list)
            nodes = tuple(map(find_node, value if is_list else [value]))
            if None in nodes:
                return None
            inputs[name] = nodes if is_list else nodes[0]
        result = Node(description["stage"], description["params"], inputs) if description else None
        return result if result and result.fingerprint == fingerprint else None

    return find_node


def _recompute_node(node: Node, store: Store) -> Recomputation:
    is_half = not {"fp16", "bf16", "float16"}.isdisjoint(
        {node.params.get(n) for n in ("precision", "numbers")}
    )
    tolerance = HALF_PRECISION if is_half else TOLERANCES.get(node.stage, 0.0)
    with tempfile.TemporaryDirectory(prefix="repro-verify-") as scratch:
        try:
            run_stage(node, store, Path(scratch), Progress())
            comparison = agreement(store.path(node), Path(scratch), tolerance=tolerance)
        except BlockedError as error:
            comparison = Agreement("blocked", None, str(error))
        except Exception as error:
            comparison = Agreement("failed", None, f"{type(error).__name__}: {error}")
    changes = differences(store.record(node).get("facts", {}))
    difference, why = comparison.difference, comparison.why
    return Recomputation(node.stage, node.fingerprint, comparison.name, tolerance, difference, why, changes)
