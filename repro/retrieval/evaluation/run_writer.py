"""Write TREC runs without ties, and read them query by query.

Scores are float32 numbers printed in full that decrease within a query. Ties are broken as by trec_eval, by
document id descending: a score that is not below its predecessor becomes the next float32 below it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from pydantic import TypeAdapter

from repro.errors import DataError, StoreError
from repro.retrieval.evaluation.text_lines import read_score

START, END = "# ir_metadata.start", "# ir_metadata.end"
VERSIONS = {"0.1": "schema-version", "0.2": "schema version"}  # version -> its key
LINE = 1 << 16  # bytes
FLOATS = TypeAdapter(list[float])


def header(metadata: Mapping[str, Any], *, version: str = "0.1") -> str:
    """Return ir_metadata as comment lines between START and END."""
    body = "".join(f"# {line}\n" for line in _yaml(metadata, version).splitlines())
    return f"{START}\n{body}{END}\n"


def write_metadata(path: Path, metadata: Mapping[str, Any]) -> None:
    path.write_text(_yaml(metadata, "0.1"), encoding="utf-8")


def read_metadata(path: Path) -> dict[str, Any]:
    """Read metadata of either version. Raises StoreError if damaged or of another version."""
    import yaml

    marks = {mark.removeprefix(comment) for mark in (START, END) for comment in ("", "# ")}
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        metadata = yaml.safe_load("".join(line for line in lines if line.strip() not in marks))
    except (OSError, ValueError, yaml.YAMLError) as error:
        reason = str(error).splitlines()[0]
        raise StoreError(f"{path}: damaged ({reason}). Run `repro store verify`.") from None
    metadata = metadata if isinstance(metadata, dict) else {}
    stated_versions = {key: str(metadata[key]) for key in VERSIONS.values() if key in metadata}
    if not set(stated_versions.values()) <= set(VERSIONS):
        versions = " and ".join(VERSIONS)
        stated = ", ".join(stated_versions.values())
        raise StoreError(f"{path}: ir_metadata {stated} is not supported, only {versions}")
    return metadata


def resources(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's "resources" (ir_metadata 0.2): times and peak memory in KiB, if ``facts`` has them."""
    entries: dict[str, Any] = {}
    if "finished" in facts and "seconds" in facts:
        stop = datetime.fromisoformat(facts["finished"])
        start = stop - timedelta(seconds=facts["seconds"])
        times = {"start time": start.isoformat(timespec="milliseconds"), "stop time": stop.isoformat()}
        entries["runtime"] = times | {"wallclock": f"{round(1000 * facts['seconds'])} ms"}
    if "peak_memory_kib" in facts:
        entries["ram"] = {"used process": {"max": facts["peak_memory_kib"]}}
    return entries


def complete_metadata(
    metadata: Mapping[str, Any],
    *,
    collection: Mapping[str, str],
    measures: list[str],
    environment: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a run's metadata with test ``collection``, ``measures`` and ``environment`` added."""
    full_metadata = dict(metadata)
    if collection:
        full_metadata["data"] = {**(full_metadata.get("data") or {}), "test collection": dict(collection)}
    if measures:
        full_metadata["research goal"] = {"evaluation": {"reported measures": measures}}
    if environment:
        full_metadata["platform"] = _platform(environment)
        if commit := environment.get("commit"):
            full_metadata["implementation"] = {"source": {"lang": ["Python"], "commit": commit}}
    return full_metadata


def _platform(environment: Mapping[str, Any]) -> dict[str, Any]:
    machine, software = environment.get("hardware", {}), environment.get("software", {})
    facts = {"model": "cpu", "architecture": "architecture", "number of cores": "cores"}
    cpu = {name: machine[key] for name, key in facts.items() if machine.get(key) is not None}
    hardware: dict[str, Any] = {"cpu": cpu}
    if machine.get("gpu"):
        hardware["gpu"] = {"model": "; ".join(machine["gpu"])}
    if machine.get("memory_gib"):
        hardware["ram"] = f"{machine['memory_gib']} GiB"
    platform: dict[str, Any] = {"hardware": hardware}
    if machine.get("system"):
        platform["operating system"] = {"kernel": machine["system"]}
    if software:
        platform["software"] = {"libraries": [f"{name}=={version}" for name, version in software.items()]}
    return platform


def _yaml(metadata: Mapping[str, Any], version: str) -> str:
    import yaml

    other_fields = {key: value for key, value in metadata.items() if key not in VERSIONS.values()}
    content = {VERSIONS[version]: float(version), **other_fields}
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10_000)


