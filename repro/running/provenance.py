"""The code, libraries and commit that made an artefact, compared with the current ones."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from repro import errors, locations
from repro.graph import Node, cached_per_node
from repro.machine import bounded_reading, versions
from repro.machine.code_digest import code
from repro.running.plan import Plan
from repro.store import Store, seal, underway
from repro.store.results import join_codes

PRESENT = ("stored", "damaged")
JOINED_BY = " and "
_NAMED = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
OF_THIS_CODE = locations.committed_results()
EQUAL_CODE = "code.yaml"


def made_by(node: Node) -> dict[str, Any]:
    """Return facts about an artefact made now: modules (``entries``), digests of code, and libraries."""
    code_here = code(*entries(node))
    facts = {"code": code_here.digest, "modules": dict(code_here.modules), "entries": list(entries(node))}
    facts |= {"libraries": versions.here(node.stage)}
    return facts | ({"commit": commit} if (commit := _commit()) else {})


def differences(facts: Mapping[str, Any], node: Node | None = None) -> list[str] | None:
    """Return the modules and libraries that differ here from those in ``facts``. None if unknown.

    Code that code.yaml declares equal does not differ.
    """
    try:
        digests, modules = str(facts["code"]).split(JOINED_BY), dict(facts.get("modules", {}))
        other_libraries = versions.differing(facts["libraries"])
        here = code(*(entries(node) if node else map(str, facts["entries"])))
    except (KeyError, TypeError, ValueError):
        return None
    names = []
    if all_on_record(digests) != {on_record(here.digest)}:
        all_names = sorted(modules.keys() | here.modules.keys())
        names = [name for name in all_names if modules.get(name) != here.modules.get(name)]
        names = names if modules else ["all modules of an earlier version"]
    return [*names, *other_libraries]


def planned_code(nodes: Iterable[Node]) -> str:
    """Return the digest that a record made by the current code would have as ``code``."""
    return _code_of_all(frozenset().union(*map(_entries_below, nodes)))


class Makers:
    """The recorded code and commits of artefacts and their inputs."""

    def __init__(self, store: Store):
        self.store = store
        self._behind: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        self._rows: dict[str, str] = {}

    def behind(self, nodes: Iterable[Node]) -> dict[str, Any]:
        """Return ``code`` and ``commits`` of these nodes and their inputs, for a record."""
        codes, commits = zip(*map(self._of, nodes), strict=True)
        return {
            "code": join_codes(frozenset().union(*codes)),
            "commits": sorted(frozenset().union(*commits)),
        }

    def rows(self, node: Node) -> str:
        """Return the digest of a node's rows, or "" if unknown."""
        if node.fingerprint not in self._rows:
            facts = self.store.record(node)["facts"] if self.store.state(node) == "stored" else {}
            self._rows[node.fingerprint] = facts.get("rows", "")
        return self._rows[node.fingerprint]

    def _of(self, node: Node) -> tuple[frozenset[str], frozenset[str]]:
        if node.fingerprint not in self._behind:
            try:
                facts = self.store.record(node).get("facts", {})
            except errors.StoreError:
                facts = {}
            codes = all_on_record(str(facts.get("code", "")).split(JOINED_BY))
            commits = set(filter(versions.COMMIT.fullmatch, str(facts.get("commit")).split(JOINED_BY)))
            for parent in node.parents():
                of_parent = self._of(parent)
                codes, commits = codes | of_parent[0], commits | of_parent[1]
            self._behind[node.fingerprint] = frozenset(codes), frozenset(commits)
        return self._behind[node.fingerprint]


def entries(node: Node) -> tuple[str, ...]:
    """Return the modules of a node's code: its stage, and parameters with a ``path``."""
    values = (value for value in node.params.values() if isinstance(value, Mapping))
    paths = (str(value.get("path", "")) for value in values)
    return f"repro.retrieval.stages.{node.stage}", *filter(_NAMED.fullmatch, paths)


@cached_per_node
def _entries_below(node: Node) -> frozenset[tuple[str, ...]]:
    return frozenset([entries(node)]).union(*map(_entries_below, node.parents()))


@cache
def _code_of_all(all_entries: frozenset[tuple[str, ...]]) -> str:
    return join_codes(on_record(code(*each).digest) for each in all_entries)


@cache
def _commit() -> str | None:
    return versions.commit(locations.CHECKOUT)


REMEDY = "`repro run --rebuild other-code` with a selection makes them again"


