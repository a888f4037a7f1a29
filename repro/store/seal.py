"""Write and check ``artefact.json``, an artefact's identity and checksums."""

import functools
import hashlib
import json
import math
import os
import re
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from repro.errors import StoreError
from repro.graph import Node, digest_of
from repro.machine.bounded_reading import parsed_json, read_json_file
from repro.progress import SILENT, Progress
from repro.store import disk
from repro.store.disk import BLOCKS, CHECKPOINTS, RECORD, SCORES, check_regular, megabytes, sha256

Files = dict[str, tuple[int, str]]  # name -> size, sha256
_DIGEST = re.compile(r"[0-9a-f]{64}")
_REMEDY = "`repro store verify --rebuild` removes the artefact, the next run that needs it builds it again"
LARGEST = 1 + 1e-9  # of a score, a quotient of float sums
LARGEST_NUMBER = sys.float_info.max
NUMBERS = {int, float}


def seal(directory: Path, node: Node, facts: dict[str, Any], progress: Progress | None = None) -> None:
    """Write artefact.json. Removes ``blocks`` and ``checkpoints``. Raises StoreError for a link."""
    paths, folders = _files_and_folders(directory)
    files = {}
    total = sum(megabytes(path.stat().st_size) for path in paths)
    with (progress or SILENT).task(f"sealing {node}, MB", total=total) as advance:
        for path in paths:
            disk.share(path)
            disk.sync(path)
            name = path.relative_to(directory).as_posix()
            files[name] = {"size": path.stat().st_size, "sha256": sha256(path, advance)}
    record = {"fingerprint": node.fingerprint, "identity": node.identity(), "files": files, "facts": facts}
    record = json.loads(json.dumps(record))  # as read back
    target = directory / RECORD
    target.write_text(json.dumps(record | {"sha256": _checksum(record)}, indent=1) + "\n")
    disk.sync(target)
    for folder_name in (BLOCKS, CHECKPOINTS):
        if os.path.lexists(directory / folder_name):
            disk.remove(directory / folder_name)
    for folder in reversed(folders):  # so that a power cut loses no recorded names
        disk.sync(folder)


def _files_and_folders(directory: Path) -> tuple[list[Path], list[Path]]:
    files, folders = [], [directory]
    for path in sorted(directory.rglob("*")):
        if path.relative_to(directory).parts[0] in (BLOCKS, CHECKPOINTS):
            continue
        mode = path.lstat().st_mode
        if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
            kind = "a link" if stat.S_ISLNK(mode) else "not a regular file"
            raise StoreError(f"{path} is {kind}. Remove {directory} and run again.")
        if stat.S_ISDIR(mode):
            folders.append(path)
        elif path != directory / RECORD:
            files.append(path)
    return files, folders


def read_json(path: Path) -> Any:
    """Return the content of an artefact's JSON file. Raises StoreError if it is missing or damaged."""
    try:
        check_regular(path)
        data = path.read_bytes()
        value = parsed_json(data)
        fault = _content_fault(path, data, value)
    except (OSError, ValueError) as error:
        fault = str(error)
    if fault:
        raise StoreError(f"{path}: damaged ({fault}); {_REMEDY}")
    return value


def _content_fault(path: Path, data: bytes, value: Any) -> str:
    if path.name == RECORD:
        return _record_fault(value)
    if not (path.parent / RECORD).is_file():
        return ""
    record = read_json(path.parent / RECORD)
    if _files(record).get(path.name, (0, ""))[1] != hashlib.sha256(data).hexdigest():
        return "it is altered"
    return _scores_fault(value, path.parent.parent.parent, record) if path.name == SCORES else ""


def _scores_fault(scores: Any, root: Path, record: Mapping[str, Any]) -> str:
    try:
        params, inputs = record["identity"]["params"], record["identity"]["inputs"]
        name = "queries" if params.get("judgements") == "answers" else "qrels"
        source = root / name / str(inputs.get(name))
        status = (source / RECORD).stat()
        digest, judged = _judged_queries(source, (status.st_ino, status.st_size, status.st_mtime_ns))
        if record["facts"].get("inputs", {}).get(source.name, digest) != digest:
            judged = None  # they were rebuilt differently
    except OSError:
        judged = None
    except (KeyError, TypeError, AttributeError):
        return f"its {RECORD} has no identity"
    return scores_fault(scores, params, judged)


