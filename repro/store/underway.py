"""Plans under way: what running processes still wait for, so that none lets go of what another is to read.

``plans/<host>-<process>-<number>.json`` has the nodes that a process is to make, each with its inputs. It is
locked, by the kernel, for as long as the process lives; one that nobody locks is of a process that is gone.
"""

import contextlib
import fcntl
import json
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path

from repro.graph import Node
from repro.store import Store
from repro.store.disk import create_file, remove, translated_errors
from repro.store.leftovers import Leftover, being_built, hold
from repro.store.lineage import Lineage

_numbers = count()


@contextlib.contextmanager
def one_at_a_time(root: Path) -> Iterator[None]:
    """Look at a store and act upon it while no other process announces a plan or lets go of an artefact."""
    from filelock import FileLock

    with translated_errors(root):
        folder = root / "plans"
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "lock", mode=0o666):
            yield


@contextlib.contextmanager
def announce(root: Path, nodes: Iterable[Node]) -> Iterator[Path]:
    """Tell other processes, until the block ends, that this one is to make ``nodes`` from their inputs."""
    inputs = {f"{node.stage}/{node.fingerprint}": [p.fingerprint for p in node.parents()] for node in nodes}
    path = root / "plans" / f"{socket.gethostname()}-{os.getpid()}-{next(_numbers)}.json"
    with translated_errors(root):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = create_file(path)
        fcntl.flock(file, fcntl.LOCK_EX)
        json.dump(inputs, file)
        file.flush()
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        file.close()


def awaited_inputs(root: Path, *, but: Path | None = None) -> set[str]:
    """Fingerprints of the inputs of what running processes are to make, or make now, and have not stored.

    Args:
        but: the announcement that does not count, the caller's own.
    """
    inputs: set[str] = set()
    for path in root.glob("plans/*.json"):
        if path != but:
            plan = _announcement(path)
            inputs.update(
                *(node_inputs for node, node_inputs in plan.items() if not os.path.lexists(root / node))
            )
    lineage = Lineage(root)
    return inputs.union(*(lineage.inputs(fingerprint) for fingerprint in being_built(root)))


def let_go(
    store: Store, node: Node, *, but: Path | None = None, keep: Callable[[], Iterable[str]] = tuple
) -> bool:
    """Remove a stored artefact unless somebody makes it, reads it or is to read it; whether it went.

    Args:
        but: the caller's own announcement, whose nodes do not count.
        keep: gives fingerprints of further artefacts that stay; asked behind the announcements, since a
            process that hands its nodes over to a queue announces them until then.
    """
    path = store.path(node)
    with one_at_a_time(store.root):
        if node.fingerprint in awaited_inputs(store.root, but=but) or node.fingerprint in set(keep()):
            return False
        with hold(store, Leftover("artefact", path, node.stage, node.fingerprint, 0)) as is_held:
            if is_held and os.path.lexists(path):
                remove(path)
                return True
    return False


def _announcement(path: Path) -> dict[str, list[str]]:
    """The nodes of a process and their inputs; nothing, and the file goes, where the process is gone."""
    with contextlib.suppress(FileNotFoundError, ValueError), path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return json.load(file)
        with contextlib.suppress(OSError):  # another user's, or a store that cannot be written
            path.unlink()
    return {}
