"""Store artefacts on disk by fingerprint, e.g. ``store/bm25/0a1b…/run.trec``, with an ``artefact.json``.

An artefact is written as ``<fingerprint>.partial``, synced and renamed. One kernel lock per fingerprint lets
several processes share a store.
"""

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from repro.errors import StoreError
from repro.graph import Node
from repro.progress import SILENT, Progress
from repro.store import notes, seal, underway
from repro.store.disk import RECORD, make_writable, remove, sync, translated_errors

__all__ = ["RECORD", "Store", "check_where_stored", "make_writable", "refusal", "remove", "translated_errors"]


class Store:
    """A folder of artefacts. A missing folder is an empty store. ``progress`` reports checks and sealing.

    Raises StoreError if the path is a file, is inside a file, or may not be read.
    """

    def __init__(self, root: Path, progress: Progress = SILENT):
        self.root, self.progress = root, progress
        self._checked: set[tuple] = set()
        with translated_errors(root), contextlib.suppress(FileNotFoundError):
            os.scandir(root).close()

    def path(self, node: Node) -> Path:
        """Return the folder of the node's artefact, which may not exist yet."""
        return self.root / node.stage / node.fingerprint

    def checked(self, node: Node) -> Path:
        """Return the folder of a stored artefact after reading all of it, once unless a file's size or time
        changes. Raises StoreError for damage."""
        path = self.path(node)
        stats = [(p, p.lstat()) for p in sorted(path.rglob("*"))]
        snapshot = (path, *((str(p), s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for p, s in stats))
        if snapshot not in self._checked:
            if faults := seal.damage(path, self.progress):
                raise refusal(node, faults)
            self._checked.add(snapshot)
        return path

    def partial(self, node: Node) -> Path:
        """Return the folder of the node's unfinished artefact."""
        return self.path(node).with_suffix(".partial")

    def log(self, node: Node) -> Path:
        """Return the file with the full report of a failure of the node."""
        return self.root / "logs" / f"{node.stage}-{node.fingerprint[:12]}.log"

    def state(self, node: Node) -> str:
        """Return ``stored``, ``damaged`` (by record, names and sizes), ``partial`` or ``missing``."""
        path = f"{self.root}/{node.stage}/{node.fingerprint}"  # text: a plan asks of thousands of nodes
        if os.path.lexists(path):
            return "damaged" if seal.wrong_sizes(Path(path)) else "stored"
        return "partial" if os.path.exists(f"{path}.partial") else "missing"

    def record(self, node: Node) -> dict:
        """Return the content of artefact.json. Raises StoreError if it is damaged."""
        return seal.read_json(self.path(node) / RECORD)

    def contents(self, nodes: Iterable[Node]) -> dict[str, str]:
        """Return the content digests of stored nodes by fingerprint. Raises StoreError for damage."""
        return {node.fingerprint: seal.content(path) for node in nodes if (path := self.path(node)).is_dir()}

    def discard(self, node: Node) -> None:
        """Remove a node's artefact, so that it is built again."""
        with translated_errors(self.root), contextlib.suppress(FileNotFoundError):  # another may be first
            remove(self.path(node))

    def remember(self, nodes: Iterable[Node]) -> None:
        """Write a note for each planned node, so that ``remembered`` finds the node by its fingerprint."""
        notes.write_notes(self.root, nodes)

    def remembered(self, fingerprint: str) -> Node:
        """Return the only planned node with these first digits. Raises UsageError otherwise."""
        return notes.noted_node(self.root, fingerprint)

    def build(self, node: Node, work: Callable[[Path], dict | None]) -> Path:
        """Build the node's artefact by ``work(directory)`` unless it is stored, and return its folder.

        ``work`` writes the files and returns facts. The directory may have files of an interrupted attempt.
        Raises StoreError if the stored artefact or an input is damaged, or the disk refuses a write.
        """
        path = self.path(node)
        with underway.exclusive_lock(self.root, node, self.progress):
            if self._stored(node):
                return path
            with translated_errors(self.root):
                partial = self._begin(node)
                seal.seal(partial, node, work(partial) or {}, self.progress)
                os.rename(partial, path)
                sync(path.parent)
        return path

    def work_beside(self, node: Node, work: Callable[[Path], None]) -> None:
        """Call ``work(directory)`` to write a part of the node's artefact while others write other parts.

        Does nothing if the artefact is stored. ``build`` and workers wait for each other.
        """
        if not underway.goes_on(self.partial(node), self.contents(node.parents())):
            with underway.exclusive_lock(self.root, node, self.progress), translated_errors(self.root):
                self._begin(node)  # removes files that no worker may be writing
        with underway.beside_others(self.root, node, self.progress):
            if not self._stored(node):
                with translated_errors(self.root):
                    work(self._begin(node))

    def _stored(self, node: Node) -> bool:
        """Return whether the artefact is stored. Raises StoreError if one of its files has another size."""
        path = self.path(node)
        if os.path.lexists(path) and (faults := seal.wrong_sizes(path)):
            raise refusal(node, faults)
        return os.path.lexists(path)

    def _begin(self, node: Node) -> Path:
        """Check the inputs and return the partial folder, emptied if it was begun from other inputs."""
        partial = self.partial(node)
        partial.mkdir(parents=True, exist_ok=True)
        for parent in node.parents():
            if os.path.lexists(self.path(parent)):  # else the stage says what it lacks
                self.checked(parent)
        underway.begin(partial, self.contents(node.parents()))
        return partial


def check_where_stored(path: Path) -> None:
    """Check the whole artefact that contains a user's path, if any. Raises StoreError for a damaged one."""
    for folder in (path.resolve(), *path.resolve().parents):
        is_artefact = notes.FINGERPRINT.fullmatch(folder.name) and os.path.lexists(folder / RECORD)
        if is_artefact and (faults := seal.damage(folder)):
            raise refusal(f"{folder.parent.name}/{folder.name[:12]}", faults)


def refusal(node: Node | str, faults: list[str]) -> StoreError:
    """Return the error about a damaged artefact."""
    remedy = "`repro store verify --rebuild` removes it, `repro run --rebuild damaged` builds it again"
    return StoreError(f"artefact {node} is damaged: {'; '.join(faults)}; {remedy}")
