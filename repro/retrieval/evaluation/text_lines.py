"""Reads text files, plain or gzipped. Errors name the line, e.g. ``qrels:7``."""

import contextlib
import gc
import gzip
import json
import math
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import Any

from repro.errors import DataError
from repro.machine.bounded_reading import unrepeated, whole_lines

SCORE_BOUND = (2 - 2**-24) * 2.0**127  # rounds to no finite float32
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ufeff]")
Qrels = dict[str, dict[str, int]]
Judged = Mapping[str, Mapping[str, int]]  # as ``Qrels``
_GRADE = re.compile(r"[-+]?[0-9]+")
_LARGEST = 2**31  # characters of a JSON file


@contextlib.contextmanager
def many_objects() -> Iterator[None]:
    """Switch the garbage collector off while many objects are created."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield a file's numbered lines. Raises DataError if it is missing, damaged or not UTF-8."""
    number = 0
    try:
        with open_text(path) as file:
            for number, line in enumerate(whole_lines(file, path), start=1):
                yield number, line
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}:{number + 1}: not UTF-8 text. Unpack it, or save it as UTF-8.") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}:{number + 1}: damaged gzip file ({error})") from None


def first_bytes(path: Path) -> bytes:
    """Return the first bytes, decompressed, or b"" for a damaged file. Raises DataError without a file."""
    try:
        with open_bytes(path) as file:
            return file.read(1 << 12).removeprefix(b"\xef\xbb\xbf").lstrip()
    except (FileNotFoundError, IsADirectoryError):
        reason = "it is not a file" if path.exists() else "no such file"
        raise DataError(f"{path}: {reason}") from None
    except (OSError, EOFError, ValueError, zlib.error):
        return b""


def read_json(path: Path, what: str, read_value: Callable[[Any, str], Any]) -> dict[str, dict[str, Any]]:
    """Read ``{qid: {docid: value}}``. Raises DataError for other content or a repeated id.

    ``read_value(value, place)`` converts values, which errors call ``what``.
    """
    try:
        with open_text(path) as file:
            content = json.loads(file.read(_LARGEST), object_pairs_hook=unrepeated)
    except (ValueError, OSError, EOFError, RecursionError, zlib.error) as error:
        raise DataError(f"{path}: it is not a valid JSON file ({error})") from None
    if not isinstance(content, dict) or not all(isinstance(values, dict) for values in content.values()):
        raise DataError(f"{path}: its JSON is not {{qid: {{docid: {what}}}}}")
    return {
        query: {document: read_value(value, f"{path}: query {query!r}") for document, value in values.items()}
        for query, values in content.items()
    }


def columns(line: str, where: str) -> list[str]:
    """Split a line at white space. Raises DataError for a control character."""
    fields = line.split()
    if not "".join(fields).isprintable():
        bad_field = next(filter(_CONTROL.search, fields), None)
        if bad_field is not None:
            raise DataError(f"{where}: {bad_field!r} has a control character in it")
    return fields


def open_text(path: Path) -> TextIOWrapper:
    return TextIOWrapper(open_bytes(path), encoding="utf-8-sig")


def open_bytes(path: Path) -> BufferedReader | gzip.GzipFile:
    with open(path, "rb") as file:
        is_zipped = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if is_zipped else open(path, "rb")


def read_score(text: str, where: str) -> float:
    """Parse a score that is finite in float32. Raises DataError for e.g. nan, 1e39 or 1_0."""
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if "_" in text or not -SCORE_BOUND < score < SCORE_BOUND:
        raise DataError(f"{where}: the score {text!r} is not a finite float32 number")
    return score


def read_qrels(path: Path) -> Qrels:
    """Read ``qid iteration docid grade`` lines as ``{qid: {docid: grade}}``.

    Raises DataError ``file:line: reason`` for other columns or a document judged twice.
    """
    qrels: Qrels = {}
    for number, line in numbered_lines(path):
        fields = columns(line, f"{path}:{number}")
        if len(fields) != 4:
            raise DataError(f"{path}:{number}: {len(fields)} columns: TREC qrels have 4 (qid 0 docid grade)")
        qid, _, document, grade = fields
        if not _GRADE.fullmatch(grade):
            raise DataError(f"{path}:{number}: the grade {grade!r} is not a whole number")
        grades = qrels.setdefault(qid, {})
        if document in grades:
            raise DataError(f"{path}:{number}: document {document!r} is judged twice for query {qid!r}")
        grades[document] = int(grade)
    return qrels


def relevant_documents(qrels: Qrels) -> dict[str, list[str]]:
    return {query: sorted(d for d, grade in grades.items() if grade >= 1) for query, grades in qrels.items()}
