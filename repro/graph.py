"""Nodes. A node is a stage with parameters and input nodes, e.g. ``encode`` of a model."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from repro.errors import UsageError, unknown
from repro.stage_table import STAGES

STORE_FORMAT = 1
MISSING_FILE = "missing_file"
Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Node:
    """A piece of work with an artefact as its result.

    ``params`` are JSON values. ``inputs`` are nodes, or tuples where the stage takes several.
    """

    stage: str
    params: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Node | tuple[Node, ...]] = field(default_factory=dict)

    def __post_init__(self):
        if self.stage not in STAGES:
            raise unknown("stage", self.stage, STAGES)

    @cached_property
    def fingerprint(self) -> str:
        """64 hexadecimal digits. Raises UsageError unless parameters are JSON."""
        try:
            return digest_of(self.identity())
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"stage {self.stage!r} has a parameter that is not a JSON value: {error}"
            ) from error

    def identity(self) -> dict:
        """Return the dictionary that the fingerprint is computed from."""
        spec = STAGES[self.stage]
        params = {k: v for k, v in self.params.items() if k not in spec.ignored}
        if "objective" in params:
            params["objective"] = {k: v for k, v in params["objective"].items() if k != "path"}
        return {
            "store": STORE_FORMAT,
            "stage": self.stage,
            "version": spec.version,
            "params": params,
            "inputs": self.input_fingerprints(),
        }

    def input_fingerprints(self) -> dict[str, str | list[str]]:
        """Return input name -> fingerprint, or a list of fingerprints for several nodes."""
        return {
            name: [n.fingerprint for n in value] if isinstance(value, tuple) else value.fingerprint
            for name, value in self.inputs.items()
        }

    def input(self, name: str) -> Node:
        """Return the node of an input. Raises KeyError without it, and AssertionError for several nodes."""
        value = self.inputs[name]
        assert isinstance(value, Node), f"{self.stage} takes several nodes as {name}"
        return value

    def parents(self) -> tuple[Node, ...]:
        return self._parents

    @cached_property
    def _parents(self) -> tuple[Node, ...]:
        return tuple(n for value in self.inputs.values() for n in each_node(value))

    def __str__(self) -> str:
        return f"{self.stage}/{self.fingerprint[:12]}"


def each_node(value: Node | tuple[Node, ...]) -> tuple[Node, ...]:
    return value if isinstance(value, tuple) else (value,)


def readers(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    """Return fingerprint of an input -> those of ``nodes`` that read it."""
    return grouped((parent.fingerprint, node) for node in nodes for parent in node.parents())


def grouped(pairs: Iterable[tuple[Key, Value]]) -> defaultdict[Key, list[Value]]:
    """Return key -> its values, in the order of the pairs. A key without a pair has an empty list."""
    groups: defaultdict[Key, list[Value]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return groups


def cached_per_node(function: Callable[[Node], Value]) -> Callable[[Node], Value]:
    """Return ``function`` with a cache. A node's result is kept while the node exists."""
    values: WeakKeyDictionary[Node, Value] = WeakKeyDictionary()

    @wraps(function)
    def lookup(node: Node) -> Value:
        if node not in values:
            values[node] = function(node)
        return values[node]

    return lookup


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical(value: Any) -> str:
    """Return JSON with sorted keys and no spaces. Raises ValueError for NaN, TypeError for other objects."""
    return _CANONICAL.encode(value)


def digest_of(value: Any) -> str:
    """Return the hexadecimal SHA-256 of the canonical JSON."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def missing_file(file: str) -> dict[str, str]:
    """Return the parameter value that represents an absent file in a plan."""
    return {MISSING_FILE: file}


def missing_files(value: Any) -> list[str]:
    """Return the names of absent files in parameters, also in nested ones."""
    if isinstance(value, dict):
        files = [file for inner in value.values() for file in missing_files(inner)]
        return [value[MISSING_FILE]] if MISSING_FILE in value else files
    return []


def walk(nodes: Iterable[Node], *, until: Callable[[Node], bool] | None = None) -> list[Node]:
    """Return distinct nodes and their ancestors, inputs first. Does not visit nodes that fulfil ``until``."""
    order: list[Node] = []
    seen: set[str] = set()

    def visit(nodes: Iterable[Node]) -> None:
        for node in nodes:
            if node.fingerprint not in seen:
                seen.add(node.fingerprint)
                if not (until and until(node)):
                    visit(node.parents())
                    order.append(node)

    visit(nodes)
    return order


def rewrite(node: Node, change: Callable[[Node], Node], done: dict[int, tuple[Node, Node]]) -> Node:
    """Return a graph with ``change`` applied to each node, inputs first. ``done`` caches nodes by ``id``."""
    if (pair := done.get(id(node))) is None:
        inputs = {
            name: tuple([rewrite(n, change, done) for n in value])
            if isinstance(value, tuple)
            else rewrite(value, change, done)
            for name, value in node.inputs.items()
        }
        is_same = inputs == node.inputs  # nodes are equal if they are one object
        pair = done[id(node)] = node, change(node if is_same else Node(node.stage, node.params, inputs))
    return pair[1]


def distinct(node: Node, known: dict[tuple, Node]) -> Node:
    """Return the node of ``known`` that equals this one. Otherwise add this one and return it."""
    inputs = (tuple(map(id, v)) if isinstance(v, tuple) else id(v) for v in node.inputs.values())
    return known.setdefault((node.stage, repr(node.params), *node.inputs, *inputs), node)


def check_types(node: Node) -> None:
    """Raise UsageError unless a node's inputs have the names and artefact types that its stage takes."""
    spec = STAGES[node.stage]
    missing, extra = spec.required - node.inputs.keys(), node.inputs.keys() - spec.kinds.keys()
    if missing or extra:
        lacks, has = (", ".join(map(repr, sorted(names))) or "none" for names in (missing, extra))
        takes = ", ".join(map(repr, spec.kinds)) or "none"
        raise UsageError(f"stage {node.stage!r} takes inputs {takes} (missing: {lacks}, unknown: {has})")
    for name, value in node.inputs.items():
        for parent in each_node(value):
            output = STAGES[parent.stage].output
            if output not in spec.kinds[name]:
                wanted = "|".join(spec.kinds[name])
                given = f"stage {parent.stage!r} gives {output}"
                raise UsageError(f"stage {node.stage!r} takes {wanted} as input {name!r}, and {given}")
