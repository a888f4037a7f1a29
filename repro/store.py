"""Artefacts on disk, named by fingerprint: what exists is complete, what is incomplete can be resumed.

``<store>/<stage>/<fingerprint>/`` holds an artefact and its ``artefact.json`` (identity, checksums, facts).
It is written as ``<fingerprint>.partial`` on the same file system, synced and renamed. A lock per fingerprint,
held by the kernel and so released with its holder, lets two processes share a store.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from repro.errors import ReproError, StoreError, UsageError
from repro.graph import Node

RECORD = "artefact.json"


class Store:
    """A folder of artefacts.

    Raises:
        StoreError: on creation, when the folder cannot be made or written.
    """

    def __init__(self, root: Path):
        self.root = root
        with translated(root):
            (root / "locks").mkdir(parents=True, exist_ok=True)
            (root / "logs").mkdir(exist_ok=True)
            probe = root / "locks" / f".probe-{os.getpid()}"
            probe.touch()
            probe.unlink()

    def path(self, node: Node) -> Path:
        """Where the node's artefact lies once it exists."""
        return self.root / node.stage / node.fingerprint

    def partial(self, node: Node) -> Path:
        """Where the node's artefact is written."""
        return self.path(node).with_suffix(".partial")

    def log(self, node: Node) -> Path:
        """Where a failure of the node is told in full."""
        return self.root / "logs" / f"{node.stage}-{node.fingerprint[:12]}.log"

    def state(self, node: Node) -> str:
        """stored, damaged, partial or missing; decided by looking at names and sizes only."""
        path = self.path(node)
        if path.exists():
            return "damaged" if _wrong_sizes(path) else "stored"
        return "partial" if self.partial(node).exists() else "missing"

    def record(self, node: Node) -> dict:
        """What artefact.json says. Raises StoreError naming the artefact when it is damaged."""
        return read_record(self.path(node))

    def discard(self, node: Node) -> None:
        """Remove a node's artefact, so that it is built again."""
        with translated(self.root):
            shutil.rmtree(self.path(node), ignore_errors=False)

    def remember(self, nodes: Iterable[Node]) -> None:
        """Write down what nodes ask for, so that ``remembered`` finds them by fingerprint."""
        folder = self.root / "nodes"
        with translated(self.root):
            folder.mkdir(exist_ok=True)
            for node in nodes:
                path = folder / f"{node.fingerprint}.json"
                if not path.exists():
                    scratch = path.with_suffix(f".{os.getpid()}")
                    scratch.write_text(json.dumps(_described(node)))
                    scratch.replace(path)

    def remembered(self, fingerprint: str) -> Node:
        """The node of an earlier plan. Raises UsageError when no plan had it, or several did."""
        found = sorted((self.root / "nodes").glob(f"{fingerprint}*.json")) if fingerprint.isalnum() else []
        if len(found) != 1:
            problem = "several nodes begin with" if found else "no plan of this store has a node"
            raise UsageError(f"{problem} {fingerprint!r}; `repro plan … --json` lists fingerprints")
        return self._read_node(found[0].stem)

    def _read_node(self, fingerprint: str) -> Node:
        described = json.loads((self.root / "nodes" / f"{fingerprint}.json").read_text())
        inputs = {
            name: tuple(map(self._read_node, value)) if isinstance(value, list) else self._read_node(value)
            for name, value in described["inputs"].items()
        }
        return Node(described["stage"], described["params"], inputs)

    def build(self, node: Node, work: Callable[[Path], dict | None], *, waiting: Callable[[], None]) -> Path:
        """The node's artefact, built by ``work(directory)`` unless it exists.

        Args:
            work: writes the files into the directory (which may hold files of an interrupted attempt) and
                returns facts to record.
            waiting: called once when another process is building the same artefact.
        """
        path, partial = self.path(node), self.partial(node)
        with self._locked(node, waiting):
            if path.exists():
                return path
            with translated(self.root):
                partial.mkdir(parents=True, exist_ok=True)
                facts = work(partial) or {}
                _seal(partial, node, facts)
                os.rename(partial, path)
                _sync(path.parent)
        return path

    @contextlib.contextmanager
    def _locked(self, node: Node, waiting: Callable[[], None]) -> Iterator[None]:
        from filelock import FileLock, Timeout

        with translated(self.root):
            lock = FileLock(self.root / "locks" / f"{node.stage}-{node.fingerprint}.lock")
            try:
                lock.acquire(timeout=0)
            except Timeout:
                waiting()
                lock.acquire()
        try:
            yield
        finally:
            lock.release()


def _described(node: Node) -> dict:
    inputs = {
        name: [n.fingerprint for n in value] if isinstance(value, tuple) else value.fingerprint
        for name, value in node.inputs.items()
    }
    return {"stage": node.stage, "params": dict(node.params), "inputs": inputs}


@contextlib.contextmanager
def translated(root: Path) -> Iterator[None]:
    """Operating-system errors about the store, said in one sentence.

    Raises:
        StoreError: for a full, read-only or forbidden file system.
    """
    reasons = {
        errno.ENOSPC: "no space is left on its file system; free some, or name another with --store",
        errno.EDQUOT: "the disk quota is used up; free some, or name another with --store",
        errno.EROFS: "its file system is read-only; name another with --store",
        errno.EACCES: "it may not be written by this user; name another with --store",
        errno.EPERM: "it may not be written by this user; name another with --store",
        errno.ENOTDIR: "part of that path is a file; name another with --store",
        errno.EEXIST: "that path is a file; name another with --store",
    }
    try:
        yield
    except ReproError:
        raise
    except OSError as error:
        if error.errno not in reasons:
            raise
        raise StoreError(f"the store {root} cannot be written: {reasons[error.errno]}") from error


def read_record(path: Path) -> dict:
    """artefact.json of an artefact's directory. Raises StoreError when it cannot be read."""
    try:
        return json.loads((path / RECORD).read_text())
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: damaged ({RECORD} cannot be read: {error}); rebuild it with --rebuild") from None


def damage(path: Path) -> list[str]:
    """What is wrong with an artefact, reading every byte: missing, truncated or altered files; empty if sound."""
    wrong = _wrong_sizes(path)
    if wrong:
        return wrong
    files = read_record(path)["files"]
    return [f"{name} is altered" for name, facts in files.items() if _sha256(path / name) != facts["sha256"]]


def _wrong_sizes(path: Path) -> list[str]:
    try:
        files = read_record(path)["files"]
    except (StoreError, KeyError, TypeError):
        return [f"{RECORD} cannot be read"]
    wrong = []
    for name, facts in files.items():
        try:
            size = os.stat(path / name).st_size
        except OSError:
            wrong.append(f"{name} is missing")
            continue
        if size != facts["size"]:
            wrong.append(f"{name} has {size} bytes, {facts['size']} were written")
    return wrong


def _seal(directory: Path, node: Node, facts: dict[str, Any]) -> None:
    """Write artefact.json last, after every file it vouches for is on disk."""
    files = {}
    for file in sorted(p for p in directory.rglob("*") if p.is_file() and p.name != RECORD):
        _sync(file)
        files[str(file.relative_to(directory))] = {"size": file.stat().st_size, "sha256": _sha256(file)}
    record = {"fingerprint": node.fingerprint, "identity": node.identity(), "files": files, "facts": facts}
    target = directory / RECORD
    target.write_text(json.dumps(record, indent=1) + "\n")
    _sync(target)
    _sync(directory)


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
