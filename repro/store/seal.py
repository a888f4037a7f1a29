"""``artefact.json``: what an artefact is, what its files were when made, and whether they still are."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

from repro.errors import StoreError
from repro.graph import Node, canonical
from repro.store.disk import BLOCKS, RECORD, remove, sha256, sync

_DIGEST = re.compile(r"[0-9a-f]{64}")
_REMEDY = "`repro verify --rebuild` removes the artefact, the next run builds it again"


def seal(directory: Path, node: Node, facts: dict[str, Any]) -> None:
    """Write artefact.json last, after every file it vouches for is on disk. Raises StoreError for a link.

    The folder ``blocks`` is removed after that: sealing reads all that was written, which takes minutes, and
    whoever is interrupted meanwhile goes on by it.
    """
    files, folders = {}, [directory]
    for path in sorted(directory.rglob("*")):
        if path.relative_to(directory).parts[0] == BLOCKS:
            continue
        if path.is_symlink():
            raise StoreError(f"{path} is a link, which no artefact may hold; remove {directory}, run again")
        if path.is_dir():
            folders.append(path)
        elif path != directory / RECORD:
            sync(path)
            name = path.relative_to(directory).as_posix()
            files[name] = {"size": path.stat().st_size, "sha256": sha256(path)}
    record = {"fingerprint": node.fingerprint, "identity": node.identity(), "files": files, "facts": facts}
    target = directory / RECORD
    target.write_text(json.dumps(record | {"sha256": _own_digest(record)}, indent=1) + "\n")
    sync(target)
    if os.path.lexists(directory / BLOCKS):
        remove(directory / BLOCKS)
    for folder in reversed(folders):  # else a power cut could take names that the record vouches for
        sync(folder)


def read_json(path: Path) -> Any:
    """A JSON file of an artefact, compared with its checksum. Raises StoreError, naming the file."""
    try:
        content = path.read_bytes()
        value = json.loads(content.decode("utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: damaged ({error}); {_REMEDY}") from None
    if path.name != RECORD and (path.parent / RECORD).is_file():
        written = recorded_files(path.parent).get(path.name)
        if written is None or written[1] != hashlib.sha256(content).hexdigest():
            raise StoreError(f"{path}: damaged (it is not what was written); {_REMEDY}")
    return value


def damage(path: Path) -> list[str]:
    """What is wrong with an artefact, reading every byte: missing, truncated, altered or added files."""
    wrong = wrong_sizes(path)
    if wrong:
        return wrong
    files = recorded_files(path)
    for name, (_, digest) in files.items():
        try:
            if sha256(path / name) != digest:
                wrong.append(f"{name} is altered")
        except OSError as error:
            wrong.append(f"{name} cannot be read ({error.strerror})")
    return wrong + _added(path, files)


def _added(path: Path, files: dict[str, tuple[int, str]]) -> list[str]:
    """Files beside those of the record: a library that loads a folder might read them."""
    found = (p for p in sorted(path.rglob("*")) if p.is_symlink() or not p.is_dir())
    names = (p.relative_to(path).as_posix() for p in found)
    return [f"{name} was added" for name in names if name not in files and name != RECORD]


def wrong_sizes(path: Path) -> list[str]:
    """What is wrong with an artefact, looking at its record and at names and sizes only."""
    if path.is_symlink():
        return ["it is a link to somewhere else"]
    try:
        record = read_json(path / RECORD)
    except StoreError:
        return [f"{RECORD} cannot be read"]
    try:
        files = files_of(record, stage=path.parent.name, fingerprint=path.name.partition(".")[0])
    except StoreError as error:
        return [str(error)]
    wrong = []
    for name, (written, _) in files.items():
        try:
            if _through_a_link(path, name):
                wrong.append(f"{name} is a link")
                continue
            size = os.stat(path / name).st_size
        except OSError:
            wrong.append(f"{name} is missing")
            continue
        if size != written:
            wrong.append(f"{name} has {size} bytes, {written} were written")
    return wrong


def _through_a_link(path: Path, name: str) -> bool:
    parts = PurePosixPath(name).parts
    return any((path / Path(*parts[:end])).is_symlink() for end in range(1, len(parts) + 1))


def recorded_files(path: Path) -> dict[str, tuple[int, str]]:
    """Size and sha256 of every file that artefact.json vouches for. Raises StoreError when it is damaged."""
    record = read_json(path / RECORD)
    try:
        return {name: (facts["size"], facts["sha256"]) for name, facts in record["files"].items()}
    except (KeyError, TypeError, AttributeError):
        raise StoreError(f"{path}: damaged ({RECORD} cannot be read); {_REMEDY}") from None


def files_of(record: Any, *, stage: str, fingerprint: str) -> dict[str, tuple[int, str]]:
    """Size and sha256 of an artefact's files by name, once its record is known to be that artefact's.

    The record's own checksum is compared where it has one; records of earlier versions have none.

    Raises:
        StoreError: a record of another shape, artefact or content, or with a name that leaves its folder.
    """
    try:
        given, identity = record["fingerprint"], record["identity"]
        named = hashlib.sha256(canonical(identity).encode()).hexdigest()
        own_stage = identity["stage"]
        files = {name: (facts["size"], facts["sha256"]) for name, facts in record["files"].items()}
        sound = all(
            type(size) is int and size >= 0 and isinstance(digest, str) and _DIGEST.fullmatch(digest)
            for size, digest in files.values()
        )
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        raise StoreError(f"{RECORD} cannot be read") from None
    if not sound:
        raise StoreError(f"{RECORD} cannot be read")
    if not (given == named == fingerprint and own_stage == stage):
        raise StoreError(f"{RECORD} is another artefact's, or its identity was changed")
    for name in files:
        if not is_inside(name):
            raise StoreError(f"{RECORD} names {name!r}, which is no file of the artefact's own")
    if "sha256" in record and record["sha256"] != _own_digest(record):
        raise StoreError(f"{RECORD} is altered")
    return files


def is_inside(name: str) -> bool:
    """Whether a name in a record is a plain relative path that stays in the artefact's folder."""
    parts = name.split("/")
    plain = all(part not in ("", ".", "..") for part in parts)
    return plain and name != RECORD and not any(c in name for c in "\\\0:") and name.isprintable()


def _own_digest(record: dict) -> str:
    """Of everything in the record but this digest; through JSON, as it is read back."""
    kept = json.loads(json.dumps({k: v for k, v in record.items() if k != "sha256"}))
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()
