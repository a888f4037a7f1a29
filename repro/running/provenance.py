"""The code and the libraries that made an artefact: what is recorded of them, and how those here differ."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from repro.errors import BlockedError, StoreError
from repro.graph import Node, walk
from repro.machine import jvm, versions
from repro.machine.source_code import code, digest
from repro.running.engines import slurm_jobs
from repro.running.plan import Plan
from repro.store import Store
from repro.store.lineage import Lineage
from repro.store.underway import awaited_inputs, one_at_a_time

REMEDY = "`repro run --rebuild-other-code` with a selection makes them again"


def made_by(node: Node) -> dict[str, Any]:
    """Facts of an artefact made here and now, which are no part of its identity.

    ``code`` is a digest of the suite's and papers' modules that its stage imports, and an objective or view
    that its parameters name; ``modules`` has one of each; ``libraries`` are versions of what these import.
    """
    sources = code(f"repro.stages.{node.stage}", *_modules(node.params))
    by_name = {name: _version(name) for name in versions.distributions_behind(sources.libraries)}
    libraries = {name: version for name, version in by_name.items() if version is not None}
    return {"code": sources.digest, "modules": sources.modules, "libraries": libraries}


def differences(facts: Mapping[str, Any]) -> list[str] | None:
    """Modules and libraries that made an artefact and are others here; None where its facts do not say.

    What a module imports is part of its digest, so that no new one goes unnoticed.
    """
    try:
        modules, libraries = dict(facts["modules"]), dict(facts["libraries"])
    except (KeyError, TypeError, ValueError):
        return None
    names = [name for name, recorded in modules.items() if digest(name) != recorded]
    return names + [name for name, recorded in libraries.items() if _version(name) != recorded]


@dataclass
class Origins:
    """The artefacts that were made by other code or libraries than those here.

    Attributes:
        total: artefacts looked at.
        other: fingerprint -> the modules and libraries that differ.
        unknown: fingerprints of artefacts that do not say what made them.
        from_others: fingerprints of artefacts whose inputs were made again since, and came out otherwise.
    """

    total: int = 0
    other: dict[str, list[str]] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    from_others: set[str] = field(default_factory=set)

    def add(self, fingerprint: str, facts: Mapping[str, Any], inputs: Mapping[str, str]) -> None:
        """Look at one artefact's facts; ``inputs`` are the contents of its inputs as they are stored."""
        self.total += 1
        recorded_inputs = facts.get("inputs", inputs)  # older artefacts do not say
        if any(recorded_inputs.get(one) != content for one, content in inputs.items()):
            self.from_others.add(fingerprint)
        changes = differences(facts)
        if changes is None:
            self.unknown.add(fingerprint)
        elif changes:
            self.other[fingerprint] = changes

    def by_cell(self, plan: Plan) -> dict[str, dict[str, int]]:
        """``other_code`` and ``unknown_code``, by cell: how many artefacts behind it are of which kind."""
        fingerprints: dict[str, set[str]] = {}
        for m in plan.measurements:
            fingerprints.setdefault(m.cell.id, set()).update(node.fingerprint for node in walk(m.parts))
        counts = {}
        for cell in plan.cells:
            row = cell.id.rpartition("/")[0]
            members = [cell.id, *(f"{row}/{column}" for column in cell.column.mean_of)]
            artefacts = set().union(*(fingerprints.get(member, ()) for member in members))
            other_count, unknown_count = len(artefacts & self.other.keys()), len(artefacts & self.unknown)
            counts[cell.id] = {"other_code": other_count, "unknown_code": unknown_count}
        return counts

    @property
    def sentence(self) -> str:
        """The counts in one sentence; empty where the code and the libraries here made everything."""
        parts = [f"{len(self.other)} of {self.total} artefacts were made by other code or libraries"]
        if self.unknown:
            parts.append(f"{len(self.unknown)} by unknown code")
        if self.from_others:
            parts.append(f"{len(self.from_others)} from inputs that were made again and came out otherwise")
        return f"{', '.join(parts)}; {REMEDY}" if self.other or self.unknown or self.from_others else ""


def origins(plan: Plan, store: Store) -> Origins:
    """The origins of the plan's artefacts that were stored when it was looked up in the store."""
    result = Origins()
    for node in plan.nodes:
        if plan.states.get(node.fingerprint) == "stored":
            inputs = (p for p in node.parents() if plan.states.get(p.fingerprint) == "stored")
            result.add(node.fingerprint, store.record(node).get("facts", {}), store.contents(inputs))
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
        queued_fingerprints = slurm_jobs.waiting_fingerprints(store) - lineage.stored()
        read_fingerprints = awaited_inputs(store.root).union(*map(lineage.inputs, queued_fingerprints))
        used_nodes = [node for node in nodes if node.fingerprint in read_fingerprints]
        if used_nodes:
            suffix = f" and {len(used_nodes) - 1} more" if used_nodes[1:] else ""
            reason = f"nothing is discarded: another run reads, or is to read, {used_nodes[0]}{suffix}"
            raise StoreError(f"{reason}; wait until it has ended, then give the same command again")
        for node in nodes:
            store.discard(node)


def _modules(params: Mapping[str, Any]) -> Iterator[str]:
    """The modules of what parameters name as ``path`` ("module:name")."""
    for value in params.values():
        if isinstance(value, Mapping):
            module, colon, _ = str(value.get("path", "")).partition(":")
            if colon:
                yield module


def _version(library: str) -> str | None:
    return (
        _java_version(*map(os.environ.get, jvm.NAMED_BY))
        if library == "java"
        else _installed_version(library)
    )


@functools.cache
def _installed_version(library: str) -> str | None:
    return versions.version(library)


@functools.cache  # by the variables that choose it, which are set and unset within one process
def _java_version(*_: str | None) -> str | None:
    java = jvm.runtime()
    return java.version if java else None
