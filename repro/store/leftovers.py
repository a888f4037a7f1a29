"""Find the unused files of a store, and remove them."""

import contextlib
import os
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from repro.stage_table import STAGES
from repro.store import Store, notes, seal
from repro.store.disk import remove, size_on_disk, translated_errors
from repro.store.notes import DAY, Lineage
from repro.store.underway import LOCK, being_built, hold

_NAME = re.compile(r"([0-9a-f]{64})(\.partial)?(\.gone)?")
_NOTE = re.compile(r"([0-9a-f]{64})\.(json|\d+)")  # digits: left by a killed writer


@dataclass(frozen=True)
class Leftover:
    """An unused item. Its ``kind`` is "artefact", "partial", "lock" or "note". Notes have no ``stage``."""

    kind: str
    path: Path
    stage: str
    fingerprint: str
    bytes: int


def leftovers(store: Store, needed: set[str], *, keep_days: float) -> list[Leftover]:
    """Return files and folders that are older than ``keep_days`` and not needed.

    Artefacts in ``needed``, in progress or recently planned are kept with their inputs, as are imported runs
    and planned partial artefacts, since their shards may end at other times.
    """
    builds = being_built(store.root)
    cutoff = time.time() - keep_days * DAY
    pending = {path.stem for path in notes.files(store.root) if _modification_time(path) > cutoff}
    reachable = Lineage(store.root).below(needed | builds | pending)

    def old(items: Iterable[Leftover]) -> list[Leftover]:
        return [item for item in items if _modification_time(item.path) <= cutoff]

    items = old(_artefacts(store, reachable, builds, pending))
    removed_paths = {item.path for item in items}
    return items + old(chain(_locks(store, removed_paths, builds), _notes(store, reachable, removed_paths)))


def any_old(store: Store, *, keep_days: float) -> bool:
    """Return whether a file or folder is older than ``keep_days``."""
    cutoff = time.time() - keep_days * DAY
    places = (store.root.glob(f"{folder}/*") for folder in (*STAGES, "locks"))
    return any(_modification_time(path) <= cutoff for path in chain(*places, notes.files(store.root)))


def remove_leftover(store: Store, item: Leftover) -> bool:
    with translated_errors(store.root), contextlib.suppress(FileNotFoundError):
        if not item.stage:
            remove(item.path)
            return True
        with hold(store.root, item.stage, item.fingerprint) as is_held:
            if is_held and (item.kind == "lock" or not _is_read(store.root, item.fingerprint)):
                remove(item.path)
                return True
    return False


def remove_leftovers(store: Store, items: Iterable[Leftover]) -> set[Leftover]:
    """Remove the items that are not in use, locks first. Returns the removed ones."""
    ordered = sorted(items, key=lambda item: item.kind != "lock")
    return {item for item in ordered if remove_leftover(store, item)}


def _is_read(root: Path, fingerprint: str) -> bool:
    others = being_built(root) - {fingerprint}
    return bool(others) and fingerprint in Lineage(root).below(others)


def remove_damaged(store: Store, path: Path) -> bool:
    """Remove the artefact at ``path`` if it is still damaged. Returns False if a process holds its lock."""
    item = Leftover("artefact", path, path.parent.name, path.name, 0)
    with translated_errors(store.root), hold(store.root, item.stage, item.fingerprint) as is_held:
        if is_held and os.path.lexists(path) and seal.damage(path):  # perhaps rebuilt meanwhile
            remove(path)
        return is_held


def _artefacts(store: Store, reachable: set[str], builds: set[str], pending: set[str]) -> Iterator[Leftover]:
    busy_by_suffix = {".partial": builds | pending}
    for stage in STAGES:
        for path in sorted(store.root.glob(f"{stage}/*")):
            match = _NAME.fullmatch(path.name)
            if match and (match[2] or match[3]):
                if match[1] not in busy_by_suffix.get(path.suffix, builds):
                    yield Leftover("partial", path, stage, match[1], size_on_disk(path))
            elif match and match[1] not in reachable and stage != "imported_run":
                yield Leftover("artefact", path, stage, match[1], size_on_disk(path))


def _locks(store: Store, removed_paths: set[Path], builds: set[str]) -> Iterator[Leftover]:
    for path in sorted(store.root.glob("locks/*.lock")):
        match = LOCK.fullmatch(path.name)
        if not match or match[1] not in STAGES or match[2] in builds:
            continue
        scratch = store.root / match[1] / f"{match[2]}.partial"
        if not scratch.exists() or scratch in removed_paths:
            yield Leftover("lock", path, match[1], match[2], size_on_disk(path))


def _notes(store: Store, reachable: set[str], removed_paths: set[Path]) -> Iterator[Leftover]:
    stored = (path for stage in STAGES for path in store.root.glob(f"{stage}/*") if path not in removed_paths)
    needed = reachable | Lineage(store.root).below(path.name.partition(".")[0] for path in stored)
    for path in notes.files(store.root):
        match = _NOTE.fullmatch(path.name)
        if match and (match[1] not in needed or match[2] != "json"):
            yield Leftover("note", path, "", match[1], size_on_disk(path))


def _modification_time(path: Path) -> float:
    try:
        descendants = path.rglob("*") if path.is_dir() and not path.is_symlink() else ()
        return max(p.lstat().st_mtime for p in (path, *descendants))
    except FileNotFoundError:
        return float("inf")
