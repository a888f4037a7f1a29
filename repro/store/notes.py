"""Notes of nodes, ``nodes/<fingerprint>.json``, from which a fingerprint alone is enough to build."""

import contextlib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

from repro.errors import StoreError, UsageError
from repro.graph import Node
from repro.stage_table import STAGES
from repro.store.disk import sync, translated

FINGERPRINT = re.compile(r"[0-9a-f]{64}")


def remember(root: Path, nodes: Iterable[Node]) -> None:
    """Write a note of each node, so that ``remembered`` finds it by fingerprint.

    A note that is there gets the time of now: what was asked for lately is not collected. One that says
    something else is replaced: where data or code lie is no part of a fingerprint, and may have changed.
    """
    from concurrent.futures import ThreadPoolExecutor

    folder = root / "nodes"
    with translated(root):
        folder.mkdir(parents=True, exist_ok=True)
        fresh = {}
        for node in nodes:
            path, text = folder / f"{node.fingerprint}.json", json.dumps(_description(node))
            if _text(path) == text:
                with contextlib.suppress(PermissionError, FileNotFoundError):  # another user's, or just going
                    os.utime(path)
                continue
            fresh[path] = path.with_suffix(f".{os.getpid()}")
            fresh[path].write_text(text)
        with ThreadPoolExecutor(32) as pool:  # one by one, thousands wait for the disk half a minute
            list(pool.map(sync, fresh.values()))
        for path, scratch in fresh.items():
            scratch.replace(path)


def remembered(root: Path, fingerprint: str) -> Node:
    """The node of an earlier plan. Raises UsageError when no plan had it, or several did."""
    notes = sorted((root / "nodes").glob(f"{fingerprint}*.json")) if fingerprint.isalnum() else []
    if len(notes) != 1:
        problem = "several nodes begin with" if notes else "no plan run with this store has a node"
        raise UsageError(f"{problem} {fingerprint!r}; `repro plan … --json` lists fingerprints")
    return _read(root, notes[0].stem)


def _text(path: Path) -> str | None:
    try:
        return path.read_text()
    except (OSError, ValueError):
        return None


def _read(root: Path, fingerprint: str) -> Node:
    path = root / "nodes" / f"{fingerprint}.json"
    try:
        if not FINGERPRINT.fullmatch(fingerprint):
            raise ValueError
        described = json.loads(path.read_text())
        inputs = {}
        for name, value in described["inputs"].items():
            several = isinstance(value, list)
            inputs[name] = tuple(_read(root, one) for one in value) if several else _read(root, value)
        node = Node(described["stage"], described["params"], inputs)
        if node.stage in STAGES and node.fingerprint == fingerprint:
            return node
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass
    raise StoreError(f"{path}: damaged, or of another version; remove it, a run writes it again")


def _description(node: Node) -> dict:
    inputs = {
        name: [n.fingerprint for n in value] if isinstance(value, tuple) else value.fingerprint
        for name, value in node.inputs.items()
    }
    return {"stage": node.stage, "params": dict(node.params), "inputs": inputs}