@functools.lru_cache(maxsize=64)
def _judged_queries(folder: Path, stamp: tuple[int, ...]) -> tuple[str, frozenset[str] | None]:
    if wrong_sizes(folder):
        return "", None
    try:
        if folder.parent.name == "queries":
            lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
            return content(folder), frozenset(json.loads(line)["id"] for line in lines)
        lines = (folder / "qrels.trec").read_text(encoding="utf-8").splitlines()
        return content(folder), frozenset(line.split(maxsplit=1)[0] for line in lines)
    except (OSError, ValueError, LookupError, TypeError):
        return "", None


def content(path: Path) -> str:
    """Return a digest of the recorded sha256 of an artefact's files. Raises StoreError."""
    files = _files(read_json(path / RECORD))
    return digest_of([[name, digest] for name, (_, digest) in sorted(files.items())])


def damage(path: Path, progress: Progress | None = None) -> list[str]:
    """Read an artefact and return its faults, e.g. ["run.trec is altered"]."""
    if faults := wrong_sizes(path):
        return faults
    record = read_json(path / RECORD)
    files = _files(record)
    total = sum(megabytes(size) for size, _ in files.values())
    task = f"checking {path.parent.name}/{path.name[:12]}, MB"
    with (progress or SILENT).task(task, total=total) as advance:
        faults = [_fault(path, name, digest, advance) for name, (_, digest) in files.items()]
    found = {p.relative_to(path).as_posix() for p in path.rglob("*") if not p.is_dir()}
    # a library might read added files
    faults = [*filter(None, faults), *(f"{name} was added" for name in sorted(found - {*files, RECORD}))]
    if not faults and SCORES in files:
        try:
            scores = read_json_file(path / SCORES)
        except (OSError, ValueError) as error:
            return [f"{SCORES}: {error}"]
        fault = _scores_fault(scores, path.parent.parent, record)
        return [f"{SCORES}: {fault}"] if fault else []
    return faults


def _fault(path: Path, name: str, digest: str, advance: Callable[[int], None]) -> str:
    try:
        return "" if sha256(path / name, advance) == digest else f"{name} is altered"
    except OSError as error:
        return f"{name} cannot be read ({error.strerror})"


def wrong_sizes(path: Path) -> list[str]:
    """Return an artefact's faults by its record, file names and file sizes. Reads no other content."""
    try:
        check_regular(path / RECORD)
        record = read_json_file(path / RECORD)
        files, identity = _files(record), record["identity"]
        identifiers = identity["stage"], record["fingerprint"], digest_of(identity)
    except (OSError, LookupError, TypeError, ValueError):
        return [f"{RECORD} cannot be read"]
    fingerprint = path.name.partition(".")[0]
    if identifiers != (path.parent.name, fingerprint, fingerprint):
        return [f"{RECORD} is another artefact's, or its identity was changed"]
    if fault := _record_fault(record):
        return [f"{RECORD}: {fault}" if _is_whole(record) else f"{RECORD} is altered"]
    return list(filter(None, (_size_fault(path, name, size) for name, (size, _) in files.items())))


def _size_fault(path: Path, name: str, size: int) -> str:
    if any((path / folder).is_symlink() for folder in PurePosixPath(name).parents):
        return f"{name} is in a folder that is a link"
    try:
        found = check_regular(Path(path, name)).st_size
    except FileNotFoundError:
        return f"{name} is missing"
    except OSError:
        return f"{name} is not a regular file"
    return "" if found == size else f"{name} has {found} bytes, {size} were written"


def _files(record: Any) -> Files:
    try:
        files = {name: (facts["size"], facts["sha256"]) for name, facts in record["files"].items()}
        if all(
            type(size) is int and size >= 0 and _DIGEST.fullmatch(digest) for size, digest in files.values()
        ) and not any(name.startswith("/") or ".." in name.split("/") for name in files):
            return files
    except (LookupError, TypeError, AttributeError):
        pass
    raise ValueError(f"{RECORD} cannot be read")


