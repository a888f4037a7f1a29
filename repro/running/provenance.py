"""The artefacts of a store that other code or libraries made than those here, and what was made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from repro.errors import BlockedError, StoreError
from repro.graph import Node
from repro.running.code_facts import differences
from repro.running.engines import cluster
from repro.running.plan import Plan
from repro.store import Store
from repro.store.notes import Lineage
from repro.store.underway import awaited_inputs, one_at_a_time

REMEDY = "`repro run --rebuild other-code` with a selection makes them again"


@dataclass
class Origins:
    """The artefacts that were made by other code or libraries than those here.

    Attributes:
        total: artefacts looked at.
        other: fingerprint -> the definitions and libraries that differ.
        parents: fingerprint -> those of the artefacts that it was made from.
        unknown: fingerprints of artefacts that do not say what made them.
        from_others: fingerprints of artefacts whose inputs were made again since, and came out otherwise.
    """

    total: int = 0
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    other: dict[str, list[str]] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    from_others: set[str] = field(default_factory=set)

    def add(
        self, fingerprint: str, facts: Mapping[str, Any], inputs: Mapping[str, str], node: Node | None = None
    ) -> None:
        """Look at one artefact's facts; ``inputs`` are the contents of its inputs as they are stored."""
        self.total += 1
        self.parents[fingerprint] = tuple(facts.get("inputs", inputs))
        recorded_inputs = facts.get("inputs", inputs)  # older artefacts do not say
        if any(recorded_inputs.get(one) != content for one, content in inputs.items()):
            self.from_others.add(fingerprint)
        changes = differences(facts, node)
        if changes is None:
            self.unknown.add(fingerprint)
        elif changes:
            self.other[fingerprint] = changes

    @cached_property  # once all have been looked at
    def behind_other(self) -> set[str]:
        """The artefacts that are not of other code themselves, and were made from one that is."""
        names = {name: name.rpartition("/")[2] for name in self.parents}  # some are told with their stage
        passed_on, before = {names[name] for name in self.other}, -1
        while before < (before := len(passed_on)):
            passed_on |= {
                names[n] for n, parents in self.parents.items() if not passed_on.isdisjoint(parents)
            }
        return {name for name, fingerprint in names.items() if fingerprint in passed_on} - self.other.keys()

    @property
    def sentence(self) -> str:
        """The counts in one sentence; empty where the code and the libraries here made everything."""
        parts = [f"{len(self.other)} of {self.total} artefacts were made by other code or libraries"]
        if behind_other := self.behind_other:
            parts.append(f"{len(behind_other)} from what these made")
        if self.unknown:
            parts.append(f"{len(self.unknown)} by unknown code")
        if self.from_others:
            parts.append(f"{len(self.from_others)} from inputs that were made again and came out otherwise")
        return f"{', '.join(parts)}; {REMEDY}" if self.other or self.unknown or self.from_others else ""


def origins(plan: Plan, store: Store) -> Origins:
    """The origins of the plan's artefacts that were stored when it was looked up in the store."""
    result, nearest = Origins(), {}
    for node in plan.nodes:
        parents = tuple(fingerprint for p in node.parents() for fingerprint in nearest[p.fingerprint])
        if plan.states.get(node.fingerprint) == "stored":
            inputs = (p for p in node.parents() if plan.states.get(p.fingerprint) == "stored")
            result.add(node.fingerprint, store.record(node).get("facts", {}), store.contents(inputs), node)
            result.parents[node.fingerprint], parents = parents, (node.fingerprint,)
        nearest[node.fingerprint] = parents  # or what it was made from, where it is not stored any more
    return result


def made_otherwise(plan: Plan, store: Store) -> list[Node]:
    """The plan's stored nodes of other or unknown code, or of other inputs, and those made from them.

    A fingerprint does not tell content: what was made from an artefact that comes out differently goes, too.
    An imported run is made by no code here.

    Raises:
        BlockedError: one of them cannot be made again on this machine.
    """
    origin, stale = origins(plan, store), set()
    for node in plan.nodes:
        is_other = any(
            node.fingerprint in group for group in (origin.other, origin.unknown, origin.from_others)
        )
        if (is_other and node.stage != "imported_run") or any(p.fingerprint in stale for p in node.parents()):
            stale.add(node.fingerprint)
    stale_nodes = [n for n in plan.nodes if n.fingerprint in stale and plan.states[n.fingerprint] == "stored"]
    for node in stale_nodes:
        if obstacle := plan.machine.obstacles.get(node.fingerprint):
            raise BlockedError(f"{node} cannot be made again here: {obstacle.cause}", obstacle.remedy)
    return stale_nodes


def discard(nodes: Sequence[Node], store: Store) -> None:
    """Discard stored artefacts, all or none of them.

    Raises:
        StoreError: a running process, or a job in Slurm's queue, reads or is to read one of them.
    """
    if not nodes:
        return
    with one_at_a_time(store.root):
        lineage = Lineage(store.root)
        queued_fingerprints = cluster.waiting_fingerprints(store) - lineage.stored()
        read_fingerprints = awaited_inputs(store.root).union(*map(lineage.inputs, queued_fingerprints))
        used_nodes = [node for node in nodes if node.fingerprint in read_fingerprints]
        if used_nodes:
            suffix = f" and {len(used_nodes) - 1} more" if used_nodes[1:] else ""
            reason = f"nothing is discarded: another run reads, or is to read, {used_nodes[0]}{suffix}"
            raise StoreError(f"{reason}; wait until it has ended, then give the same command again")
        for node in nodes:
            store.discard(node)
