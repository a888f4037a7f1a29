"""The disk of a run: whether the next artefact fits, and letting go of what nothing reads any more."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from repro.graph import Node
from repro.machine.sizes import size_in_words
from repro.progress import Progress
from repro.running.cost.work import work
from repro.running.description import describe
from repro.running.discarding import DISCARDABLE, Consumers
from repro.running.requirements import Obstacle
from repro.store import Store, underway


class DiskRoom:
    """The share of the disk that a run may take.

    Args:
        consumers: of what may go.
        announcement: by which other processes know what this one waits for.
        most: bytes that the store may have; None for as many as its file system.
        discard: kinds of artefacts that go after their use already.
        may_discard: whether more kinds can be asked for.
        waiting: gives fingerprints of further artefacts that somebody is to read, at that time.
    """

    def __init__(
        self,
        consumers: Consumers,
        store: Store,
        progress: Progress,
        *,
        announcement: Path,
        most: int | None = None,
        discard: Sequence[str] = (),
        may_discard: bool = True,
        waiting: Callable[[], Iterable[str]] = tuple,
    ):
        self._consumers, self._store, self._progress = consumers, store, progress
        self._announcement, self._most, self._waiting = announcement, most, waiting
        self._discard = discard
        self._others = [kind for kind in DISCARDABLE if may_discard and kind not in discard]

    def let_go(self) -> None:
        """Remove what nothing reads any more, but for what another process still waits for."""
        for node in self._consumers.free():
            size = _size(self._store.path(node))
            if underway.let_go(self._store, node, but=self._announcement, keep=self._waiting):
                self._progress.note(f"  discarded: {describe(node)}, {size_in_words(size)}")
                self._consumers.gone(node)

    def stored(self, node: Node) -> None:
        """A node was stored: let go of what it was the last to read."""
        self._consumers.stored(node)
        self.let_go()

    def lacking(self, node: Node, beside: Iterable[Node] = ()) -> Obstacle | None:
        """The reason why an artefact of its estimated size does not fit on the disk; None where it does.

        Args:
            beside: nodes that are being made, whose artefacts need room too.
        """
        size = self._remaining_bytes(node)
        reserved_bytes = sum(map(self._remaining_bytes, beside))
        free_bytes, place = self._free_space()
        if not size or size + reserved_bytes <= free_bytes:
            return None
        requirement = f"{describe(node)} takes about {size_in_words(size)} while it is made"
        cause = f"{requirement}, and {place} {size_in_words(free_bytes - reserved_bytes)}"
        return Obstacle(
            cause, self._remedy(size + reserved_bytes - free_bytes), of_machine=True, lacks="room on the disk"
        )

    def _remaining_bytes(self, node: Node) -> float:
        """Bytes that a node's artefact is still to take at most; what lies there of an attempt is taken."""
        cost = work(node)
        return max(0.0, (cost.stored or 0.0) + cost.beside - _size(self._store.partial(node)))

    def _free_space(self) -> tuple[float, str]:
        """Bytes that are left, and by what."""
        free = shutil.disk_usage(self._store.root).free
        if self._most is None:
            return free, f"the file system of {self._store.root} has"
        allowance = self._most - _size(self._store.root)
        if allowance < free:
            return allowance, f"--max-disk {size_in_words(self._most)} leaves"
        return free, f"the file system of {self._store.root} has"

    def _remedy(self, missing_bytes: float) -> str:
        selections = [",".join([*self._discard, kind]) for kind in self._others[:1]]
        ways = [f"run with --discard {kinds}" for kinds in selections]
        ways += ["free some (`repro store gc --finished` says what could go)", "or name another store"]
        return f"{size_in_words(missing_bytes)} more are needed: {', '.join(ways)}"


def _size(path: Path) -> int:
    """Bytes below a folder, which others may be changing."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(os.path.join(folder, name)).st_size
    return total