def _record_fault(record: Any) -> str:
    if not _is_whole(record):
        return "it is altered"
    _files(record)
    facts = record.get("facts")
    if type(facts) is not dict:
        return "its facts are not a mapping"
    for name in sorted(_FACTS.keys() & facts.keys()):
        try:
            _FACTS[name].validate_python(facts[name], strict=True)
        except ValidationError:
            return f"its fact {name} is {str(facts[name])[:40]!r}"
    return ""


def _is_whole(record: Any) -> bool:
    return isinstance(record, dict) and record.get("sha256") == _checksum(record)


def _checksum(record: dict) -> str:
    text = json.dumps({k: v for k, v in record.items() if k != "sha256"}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def scores_fault(scores: Any, params: Mapping[str, Any], judged: Collection[str] | None) -> str:
    """Return a fault of the content of scores.json, e.g. "a score by RR@10 is 500.0", or "".

    ``params`` are the stage's. Without ``measures``, scores may exceed 1. ``judged`` may be unknown (None).
    """
    try:
        queries, missing, measures = scores["queries"], scores["missing"], scores["measures"]
        lists = queries, missing, *measures.values()
    except (KeyError, TypeError, AttributeError):
        return "it has no queries, measures and missing queries"
    if not (_are({list}, lists) and _are({str}, [*queries, *missing])):
        return "its queries, measures and missing queries are not lists"
    if len({*queries}) < max(1, len(queries)) or {*missing} - {*queries}:
        return "it has no queries, repeated queries, or missing queries that it does not list"
    if judged not in (None, {*queries}):
        return "its queries are not the judged ones"
    names, limit = (params["measures"], LARGEST) if "measures" in params else (measures, LARGEST_NUMBER)
    if {*names} != measures.keys() or not names:
        return f"its measures are {str([*measures])[:60]}, not {[*names]}"
    faults = (_values_fault(name, values, len(queries), limit) for name, values in measures.items())
    return next(filter(None, faults), "")


def _values_fault(measure: str, values: list, count: int, limit: float) -> str:
    if len(values) != count:
        return f"it has {len(values)} scores by {measure} for {count} queries"
    if not _are(NUMBERS, values):
        return f"a score by {measure} is not a number"
    if min(values) >= 0 and max(values) <= limit and math.isfinite(sum(values)):  # both may overlook a nan
        return ""
    wrong = next((value for value in values if not 0 <= value <= limit), "too large")
    return f"a score by {measure} is {str(wrong)[:40]}"


def _are(types: set[type], values: Iterable) -> bool:
    return {*map(type, values)} <= types


_Number = Annotated[float, Field(ge=0, lt=1e30, allow_inf_nan=False)]
_Text = Annotated[str, Field(pattern=r"^[^\p{C}\p{Zl}\p{Zp}]*$")]
_NUMBER, _TEXT, _TEXTS = TypeAdapter(_Number), TypeAdapter(_Text), TypeAdapter(dict[str, str])
_FACTS: dict[str, TypeAdapter] = {
    **dict.fromkeys(("code", "digest", "repro"), _TEXT),
    **dict.fromkeys(("modules", "libraries", "inputs"), _TEXTS),
    **dict.fromkeys(("steps", "resumed_at", "examples", "flops", "documents"), _NUMBER),
    **dict.fromkeys(("queries", "nudged", "peak_memory_kib", "peak_gpu_bytes"), _NUMBER),
    "entries": TypeAdapter(list[str]),
    "rows": TypeAdapter(_Text | list[int]),  # a digest, or numbers of training sets
    "commit": TypeAdapter(str),  # unknown unless hexadecimal
    "finished": TypeAdapter(Annotated[str, AfterValidator(datetime.fromisoformat)]),
    "seconds": TypeAdapter(Annotated[_Number, Field(lt=1e9)]),
    "kernels": TypeAdapter(dict[str, Any]),
    "tasks": TypeAdapter(dict[str, dict[str, _Number]]),
}