_SMALLEST = np.finfo(np.float32).tiny


Ranking = tuple[str, Sequence[str], Sequence[float] | np.ndarray]  # query, documents, scores


def write_run(
    out: Path,
    run: Mapping[str, Iterable[tuple[str, float]]] | Iterable[Ranking],
    tag: str,
    *,
    method: Mapping[str, object] | None = None,
) -> dict[str, int]:
    """Write ``run.trec``, ``raw.npy`` and ``run.ir_metadata.yml`` into the directory ``out``.

    ``run`` is ``{qid: [(docid, score), …]}``, or an iterable of ``(qid, docids, scores)``, with documents in
    any order.

    Returns counts: ``queries`` with documents, ``lines``, and ``nudged``, the scores that differ from the raw
    ones. Raises DataError for ids with white space, duplicates, and scores that are not finite in float32.
    """
    _check_one_word("tag", tag)
    counts, seen = {"queries": 0, "lines": 0, "nudged": 0}, set()
    with (
        open(out / "run.trec", "w", encoding="utf-8", newline="\n") as file,
        open(out / "raw.npy", "wb") as raw_file,
    ):
        _start_raw(raw_file, 0)
        for qid, documents, scores in _query_rankings(run):
            _check_one_word("query id", qid)
            if qid in seen:
                raise DataError(f"run {tag}: query {qid!r} is given twice")
            seen.add(qid)
            documents, raw_scores, untied_scores = break_ties(documents, scores, query=qid)
            ranks = map(str, range(1, len(documents) + 1))
            lines = zip(documents, ranks, _decimals(untied_scores), strict=True)
            start, end = f"{qid} Q0 ", f" {tag}\n"
            file.write("".join([f"{start}{document} {rank} {score}{end}" for document, rank, score in lines]))
            raw_file.write(raw_scores.tobytes())
            counts["queries"] += len(raw_scores) > 0
            counts["lines"] += len(raw_scores)
            counts["nudged"] += int((raw_scores != untied_scores).sum())
        _start_raw(raw_file, counts["lines"])
    # a separate file, as scorers read no header
    method = {"automatic": True, "score ties": "reverse alphabetical order", **(method or {})}
    write_metadata(out / "run.ir_metadata.yml", {"tag": tag, "method": method})
    return counts


def _start_raw(file: BinaryIO, scores: int) -> None:
    header = {"descr": "<f4", "fortran_order": False, "shape": (scores,)}
    file.seek(0)
    np.lib.format.write_array_header_1_0(file, header)


