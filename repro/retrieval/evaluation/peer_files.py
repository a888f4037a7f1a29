"""Reads runs and judgements in the forms of ranx and BEIR, and says what other files are that are no text."""

import json
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from repro.errors import DataError
from repro.retrieval.evaluation.runs import Run, RunFile, ranked
from repro.retrieval.evaluation.text_lines import columns, numbered_lines, open_bytes, open_text, read_score

_PACKED = "unpack it, or pack it with gzip"
_MAGIC = {
    b"\xfd7zXZ": ("is packed with xz", _PACKED),
    b"\x28\xb5\x2f\xfd": ("is packed with Zstandard", _PACKED),
    b"\x04\x22\x4d\x18": ("is packed with LZ4", _PACKED),
    b"PK\x03\x04": ("is a ZIP archive", _PACKED),
    b"BZh": ("is packed with bzip2", _PACKED),
    b"\xff\xfe": ("is UTF-16 text", "write it as UTF-8"),
    b"\xfe\xff": ("is UTF-16 text", "write it as UTF-8"),
    **dict.fromkeys(
        (b"\x80\x03", b"\x80\x04", b"\x80\x05"), ("is a pickle of Python", "write its scores as a TREC run")
    ),
    b"\x89HDF": ("is an HDF5 file", "write its scores as a TREC run"),
    b"\x93NUMPY": ("is an array of numpy", "write its scores as a TREC run"),
}
_GRADE, _FRACTION = re.compile("-?[0-9]{1,2}"), re.compile("-?[0-9]+[.][0-9]+")
_LARGEST = 2**31  # characters of a JSON file
_NAMES = (("q_id", "qid", "query_id"), ("doc_id", "docid", "docno"), ("score",))  # of a table's columns
FORMS = (
    "a run is read in TREC's form (qid Q0 docid rank score tag), MS MARCO's (qid pid rank, parted by tabs), "
    "as JSON {qid: {docid: score}} or as ranx's Parquet"
)


def is_text_run(path: Path) -> bool:
    """Return whether a run is in lines. Raises DataError for a file that is in no form that is read."""
    if check_is_read(path, FORMS).startswith((b"PAR1", b"{")):
        return False
    _check_first_line(path)
    return True


def check_is_read(path: Path, forms: str) -> bytes:
    """Return the first bytes of a file, unpacked where it is gzipped.

    Raises DataError for one that is not there, or is packed or written as nothing here reads.
    """
    if not path.is_file():
        reason = "it is no file" if path.exists() else "no such file"
        raise DataError(f"{path}: {reason}; {forms}, plain or gzipped")
    start = _start(path)
    for magic, (what, remedy) in _MAGIC.items():
        if start.startswith(magic):
            raise DataError(f"{path}: it {what}; {remedy}")
    return start


def read_peers_run(path: Path) -> RunFile:
    """Read ``{qid: {docid: score}}`` in JSON, as ranx and BEIR write it, or ranx's Parquet."""
    is_table = _start(path).startswith(b"PAR1")
    scores = _table(path) if is_table else read_json(path, "score", _number)
    rankings: Run = {query: ranked(list(ranking.items())) for query, ranking in scores.items() if ranking}
    return RunFile(rankings, "Parquet" if is_table else "JSON")


def read_json(path: Path, what: str, read_value: Callable[[Any, str], Any]) -> dict[str, dict[str, Any]]:
    """Read ``{qid: {docid: value}}``. Raises DataError for another content, and for an id given twice."""
    try:
        with open_text(path) as file:
            content = json.loads(file.read(_LARGEST), object_pairs_hook=_unrepeated)
    except (ValueError, OSError, EOFError, RecursionError, zlib.error) as error:
        raise DataError(
            f"{path}: it is no sound JSON file ({error}); {{qid: {{docid: {what}}}}} is read"
        ) from None
    if not isinstance(content, dict) or not all(isinstance(values, dict) for values in content.values()):
        raise DataError(f"{path}: in JSON {{qid: {{docid: {what}}}}} is read, and it is something else")
    return {
        query: {document: read_value(value, f"{path}: query {query!r}") for document, value in values.items()}
        for query, values in content.items()
    }


def _table(path: Path) -> dict[str, dict[str, float]]:
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(path)
        names = [next((name for name in known if name in table.column_names), None) for known in _NAMES]
        rows = None if None in names else zip(*(table[name].to_pylist() for name in names), strict=True)
    except (ArrowException, OSError, ValueError) as error:
        reason = next(iter(str(error).splitlines()), "")
        raise DataError(f"{path}: it is no sound Parquet file ({reason})") from None
    if rows is None:
        columns_of_table = ", ".join(table.column_names)
        raise DataError(f"{path}: it has the columns {columns_of_table}; q_id, doc_id, score are read")
    scores: dict[str, dict[str, float]] = {}
    for query, document, score in rows:
        ranking = scores.setdefault(str(query), {})
        if str(document) in ranking:
            raise DataError(f"{path}: document {str(document)!r} is listed twice for query {str(query)!r}")
        ranking[str(document)] = _number(score, f"{path}: query {query!r}")
    return scores


def _number(value: object, place: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return read_score(repr(value) if is_number else str(value), place)


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("an id is given twice")
    return content


def _start(path: Path) -> bytes:
    try:
        with open_bytes(path) as file:
            return file.read(1 << 12).removeprefix(b"\xef\xbb\xbf").lstrip()
    except (OSError, EOFError, ValueError, zlib.error):
        return b""  # damaged: the reader of lines says where


def _check_first_line(path: Path) -> None:
    """Refuse a file whose first line shows that it is something else than a run."""
    number, line = next(((n, line) for n, line in numbered_lines(path) if not line.startswith("#")), (0, ""))
    fields = columns(line, f"{path}:{number}")
    separator = max(",;|", key=line.count)
    signs = {
        "the header of judgements in BEIR's form": fields[:2] == ["query-id", "corpus-id"],
        "a header, which is to be left out": fields[:1] and fields[0].lower() in _NAMES[0],
        "4 columns, as of judgements (qid 0 docid grade)": len(fields) == 4 and _GRADE.fullmatch(fields[3]),
        "scores in its third and last column": len(fields) == 3 and _FRACTION.fullmatch(fields[2]),
        f"1 column, with values parted by {separator!r}": len(fields) == 1 and line.count(separator) > 1,
    }
    for what in [what for what, is_seen in signs.items() if is_seen][:1]:
        raise DataError(f"{path}:{number}: it has {what}; {FORMS}")
