"""Write and check ``artefact.json``, which contains an artefact's identity and the checksums of its files."""

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
from typing import Any

from repro.errors import StoreError
from repro.graph import Node, canonical
from repro.machine.bounded_reading import parsed_json
from repro.progress import SILENT, Progress
from repro.store.disk import (
    BLOCKS,
    CHECKPOINTS,
    RECORD,
    SCORES,
    check_regular,
    megabytes,
    remove,
    sha256,
    share,
    sync,
)

Files = dict[str, tuple[int, str]]  # name -> size, sha256
_DIGEST = re.compile(r"[0-9a-f]{64}")
_REMEDY = "`repro store verify --rebuild` removes the artefact, the next run that needs it builds it again"
LARGEST = 1 + 1e-9  # score, a fraction: nDCG is a quotient of sums of floats
LARGEST_NUMBER = sys.float_info.max
NUMBERS = {int, float}


def seal(directory: Path, node: Node, facts: dict[str, Any], progress: Progress | None = None) -> None:
    """Write artefact.json, then remove ``blocks`` and ``checkpoints``. Raises StoreError for a link."""
    paths, folders = _files_and_folders(directory)
    files = {}
    total = sum(megabytes(path.stat().st_size) for path in paths)
    with (progress or SILENT).task(f"sealing {node}, MB", total=total) as advance:
        for path in paths:
            share(path)
            sync(path)
            name = path.relative_to(directory).as_posix()
            files[name] = {"size": path.stat().st_size, "sha256": sha256(path, advance)}
    record = {"fingerprint": node.fingerprint, "identity": node.identity(), "files": files, "facts": facts}
    record = json.loads(json.dumps(record))  # as it is read back
    target = directory / RECORD
    target.write_text(json.dumps(record | {"sha256": _checksum(record)}, indent=1) + "\n")
    sync(target)
    for folder_name in (BLOCKS, CHECKPOINTS):
        if os.path.lexists(directory / folder_name):
            remove(directory / folder_name)
    for folder in reversed(folders):  # else a power cut could take names that the record vouches for
        sync(folder)


def _files_and_folders(directory: Path) -> tuple[list[Path], list[Path]]:
    """Return the files and folders of an artefact. Raises StoreError for a link."""
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
    """Return the checked content of an artefact's JSON file. Raises StoreError if it is damaged."""
    value, fault = _content(path)
    if fault:
        raise StoreError(f"{path}: damaged ({fault}); {_REMEDY}")
    return value


def _content(path: Path) -> tuple[Any, str]:
    """Return the content of a JSON file and its fault, e.g. "a score by RR@10 is nan"."""
    try:
        check_regular(path)
        data = path.read_bytes()
        value = parsed_json(data)
    except (OSError, ValueError) as error:
        return None, str(error)
    if path.name == RECORD:
        return value, _facts_fault(value.get("facts")) if _is_whole(value) else "it is altered"
    if (path.parent / RECORD).is_file():
        record = read_json(path.parent / RECORD)
        if _listed_files(record, path.parent).get(path.name, (0, ""))[1] != hashlib.sha256(data).hexdigest():
            return value, "it is altered"
        if path.name == SCORES:
            return value, _scores_fault(value, path.parent.parent.parent, record)
    return value, ""


def _scores_fault(scores: Any, root: Path, record: Mapping[str, Any]) -> str:
    try:
        params, inputs = record["identity"]["params"], record["identity"]["inputs"]
        name = "queries" if params.get("judgements") == "answers" else "qrels"
        source = root / name / str(inputs.get(name))
        status = (source / RECORD).stat()
        digest, judged = _judged_queries(source, (status.st_ino, status.st_size, status.st_mtime_ns))
        if record["facts"].get("inputs", {}).get(source.name, digest) != digest:
            judged = None  # they were made again since, and came out otherwise
    except OSError:
        judged = None
    except (KeyError, TypeError, AttributeError):
        return f"its {RECORD} has no identity"
    return scores_fault(scores, params, judged)


@functools.lru_cache(maxsize=64)  # evaluations share judgements
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


def recorded_files(path: Path) -> Files:
    """Return file name -> (size, sha256) as recorded in artefact.json. Raises StoreError if that is
    damaged."""
    return _listed_files(read_json(path / RECORD), path)


def _listed_files(record: Any, path: Path) -> Files:
    try:
        return _files(record)
    except ValueError:
        raise StoreError(f"{path}: damaged ({RECORD} cannot be read); {_REMEDY}") from None


def content(path: Path) -> str:
    """Return a digest of the file names and checksums in an artefact's record. Does not read the files.
    Raises StoreError if the record cannot be read."""
    files = [[name, digest] for name, (_, digest) in sorted(recorded_files(path).items())]
    return hashlib.sha256(canonical(files).encode()).hexdigest()


def damage(path: Path, progress: Progress | None = None) -> list[str]:
    """Return an artefact's faults after reading every byte, e.g. "run.trec is altered", "x.bin was added"."""
    if faults := wrong_sizes(path):
        return faults
    files = recorded_files(path)
    total = sum(megabytes(size) for size, _ in files.values())
    with (progress or SILENT).task(
        f"checking {path.parent.name}/{path.name[:12]}, MB", total=total
    ) as advance:
        fault_by_name = {name: _fault(path / name, digest, advance) for name, (_, digest) in files.items()}
    faults = [f"{name} {fault}" for name, fault in fault_by_name.items() if fault]
    # a library that loads a folder might read a file that was added
    faults += [f"{name} was added" for name in _names(path) if name not in files and name != RECORD]
    if not faults and SCORES in files and (fault := _content(path / SCORES)[1]):
        return [f"{SCORES}: {fault}"]
    return faults


