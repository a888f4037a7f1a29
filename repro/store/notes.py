"""Keep notes of planned nodes, ``nodes/<fingerprint>.json``, to build a node by its fingerprint."""

import contextlib
import json
import os
import re
import time
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from repro.errors import StoreError, UsageError
from repro.graph import Node, grouped
from repro.machine.bounded_reading import parsed_json, read_json_file
from repro.stage_table import STAGES
from repro.store import disk

DAY = 24 * 60 * 60
PINNED = "pinned"
FINGERPRINT = re.compile(r"[0-9a-f]{64}")


def files(root: Path) -> list[Path]:
    """Return the files of notes, and the unfinished ones of killed processes."""
    return sorted(path for path in root.glob("nodes/*") if path.is_file())


def planned_since(root: Path, *, days: float) -> set[str]:
    return planned_after(root, int((time.time() - days * DAY) * 10**9))


def planned_after(root: Path, time_ns: int) -> set[str]:
    """Return the fingerprints with notes newer than a time in ns."""
    fingerprints = set()
    for path in files(root):
        with contextlib.suppress(FileNotFoundError):
            if path.lstat().st_mtime_ns > time_ns and FINGERPRINT.fullmatch(path.stem):
                fingerprints.add(path.stem)
    return fingerprints


def write_notes(root: Path, nodes: Iterable[Node]) -> None:
    """Write notes of nodes. An unchanged note only gets a new modification time."""
    from concurrent.futures import ThreadPoolExecutor

    folder = root / "nodes"
    with disk.translated_errors(root):
        folder.mkdir(parents=True, exist_ok=True)
        scratches: dict[Path, Path] = {}
        for node in nodes:
            path, text = folder / f"{node.fingerprint}.json", json.dumps(_describe(node))
            if _read_text(path) == text:
                with contextlib.suppress(PermissionError, FileNotFoundError):  # another user's or removed
                    os.utime(path)
                    continue
            scratches[path] = path.with_suffix(f".{os.getpid()}")
            with disk.create_file(scratches[path]) as file:
                file.write(text)
        with ThreadPoolExecutor(32) as pool:  # `store gc` reads notes, and one by one thousands take long
            list(pool.map(disk.sync, scratches.values()))
        for path, scratch in scratches.items():
            scratch.replace(path)


def noted_node(root: Path, fingerprint: str) -> Node:
    """Return the node with these first digits of its fingerprint, e.g. "0a1b2c".

    Raises UsageError unless one node has them, StoreError for a damaged note.
    """
    pattern = f"nodes/{fingerprint}*.json" if fingerprint.isalnum() else ""
    matches = {note.stem for note in root.glob(pattern)} if pattern else set()
    if len(matches) != 1:
        stages = "several stages planned here have" if matches else "no stage planned with this store has"
        problem = f"{stages} a fingerprint that begins with {fingerprint!r}"
        raise UsageError(f"{problem}. `repro plan … --format json` lists fingerprints.")
    return _read_node(root, matches.pop())


def is_planned_with_pins(root: Path, fingerprint: str) -> bool:
    text = _read_text(_note_path(root, fingerprint)) or ""
    return json.loads(text).get("kernels") == PINNED if text else False


def _read_text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def _read_node(root: Path, fingerprint: str) -> Node:
    path = _note_path(root, fingerprint)
    try:
        if not FINGERPRINT.fullmatch(fingerprint):
            raise ValueError
        description = parsed_json(_read_text(path) or "")
        inputs = {}
        for name, value in description["inputs"].items():
            nodes = tuple(_read_node(root, item) for item in (value if isinstance(value, list) else [value]))
            inputs[name] = nodes if isinstance(value, list) else nodes[0]
        node = Node(description["stage"], description["params"], inputs)
        if node.stage in STAGES and node.fingerprint == fingerprint:
            return node
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass
    raise StoreError(f"{path} is damaged or of another version. Remove it, and a run writes it again.")


def _note_path(root: Path, fingerprint: str) -> Path:
    return root / "nodes" / f"{fingerprint}.json"


def _describe(node: Node) -> dict:
    from repro.machine import kernels

    description = {"stage": node.stage, "params": dict(node.params), "inputs": node.input_fingerprints()}
    return description | ({"kernels": PINNED} if kernels.is_pinned() else {})


class Lineage:
    """The notes and records of a store, each read once. Damaged ones count as absent."""

    def __init__(self, root: Path):
        self.root = root
        self._described: dict[str, dict] = {}

    def stored(self) -> set[str]:
        return {path.name for stage in STAGES for path in self.root.glob(f"{stage}/*")}

    def describe(self, fingerprint: str) -> dict:
        """Return a node's ``stage``, ``params`` and ``inputs``, or {} if it is unknown."""
        if fingerprint not in self._described:
            records = (folder / disk.RECORD for folder in self._artefacts.get(fingerprint, ()))
            descriptions = map(_read_description, (_note_path(self.root, fingerprint), *records))
            self._described[fingerprint] = next(filter(None, descriptions), {})
        return self._described[fingerprint]

    @cached_property
    def _artefacts(self) -> dict[str, list[Path]]:
        folders = self.root.glob("*/*")
        return grouped((path.name, path) for path in folders if FINGERPRINT.fullmatch(path.name))

    def inputs(self, fingerprint: str) -> list[str]:
        return _flatten(self.describe(fingerprint).get("inputs", {}))

    def below(self, fingerprints: Iterable[str]) -> set[str]:
        """Return these fingerprints and those of all direct and indirect inputs."""
        reachable: set[str] = set()
        pending = list(fingerprints)
        while pending:
            fingerprint = pending.pop()
            if fingerprint not in reachable:
                reachable.add(fingerprint)
                pending += self.inputs(fingerprint)
        return reachable

    def tests_between(self, fingerprints: set[str]) -> set[str]:
        """Return the fingerprints of stored significance tests with all inputs in ``fingerprints``."""
        tests = {path.name for path in self.root.glob("compare/*")}
        return {test for test in tests if self.inputs(test) and fingerprints.issuperset(self.inputs(test))}


def _read_description(path: Path) -> dict | None:
    try:
        description = read_json_file(path)
        description = description["identity"] if path.name == disk.RECORD else description
        is_valid = description["stage"] in STAGES and isinstance(description["params"], dict)
        are_texts = all(isinstance(fingerprint, str) for fingerprint in _flatten(description["inputs"]))
        return description if is_valid and are_texts else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _flatten(inputs: dict) -> list[str]:
    return [one for value in inputs.values() for one in (value if isinstance(value, list) else [value])]
