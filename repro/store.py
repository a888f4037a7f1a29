"""Artefacts on disk, named by fingerprint: what exists is complete, what is incomplete can be resumed.

``<store>/<stage>/<fingerprint>/`` holds an artefact and its ``artefact.json`` (identity, checksums, facts).
It is written as ``<fingerprint>.partial`` on the same file system, synced and renamed. A lock per
fingerprint, held by the kernel and so released with its holder, lets two processes share a store.
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

from repro.errors import StoreError, UsageError
from repro.graph import Node
from repro.stages import STAGES

RECORD = "artefact.json"


class Store:
    """A folder of artefacts. Opening it writes nothing; without the folder it is an empty store.

    Raises:
        StoreError: on creation, when the path is a file, lies in one, or may not be looked at.
    """

    def __init__(self, root: Path):
        self.root = root
        with translated(root), contextlib.suppress(FileNotFoundError):
            os.scandir(root).close()

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
        return read_json(self.path(node) / RECORD)

    def discard(self, node: Node) -> None:
        """Remove a node's artefact, so that it is built again."""
        with translated(self.root):
            remove(self.path(node))

    def remember(self, nodes: Iterable[Node]) -> None:
        """Write down what nodes ask for, so that ``remembered`` finds them by fingerprint."""
        folder = self.root / "nodes"
        with translated(self.root):
            folder.mkdir(parents=True, exist_ok=True)
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
            problem = "several nodes begin with" if found else "no plan run with this store has a node"
            raise UsageError(f"{problem} {fingerprint!r}; `repro plan … --json` lists fingerprints")
        return self._read_node(found[0].stem)

    def _read_node(self, fingerprint: str) -> Node:
        path = self.root / "nodes" / f"{fingerprint}.json"
        try:
            described = json.loads(path.read_text())
            inputs = {
                name: tuple(map(self._read_node, value))
                if isinstance(value, list)
                else self._read_node(value)
                for name, value in described["inputs"].items()
            }
            node = Node(described["stage"], described["params"], inputs)
            if node.stage in STAGES and node.fingerprint == fingerprint:
                return node
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            pass
        raise StoreError(f"{path}: damaged, or of another version; remove it, a run writes it again")

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

        folder = self.root / "locks"
        with translated(self.root):
            folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(folder / f"{node.stage}-{node.fingerprint}.lock")
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
def translated(root: Path, what: str = "store", option: str = "--store") -> Iterator[None]:
    """Operating-system errors about a folder (or file) of the user's, said in one sentence.

    Args:
        what, option: what the folder is, and what names another.

    Raises:
        StoreError: for a full, read-only or forbidden file system.
    """
    reasons = {
        errno.ENOSPC: "no space is left on its file system; free some, or",
        errno.EDQUOT: "the disk quota is used up; free some, or",
        errno.EROFS: "its file system is read-only;",
        errno.EACCES: "it may not be written by this user;",
        errno.EPERM: "it may not be written by this user;",
        errno.ENOTDIR: "part of that path is a file;",
        errno.EEXIST: "that path is a file;",
    }
    try:
        yield
    except OSError as error:
        if error.errno not in reasons or _lies_elsewhere(error, root):
            raise
        reason = f"{reasons[error.errno]} name another with {option}"
        raise StoreError(f"the {what} {root} cannot be used: {reason}") from error


def _lies_elsewhere(error: OSError, root: Path) -> bool:
    """Whether the error names a file that neither lies in ``root`` nor leads to it."""
    if not isinstance(error.filename, str | os.PathLike):
        return False
    path, root = Path(error.filename).absolute(), root.absolute()
    return not (path.is_relative_to(root) or root.is_relative_to(path))


def make_writable(root: Path, what: str = "store", option: str = "--store") -> None:
    """Make a folder and try to write into it, before hours of work rely on that. Raises StoreError."""
    with translated(root, what, option):
        root.mkdir(parents=True, exist_ok=True)
        probe = root / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()


def remove(path: Path) -> None:
    """Remove an artefact. Its record goes first, so that half of it never passes for all of it."""
    if (path / RECORD).is_file():
        (path / RECORD).unlink()
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def read_json(path: Path) -> Any:
    """A JSON file of an artefact. Raises StoreError, naming the file, when it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        remedy = "`repro verify --rebuild` removes the artefact, the next run builds it again"
        raise StoreError(f"{path}: damaged ({error}); {remedy}") from None


def damage(path: Path) -> list[str]:
    """What is wrong with an artefact, reading every byte: missing, truncated or altered files."""
    wrong = _wrong_sizes(path)
    if wrong:
        return wrong
    for name, (_, digest) in _files(path).items():
        try:
            if _sha256(path / name) != digest:
                wrong.append(f"{name} is altered")
        except OSError as error:
            wrong.append(f"{name} cannot be read ({error.strerror})")
    return wrong


def _wrong_sizes(path: Path) -> list[str]:
    try:
        files = _files(path)
    except StoreError:
        return [f"{RECORD} cannot be read"]
    wrong = []
    for name, (written, _) in files.items():
        try:
            size = os.stat(path / name).st_size
        except OSError:
            wrong.append(f"{name} is missing")
            continue
        if size != written:
            wrong.append(f"{name} has {size} bytes, {written} were written")
    return wrong


def _files(path: Path) -> dict[str, tuple[int, str]]:
    """Size and sha256 of every file that artefact.json vouches for. Raises StoreError when it is damaged."""
    record = read_json(path / RECORD)
    try:
        return {name: (facts["size"], facts["sha256"]) for name, facts in record["files"].items()}
    except (KeyError, TypeError, AttributeError):
        raise StoreError(f"{path}: damaged ({RECORD} is not what was written)") from None


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