def _names(path: Path) -> list[str]:
    return [p.relative_to(path).as_posix() for p in sorted(path.rglob("*")) if not p.is_dir()]


def _fault(file: Path, digest: str, advance: Callable[[int], None]) -> str:
    try:
        return "" if sha256(file, advance) == digest else "is altered"
    except OSError as error:
        return f"cannot be read ({error.strerror})"


def wrong_sizes(path: Path) -> list[str]:
    """Return an artefact's faults found from its record and the names and sizes of its files, without reading
    those."""
    try:
        check_regular(path / RECORD)
        record = parsed_json((path / RECORD).read_bytes())
        files = files_of(record, stage=path.parent.name, fingerprint=path.name.partition(".")[0])
    except (OSError, ValueError):
        return [f"{RECORD} cannot be read"]
    except StoreError as error:
        return [str(error)]
    faults = (_size_fault(path, name, size) for name, (size, _) in files.items())
    return [fault for fault in faults if fault]


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


def files_of(record: Any, *, stage: str, fingerprint: str) -> Files:
    """Return file name -> (size, sha256) of a record. Raises StoreError if it is another artefact's
    record."""
    try:
        files, identity = _files(record), canonical(record["identity"])
        identifiers = (
            record["identity"]["stage"],
            record["fingerprint"],
            hashlib.sha256(identity.encode()).hexdigest(),
        )
    except (KeyError, TypeError, ValueError):
        raise StoreError(f"{RECORD} cannot be read") from None
    if identifiers != (stage, fingerprint, fingerprint):
        raise StoreError(f"{RECORD} is another artefact's, or its identity was changed")
    if not _is_whole(record):
        raise StoreError(f"{RECORD} is altered")
    if fault := _facts_fault(record.get("facts")):
        raise StoreError(f"{RECORD}: {fault}")
    return files


def _files(record: Any) -> Files:
    """Return file name -> (size, sha256) of a record. Raises ValueError if it has another shape."""
    try:
        files = {name: (facts["size"], facts["sha256"]) for name, facts in record["files"].items()}
        if all(
            type(size) is int and size >= 0 and _DIGEST.fullmatch(digest) for size, digest in files.values()
        ) and not any(name.startswith("/") or ".." in name.split("/") for name in files):
            return files
    except (KeyError, TypeError, AttributeError):
        pass
    raise ValueError("not the record of an artefact")


def _is_whole(record: Any) -> bool:
    return isinstance(record, dict) and record.get("sha256") == _checksum(record)


def _checksum(record: dict) -> str:
    fields = {k: v for k, v in record.items() if k != "sha256"}
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def scores_fault(scores: Any, params: Mapping[str, Any], judged: Collection[str] | None) -> str:
    """Return a reason why scores cannot be an evaluation's, e.g. "a score by RR@10 is 500.0", or "".

    Args:
        params: the parameters of the evaluation. Scores of a stage without ``measures`` may exceed 1.
        judged: the judged queries, or None if unknown.
    """
    try:
        queries, missing, measures = scores["queries"], scores["missing"], scores["measures"]
        lists = queries, missing, *measures.values()
    except (KeyError, TypeError, AttributeError):
        return "it has no queries, measures and missing queries"
    if not all(type(values) is list for values in lists) or not _are({str}, [*queries, *missing]):
        return "its queries, measures and missing queries are not lists"
    if not queries or len(set(queries)) < len(queries) or not {*missing} <= {*queries}:
        return "it has no queries, repeated queries, or missing queries that it does not list"
    if judged is not None and {*queries} != {*judged}:
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


def _facts_fault(facts: Any) -> str:
    """Return a reason why the facts of an artefact are invalid, e.g. "its fact seconds is 'x'", or ""."""
    if type(facts) is not dict:
        return "its facts are not a mapping"
    wrong = (name for name in _FACTS.keys() & facts.keys() if not _FACTS[name](facts[name]))
    return next((f"its fact {name} is {str(facts[name])[:40]!r}" for name in sorted(wrong)), "")


def _are(types: set[type], values: Iterable) -> bool:
    return {*map(type, values)} <= types


def _is_text(value: Any) -> bool:
    return type(value) is str and value.isprintable()


def _is_number(value: Any) -> bool:
    return type(value) in NUMBERS and 0 <= value < 1e30


def _is_time(value: Any) -> bool:
    try:
        return bool(datetime.fromisoformat(value))
    except (TypeError, ValueError):
        return False


def _are_texts(value: Any) -> bool:
    return type(value) is dict and _are({str}, value.values())


def _is_mapping(value: Any) -> bool:
    return type(value) is dict


def _are_tasks(value: Any) -> bool:
    return _is_mapping(value) and all(
        type(task) is dict and all(map(_is_number, task.values())) for task in value.values()
    )


_FACTS = {  # fact -> its test
    **dict.fromkeys(("code", "digest", "repro"), _is_text),
    **dict.fromkeys(("modules", "libraries", "inputs"), _are_texts),
    **dict.fromkeys(("steps", "resumed_at", "examples", "flops", "documents"), _is_number),
    **dict.fromkeys(("queries", "nudged", "peak_memory_kib", "peak_gpu_bytes"), _is_number),
    "entries": lambda value: type(value) is list and _are({str}, value),
    # a digest of rows, or of several training sets the number of each
    "rows": lambda value: _is_text(value) or (type(value) is list and _are({int}, value)),
    "commit": lambda value: type(value) is str,  # one that is not hexadecimal counts as unknown
    "finished": _is_time,
    "seconds": lambda value: _is_number(value) and value < 1e9,
    "kernels": _is_mapping,
    "tasks": _are_tasks,
}
