"""Track work in progress in a store.

* ``locks/<stage>-<fingerprint>.lock`` is held by a builder, or shared by processes that write parts.
* ``blocks/inputs.json`` has the inputs' digests, which may differ after a rebuild on a GPU.
* ``plans/<host>-<process>-<number>.json``, locked by its process, lists the nodes that it will build.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING

from repro.graph import Node
from repro.progress import Progress
from repro.store import disk, notes

if TYPE_CHECKING:
    from repro.store import Store

INPUTS = "inputs.json"
LOCK = re.compile(r"([a-z_0-9]+)-([0-9a-f]{64})\.lock")
_numbers = count()


@contextlib.contextmanager
def exclusive_lock(root: Path, node: Node, progress: Progress | None = None) -> Iterator[None]:
    """Hold the node's lock. ``progress`` notes a wait for another process."""
    with contextlib.ExitStack() as stack:
        with disk.translated_errors(root):
            file = _made_lock_file(root, node.stage, node.fingerprint)
            stack.enter_context(disk.file_lock(file, lambda: _note_wait(node, progress)))
        yield


@contextlib.contextmanager
def shared_lock(root: Path, node: Node, progress: Progress | None) -> Iterator[None]:
    """Share the node's lock. ``progress`` notes a wait for an exclusive holder."""
    with disk.translated_errors(root):
        file = _made_lock_file(root, node.stage, node.fingerprint)
        descriptor = _lock_shared(file, lambda: _note_wait(node, progress))
    try:
        yield
    finally:
        os.close(descriptor)


def _note_wait(node: Node, progress: Progress | None) -> None:
    if progress:
        progress.note(f"  {node}: another process is building it, waiting")


def _made_lock_file(root: Path, stage: str, fingerprint: str) -> Path:
    file = root / "locks" / f"{stage}-{fingerprint}.lock"
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def _lock_shared(file: Path, waiting: Callable[[], None]) -> int:
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        with contextlib.ExitStack() as stack:
            stack.callback(os.close, descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(descriptor, fcntl.LOCK_SH)
            if os.fstat(descriptor).st_nlink:  # 0 if the file was removed meanwhile
                stack.pop_all()
                return descriptor


@contextlib.contextmanager
def hold(root: Path, stage: str, fingerprint: str) -> Iterator[bool]:
    """Hold an artefact's lock, then remove the lock's file. Yields False if another process holds it."""
    from filelock import FileLock, Timeout

    file = _made_lock_file(root, stage, fingerprint)
    try:
        held = FileLock(file).acquire(timeout=0)
    except Timeout:
        yield False
        return
    with held:
        yield True
        file.unlink(missing_ok=True)  # a waiting process opens a new one


def being_built(root: Path) -> set[str]:
    """Return fingerprints with held locks. Writes nothing, but locks each file for a moment."""
    fingerprints = set()
    for path in root.glob("locks/*.lock"):
        match = LOCK.fullmatch(path.name)
        if not match:
            continue
        with contextlib.suppress(FileNotFoundError), _open_lock(path) as stream:
            # NFS locks only writable files exclusively
            operation = fcntl.LOCK_EX if stream.writable() else fcntl.LOCK_SH
            try:
                fcntl.flock(stream, operation | fcntl.LOCK_NB)
            except BlockingIOError:
                fingerprints.add(match[2])
    return fingerprints


def _open_lock(path: Path) -> IO[bytes]:
    try:
        return path.open("r+b")
    except OSError:  # another user's or read-only
        return path.open("rb")


def has_unchanged_inputs(partial: Path, inputs: Mapping[str, str]) -> bool:
    """Return whether a partial artefact's noted digests are those in ``inputs``, fingerprint -> digest."""
    noted_inputs = _read_inputs(partial)
    return all(noted_inputs.get(fingerprint, content) == content for fingerprint, content in inputs.items())


def begin(partial: Path, inputs: Mapping[str, str]) -> None:
    """Note the digests of inputs. Removes a partial artefact that was begun with other inputs."""
    note = partial / disk.BLOCKS / INPUTS
    if not has_unchanged_inputs(partial, inputs):
        disk.remove(partial)
    noted_inputs = _read_inputs(partial)
    if not inputs.keys() <= noted_inputs.keys():
        note.parent.mkdir(parents=True, exist_ok=True)
        disk.write_whole(note, json.dumps({**noted_inputs, **inputs}))


def _read_inputs(partial: Path) -> dict[str, str]:
    note = partial / disk.BLOCKS / INPUTS
    return json.loads(note.read_text()) if note.exists() else {}


@contextlib.contextmanager
def one_at_a_time(root: Path) -> Iterator[None]:
    """Keep other processes from announcing plans or removing artefacts."""
    from filelock import FileLock

    with disk.translated_errors(root):
        folder = root / "plans"
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "lock", mode=0o666):
            yield


@contextlib.contextmanager
def announce(root: Path, nodes: Iterable[Node]) -> Iterator[Path]:
    """Announce, until the block ends, that this process will build ``nodes``. Yields the file."""
    inputs = {f"{node.stage}/{node.fingerprint}": [p.fingerprint for p in node.parents()] for node in nodes}
    path = root / "plans" / f"{socket.gethostname()}-{os.getpid()}-{next(_numbers)}.json"
    with disk.translated_errors(root):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = disk.create_file(path)
        fcntl.flock(file, fcntl.LOCK_EX)
        json.dump(inputs, file)
        file.flush()
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        file.close()


def awaited_inputs(root: Path, *, but: Path | None = None) -> set[str]:
    """Return the fingerprints that running processes will read. ``but`` is an announcement to ignore."""
    plans = (_announcement(path).items() for path in root.glob("plans/*.json") if path != but)
    missing = (inputs for plan in plans for node, inputs in plan if not os.path.lexists(root / node))
    return set().union(*missing, *map(notes.Lineage(root).inputs, being_built(root)))


def remove_unless_needed(
    store: Store, node: Node, *, but: Path | None = None, keep: Callable[[], Iterable[str]] = tuple
) -> bool:
    """Remove an artefact unless a process builds or needs it. Returns whether it did.

    ``but`` is the caller's announcement. ``keep`` returns further fingerprints to keep.
    """
    path = store.path(node)
    with one_at_a_time(store.root):
        if node.fingerprint in awaited_inputs(store.root, but=but) or node.fingerprint in set(keep()):
            return False
        with hold(store.root, node.stage, node.fingerprint) as is_held:
            if is_held and os.path.lexists(path):
                disk.remove(path)
                return True
    return False


def _announcement(path: Path) -> dict[str, list[str]]:
    with contextlib.suppress(FileNotFoundError, ValueError), path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return json.load(file)
        with contextlib.suppress(OSError):
            path.unlink()
    return {}
