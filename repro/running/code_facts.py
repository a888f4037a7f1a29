"""The facts of an artefact that tell what made it: code by its digest, libraries by version, a commit."""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from repro.errors import StoreError
from repro.graph import Node, once_a_node
from repro.locations import CHECKOUT
from repro.machine import jvm, versions
from repro.machine.source_code import code
from repro.store import Store

_NAMED = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def made_by(node: Node) -> dict[str, Any]:
    """Facts of an artefact made here and now, which are no part of its identity.

    ``code`` is a digest of the code that its stage runs, and of an objective or view that its parameters
    name, ``entries`` where these begin, ``definitions`` a short digest of each by its name; ``libraries`` are
    versions of what these name; ``commit`` is the checkout's.
    """
    entries = _entries(node)
    sources = code(*entries)
    by_name = {name: _version(name) for name in versions.distributions_behind(sources.libraries)}
    libraries = {name: version for name, version in by_name.items() if version is not None}
    facts = {"code": sources.digest, "definitions": dict(sources.definitions), "entries": list(entries)}
    return facts | {"libraries": libraries} | ({"commit": commit} if (commit := _commit()) else {})


def differences(facts: Mapping[str, Any], node: Node | None = None) -> list[str] | None:
    """Definitions and libraries that made an artefact and are others here; None where its facts do not say.

    Args:
        node: whose objective is where the plan has it now; without it where it was then, or is by its name.
    """
    try:
        definitions, libraries = dict(facts["definitions"]), dict(facts["libraries"])
        here = code(*(_entries(node) if node else map(str, facts["entries"])))
    except (KeyError, TypeError, ValueError):
        return None
    names = []
    if facts.get("code") != here.digest:
        every_name = sorted(definitions.keys() | here.definitions.keys())
        names = [name for name in every_name if definitions.get(name) != here.definitions.get(name)]
        names = names or ["which of the definitions of one name is meant"]
    return names + [name for name, recorded in libraries.items() if _version(name) != recorded]


def planned_code(nodes: Iterable[Node]) -> str:
    """The digest that a record says in ``code`` if the code that is here makes all that is behind it."""
    return _code_of_all(frozenset().union(*map(_entries_below, nodes)))


def join_codes(codes: Iterable[str]) -> str:
    """One digest of several, each counted once; empty where one of them is, as what is unknown."""
    distinct = sorted(set(codes))
    return hashlib.sha256(" ".join(distinct).encode()).hexdigest()[:16] if all(distinct) else ""


class Makers:
    """The code and the commits that made stored artefacts and all that is behind them, as these say."""

    def __init__(self, store: Store):
        self.store = store
        self._behind: dict[str, tuple[frozenset[str], frozenset[str]]] = {}

    def behind(self, nodes: Iterable[Node]) -> dict[str, Any]:
        """``code``, as ``planned_code`` has it, and ``commits`` of a record of what these nodes are."""
        codes, commits = zip(*map(self._of, nodes), strict=True)
        return {
            "code": join_codes(frozenset().union(*codes)),
            "commits": sorted(frozenset().union(*commits)),
        }

    def _of(self, node: Node) -> tuple[frozenset[str], frozenset[str]]:
        if node.fingerprint not in self._behind:
            try:
                facts = self.store.record(node).get("facts", {})
            except StoreError:  # it is damaged, or not there any more
                facts = {}
            is_known = "definitions" in facts  # else the code is of a form that is not known here
            codes = {str(facts["code"]) if is_known else ""}
            commits = set(str(facts["commit"]).split(" and ")) if "commit" in facts else set()
            for parent in node.parents():
                of_parent = self._of(parent)
                codes, commits = codes | of_parent[0], commits | of_parent[1]
            self._behind[node.fingerprint] = frozenset(codes), frozenset(commits)
        return self._behind[node.fingerprint]


def _entries(node: Node) -> tuple[str, ...]:
    """Where the code of a node begins: its stage, and what parameters name as ``path`` ("module:name")."""
    values = (value for value in node.params.values() if isinstance(value, Mapping))
    paths = (str(value.get("path", "")) for value in values)
    return f"repro.retrieval.stages.{node.stage}", *filter(_NAMED.fullmatch, paths)


@once_a_node
def _entries_below(node: Node) -> frozenset[tuple[str, ...]]:
    return frozenset([_entries(node)]).union(*map(_entries_below, node.parents()))


@functools.cache
def _code_of_all(entries: frozenset[tuple[str, ...]]) -> str:
    return join_codes(code(*each).digest for each in entries)


@functools.cache
def _commit() -> str | None:
    return versions.commit(CHECKOUT)


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