@dataclass
class Origins:
    """The stored artefacts of a plan, by the code, libraries and inputs that made them.

    Attributes:
        parents: artefact -> artefacts that it was made from.
        other: artefact -> its modules and libraries that differ here.
        unknown: artefacts without recorded code.
        from_others: artefacts made from an input that was later rebuilt with other content.
        environments: artefact -> libraries and kernels, as in a record.
    """

    total: int = 0
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    other: dict[str, list[str]] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    from_others: set[str] = field(default_factory=set)
    environments: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(
        self, fingerprint: str, facts: Mapping[str, Any], inputs: Mapping[str, str], node: Node | None = None
    ) -> None:
        """Compare an artefact with the code and inputs here. ``inputs`` are digests of its stored inputs."""
        recorded_inputs = facts.get("inputs", inputs)  # older ones lack them
        self.total += 1
        self.parents[fingerprint] = tuple(recorded_inputs)
        if any(recorded_inputs.get(one) != content for one, content in inputs.items()):
            self.from_others.add(fingerprint)
        self.environments[fingerprint] = {
            "software": facts.get("libraries"),
            "kernels": facts.get("kernels"),
            "hardware": {"gpu": facts.get("peak_gpu_bytes")},
        }
        changes = differences(facts, node)
        if changes is None:
            self.unknown.add(fingerprint)
        elif changes:
            self.other[fingerprint] = changes

    @cached_property
    def behind_other(self) -> set[str]:
        """Artefacts of current code made from those of other code."""
        return self._behind(self.other.keys())

    @cached_property
    def of_other_code(self) -> set[str]:
        """Artefacts of other code or inputs, and their descendants."""
        own = {name for name, names in self.other.items() if not versions.LIBRARIES.keys() >= set(names)}
        return own | self._behind(own) | self.from_others

    def _behind(self, others: Collection[str]) -> set[str]:
        names = {name: name.rpartition("/")[2] for name in self.parents}
        passed_on, before = {names[name] for name in others}, -1
        while before < (before := len(passed_on)):
            passed_on |= {
                names[n] for n, parents in self.parents.items() if not passed_on.isdisjoint(parents)
            }
        return {name for name, fingerprint in names.items() if fingerprint in passed_on} - set(others)

    @property
    def sentence(self) -> str:
        parts = [f"{len(self.other)} of {self.total} artefacts were made by other code or libraries"]
        if behind_other := self.behind_other:
            parts.append(f"{len(behind_other)} from those artefacts")
        if self.unknown:
            parts.append(f"{len(self.unknown)} by unknown code")
        if self.from_others:
            parts.append(f"{len(self.from_others)} from inputs that were rebuilt with other content")
        return f"{', '.join(parts)} ({REMEDY})" if self.other or self.unknown or self.from_others else ""


def origins(plan: Plan, store: Store) -> Origins:
    result = Origins()
    nearest: dict[str, tuple[str, ...]] = {}
    contents: dict[str, str] = {}
    for node in plan.nodes:
        parents = tuple(fingerprint for p in node.parents() for fingerprint in nearest[p.fingerprint])
        if plan.states.get(node.fingerprint) == "stored":
            inputs = [p for p in node.parents() if plan.states.get(p.fingerprint) == "stored"]
            contents |= store.contents(p for p in inputs if p.fingerprint not in contents)
            known = {one: contents[one] for one in (p.fingerprint for p in inputs) if one in contents}
            result.add(node.fingerprint, store.record(node).get("facts", {}), known, node)
            result.parents[node.fingerprint], parents = parents, (node.fingerprint,)
        nearest[node.fingerprint] = parents  # itself or its nearest stored inputs
    return result


def made_otherwise(plan: Plan, store: Store) -> list[Node]:
    """Return stored nodes of other code or inputs, and nodes made from them. Omits imported runs.

    Raises BlockedError if one cannot be made again here.
    """
    origin = origins(plan, store)
    return _with_what_is_made_from({*origin.other, *origin.unknown, *origin.from_others}, plan)


def damaged(plan: Plan, store: Store) -> list[Node]:
    """Return damaged nodes, and nodes made from them. Raises BlockedError if one cannot be made again."""
    present = (n for n in plan.nodes if plan.states[n.fingerprint] in PRESENT)
    faulty = {n.fingerprint for n in present if seal.damage(store.path(n), store.progress)}
    return _with_what_is_made_from(faulty, plan)


def _with_what_is_made_from(others: set[str], plan: Plan) -> list[Node]:
    stale, stale_nodes = set[str](), []
    for node in plan.nodes:
        is_other = node.fingerprint in others and node.stage != "imported_run"
        if is_other or any(p.fingerprint in stale for p in node.parents()):
            stale.add(node.fingerprint)
            if plan.states[node.fingerprint] in PRESENT:
                stale_nodes.append(node)
    for node in stale_nodes:
        if obstacle := plan.machine.obstacles.get(node.fingerprint):
            raise errors.BlockedError(f"{node} cannot be made again here: {obstacle.cause}", obstacle.remedy)
    return stale_nodes


def discard(nodes: Sequence[Node], store: Store) -> None:
    """Discard all artefacts, or none and raise StoreError if another process needs one."""
    if not nodes:
        return
    with underway.one_at_a_time(store.root):
        read_fingerprints = underway.awaited_inputs(store.root)
        used_nodes = [n for n in nodes if n.fingerprint in read_fingerprints]
        if used_nodes:
            reason = f"nothing is discarded: another run needs {errors.first_of(used_nodes, 1)}"
            raise errors.StoreError(f"{reason}. Wait until it has ended and repeat the command.")
        for node in nodes:
            store.discard(node)


def equal_code() -> dict[str, dict[str, Any]]:
    """Return the entries of code.yaml by stage."""
    path = OF_THIS_CODE / EQUAL_CODE if OF_THIS_CODE else None
    return (bounded_reading.read_facts(path) or {}) if path and path.is_file() else {}


def on_record(digest: str) -> str:
    """Return the digest that records have for code that is equal to ``digest``."""
    return _recorded_by_digest().get(digest, digest)


def all_on_record(digests: Iterable[str]) -> frozenset[str]:
    return frozenset(map(on_record, digests))


@cache
def _recorded_by_digest() -> dict[str, str]:
    return {digest: line["recorded"] for line in equal_code().values() for digest in line["same"]}
