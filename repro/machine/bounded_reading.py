"""Read lines in bounded memory, JSON files of settings, and the package's own YAML files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, AnyStr

from repro.errors import DataError

LONGEST_LINE = 2**24  # characters, more than many books and than any line of a sound run or corpus


def whole_lines(file: IO[AnyStr], path: Path, *, first: int = 1) -> Iterator[AnyStr]:
    """Yield lines with their line ends. The first has the number ``first``. Raises DataError for one of
    LONGEST_LINE."""
    number, read_line = first, file.readline
    while line := read_line(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            reason = f"the line is longer than {LONGEST_LINE - 1:,} characters, as none of a sound file is"
            raise DataError(f"{path}:{number}: {reason}")
        yield line
        number += 1


def parsed_json(text: str | bytes) -> Any:
    """Return the content of a JSON text. Raises ValueError, also for too deep nesting."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_json_file(path: Path) -> Any:
    """Return the content of a JSON file, e.g. ``config.json``. Raises OSError or ValueError if it has
    none."""
    return parsed_json(path.read_bytes())


def read_facts(path: Path) -> Any:
    """Return the plain values of one of the package's YAML files. Uses libyaml, which is ten times as
    fast."""
    import yaml

    return yaml.load(path.read_bytes(), yaml.CSafeLoader)  # a safe loader: it makes plain values only