def break_ties(
    documents: Sequence[str], scores: Sequence[float] | np.ndarray, *, query: str
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return ranked ids, raw scores (float32) and untied scores, (K,) each. DataError if one is invalid."""
    documents = list(documents)
    if " ".join(documents).split() != documents:
        bad_id = next(d for d in documents if d.split() != [d])
        raise DataError(f"query {query!r}: document id {bad_id!r} is empty or contains white space")
    if len(set(documents)) != len(documents):
        raise DataError(f"query {query!r}: a document is given twice")
    with np.errstate(over="ignore"):
        raw_scores = np.asarray(scores, np.float32)
    if not np.isfinite(raw_scores).all():
        bad_id = documents[int(np.flatnonzero(~np.isfinite(raw_scores))[0])]
        raise DataError(f"query {query!r}: the score of document {bad_id!r} is not a finite float32 number")
    if not (raw_scores[1:] < raw_scores[:-1]).all():
        ranking = sorted(zip(raw_scores.tolist(), documents, strict=True), reverse=True)
        raw_scores = np.array([score for score, _ in ranking], np.float32)
        documents = [document for _, document in ranking]
    return documents, raw_scores, _lower_ties(raw_scores)


def _decimals(scores: np.ndarray) -> list[str]:
    numbers = scores.tolist()
    if (np.abs(scores) < 1e-3).any():  # pydantic writes 1e-05 as 0.00001
        return list(map(repr, numbers))
    return FLOATS.dump_json(numbers).decode()[1:-1].split(",") if numbers else []


def _query_rankings(run) -> Iterator[Ranking]:
    if not isinstance(run, Mapping):
        yield from run
        return
    for qid, pairs in run.items():
        pairs = list(pairs)
        yield qid, [document for document, _ in pairs], [score for _, score in pairs]


def _lower_ties(scores: np.ndarray) -> np.ndarray:
    untied_scores = scores.copy()
    for i in np.flatnonzero(scores[1:] == scores[:-1]) + 1:
        while i < len(scores) and not untied_scores[i] < untied_scores[i - 1]:
            untied_scores[i] = _next_below(untied_scores[i - 1])
            i += 1
    return untied_scores


def _next_below(score: np.float32) -> np.float32:
    """Return the next smaller float32, but no subnormal one, which may be flushed to zero."""
    next_score = np.nextafter(score, np.float32(-np.inf))
    if abs(next_score) < _SMALLEST and next_score != 0:
        return np.float32(0) if score > 0 else -_SMALLEST
    return next_score


def _check_one_word(kind: str, value: str) -> None:
    if value.split() != [value]:
        raise DataError(f"the {kind} {value!r} is empty or contains white space")


def rankings(
    path: Path, begin: int = 0, end: int | None = None
) -> Iterator[tuple[str, list[str], list[float]]]:
    """Yield each query of a written run with its documents, best first, and scores.

    ``begin`` and ``end`` are byte offsets. A query is read if its first line begins between them. Raises
    DataError for scattered lines, and for wrong ranks or scores.
    """
    seen: set[str] = set()
    begin = _start(path, begin)
    end = None if end is None else _start(path, end)
    for query, lines in groupby(_lines(path, begin, end), key=lambda line: line[0] if line else ""):
        if query in seen:
            raise scattered_query_error(path, query)
        seen.add(query)
        documents: list[str] = []
        scores: list[float] = []
        place = f"{path}: query {query!r}"
        for line in lines:
            if len(line) != 6 or line[3] != str(len(documents) + 1):
                raise DataError(f"{place}: not line {len(documents) + 1} of its ranking")
            documents.append(line[2])
            scores.append(read_score(line[4], place))
        yield query, documents, scores


def parts(path: Path, size: int) -> range:
    """Return the offsets of parts of ``size`` bytes of a file. Raises DataError if it is missing."""
    try:
        return range(0, path.stat().st_size, size)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None


def scattered_query_error(path: Path, query: str) -> DataError:
    return DataError(f"{path}: the lines of query {query!r} are not consecutive")


def _lines(path: Path, begin: int, end: int | None) -> Iterator[list[str]]:
    place = begin
    try:
        with open(path, "rb") as file:
            file.seek(begin)
            for line in file:
                if end is not None and place >= end:
                    return
                place += len(line)
                yield line.decode("utf-8").split()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: not UTF-8 text") from None


def _start(path: Path, place: int) -> int:
    if place == 0:
        return 0
    start, previous_query = _line_start(path, min(place, path.stat().st_size)), None
    with open(path, "rb") as file:
        file.seek(start)
        for line in file:
            query = line.split(maxsplit=1)[:1]
            if previous_query not in (None, query):
                break
            previous_query = query
            start += len(line)
    return start


def _line_start(path: Path, place: int) -> int:
    begin, newline = place, -1
    with open(path, "rb") as file:
        while newline < 0 and begin > 0:
            begin = max(begin - LINE, 0)
            file.seek(begin)
            newline = file.read(min(LINE, place - 1 - begin)).rfind(b"\n")
    return begin + newline + 1
