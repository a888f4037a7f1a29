"""Store artefacts by fingerprint, e.g. ``store/bm25/0a1b…/run.trec``.

An artefact is written as ``<fingerprint>.partial``, synced and renamed. Processes can share a store by locks.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from repro.errors import StoreError
from repro.graph import Node
from repro.store.disk import RECORD, make_writable, remove, sync, translated_errors

if TYPE_CHECKING:
    from repro.progress import Progress

__all__ = ["RECORD", "Store", "check_where_stored", "make_writable", "refusal", "remove", "translated_errors"]


class Store:
    """A folder of artefacts. A missing folder is an empty store. Raises StoreError for an unusable folder."""

    def __init__(self, root: Path, progress: Progress | None = None):
        self.root, self.progress = root, progress
        self._checked: set[tuple] = set()
        with translated_errors(root), contextlib.suppress(FileNotFoundError):
            os.scandir(root).close()

    def path(self, node: Node) -> Path:
        return self.root / node.stage / node.fingerprint

    def checked(self, node: Node) -> Path:
        """Check an artefact's files, again only after a change, and return its folder. Raises StoreError."""
        from repro.store import seal

        path = self.path(node)
        stats = [(p, p.lstat()) for p in sorted(path.rglob("*"))]
        snapshot = (path, *((str(p), s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for p, s in stats))
        if snapshot not in self._checked:
            if faults := seal.damage(path, self.progress):
                raise refusal(node, faults)
            self._checked.add(snapshot)
        return path

    def partial(self, node: Node) -> Path:
        return self.path(node).with_suffix(".partial")

    def log(self, node: Node) -> Path:
        """Return the path of the log that a failed stage leaves."""
        return self.root / "logs" / f"{node.stage}-{node.fingerprint[:12]}.log"

    def state(self, node: Node) -> str:
        """Return ``stored``, ``damaged`` (by record, names and sizes), ``partial`` or ``missing``."""
        path = f"{self.root}/{node.stage}/{node.fingerprint}"  # text is faster than Path
        if os.path.lexists(path):
            from repro.store import seal

            return "damaged" if seal.wrong_sizes(Path(path)) else "stored"
        return "partial" if os.path.exists(f"{path}.partial") else "missing"

    def record(self, node: Node) -> dict:
        """Return the content of artefact.json. Raises StoreError if it is missing or damaged."""
        from repro.store import seal

        return seal.read_json(self.path(node) / RECORD)

    def contents(self, nodes: Iterable[Node]) -> dict[str, str]:
        """Return fingerprint -> content digest of those ``nodes`` that are stored. Raises StoreError."""
        from repro.store import seal

        return {node.fingerprint: seal.content(path) for node in nodes if (path := self.path(node)).is_dir()}

    def discard(self, node: Node) -> None:
        with translated_errors(self.root), contextlib.suppress(FileNotFoundError):
            remove(self.path(node))

    def remember(self, nodes: Iterable[Node]) -> None:
        """Write notes of planned nodes, which ``remembered`` reads."""
        from repro.store import notes

        notes.write_notes(self.root, nodes)

    def remembered(self, fingerprint: str) -> Node:
        """Return the planned node with these first digits of its fingerprint. Raises like ``noted_node``."""
        from repro.store import notes

        return notes.noted_node(self.root, fingerprint)

    def build(self, node: Node, work: Callable[[Path], dict | None]) -> Path:
        """Build the node's artefact unless it is stored, and return its folder. Raises StoreError.

        ``work`` writes into a folder, perhaps one with files of an interrupted attempt, and returns facts.
        """
        from repro.store import seal, underway

        path = self.path(node)
        with underway.exclusive_lock(self.root, node, self.progress):
            if self._is_stored(node):
                return path
            with translated_errors(self.root):
                partial = self._begin(node)
                seal.seal(partial, node, work(partial) or {}, self.progress)
                os.rename(partial, path)
                sync(path.parent)
        return path

    def work_beside(self, node: Node, work: Callable[[Path], None]) -> None:
        """Let ``work`` write one part of an artefact while other processes write other parts.

        Does nothing if the artefact is stored. Such processes and ``build`` wait for each other.
        """
        from repro.store import underway

        if not underway.has_unchanged_inputs(self.partial(node), self.contents(node.parents())):
            with underway.exclusive_lock(self.root, node, self.progress), translated_errors(self.root):
                self._begin(node)
        with underway.shared_lock(self.root, node, self.progress):
            if not self._is_stored(node):
                with translated_errors(self.root):
                    work(self._begin(node))

    def _is_stored(self, node: Node) -> bool:
        from repro.store import seal

        path = self.path(node)
        if os.path.lexists(path) and (faults := seal.wrong_sizes(path)):
            raise refusal(node, faults)
        return os.path.lexists(path)

    def _begin(self, node: Node) -> Path:
        from repro.store import underway

        partial = self.partial(node)
        partial.mkdir(parents=True, exist_ok=True)
        for parent in node.parents():
            if os.path.lexists(self.path(parent)):
                self.checked(parent)
        underway.begin(partial, self.contents(node.parents()))
        return partial


def check_where_stored(path: Path) -> None:
    """Raise StoreError if a user's path is in a damaged artefact."""
    from repro.store import notes, seal

    for folder in (path.resolve(), *path.resolve().parents):
        is_artefact = notes.FINGERPRINT.fullmatch(folder.name) and os.path.lexists(folder / RECORD)
        if is_artefact and (faults := seal.damage(folder)):
            raise refusal(f"{folder.parent.name}/{folder.name[:12]}", faults)


def refusal(node: Node | str, faults: list[str]) -> StoreError:
    """Return the StoreError of a damaged artefact."""
    remedy = "`repro store verify --rebuild` removes it, `repro run --rebuild damaged` builds it again"
    return StoreError(f"artefact {node} is damaged: {'; '.join(faults)}; {remedy}")
