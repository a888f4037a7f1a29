"""Reads files: what a user gives in bounded memory, and YAML of the package, which is not checked.

No line, file or nesting goes beyond what is ever meant.
"""

import errno
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, AnyStr

from repro.errors import DataError

LONGEST_LINE = 2**24  # characters: many books; a line of a run, of judgements or of a document has fewer
LARGEST_SETTINGS = (
    2**26
)  # bytes of a JSON file; of a model's, tokenizer.json is the largest, up to some 2**25


def whole_lines(file: IO[AnyStr], path: Path, *, first: int = 1) -> Iterator[AnyStr]:
    """Yield lines with their ends, ``first`` being the number of the first. Raises DataError for one of
    LONGEST_LINE."""
    number, read_line = first, file.readline
    while line := read_line(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            reason = f"the line is longer than {LONGEST_LINE - 1:,} characters, as none of a sound file is"
            raise DataError(f"{path}:{number}: {reason}")
        yield line
        number += 1


def whole_file(path: Path, most: int) -> bytes:
    """Return the bytes of a file. Raises OSError where it cannot be read or has more than ``most``."""
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes, which no such file has", str(path))
    return content


def parsed_json(text: str | bytes) -> Any:
    """Return what a JSON text says. Raises ValueError, also for one that is nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_json_file(path: Path) -> Any:
    """Return the content of a JSON file of settings. Raises OSError or ValueError where it has none."""
    return parsed_json(whole_file(path, LARGEST_SETTINGS).decode("utf-8"))


def read_facts(path: Path) -> Any:
    """Return the plain values of a YAML file of the package, by libyaml, which is ten times as fast."""
    import yaml

    return yaml.load(path.read_bytes(), yaml.CSafeLoader)  # a safe loader: it makes plain values only
