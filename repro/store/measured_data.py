"""``data.json`` of a results folder has the identities of the files on which something was measured.

With them, the records are found where the files are not.
"""

import contextlib
import json
from collections.abc import Mapping

from pydantic import TypeAdapter, ValidationError

from repro.errors import DataError
from repro.store import translated_errors
from repro.store.disk import write_whole
from repro.store.results import FOLDER, Results

FILE = "data.json"
_IDENTITIES = TypeAdapter(dict[str, str])


def measured_data(results: Results) -> dict[str, str]:
    """Return the identities by ``<dataset> <piece>``. Raises DataError where a file of them is malformed."""
    identities: dict[str, str] = {}
    for path in (folder / FILE for folder in results.folders):
        with translated_errors(results.root, *FOLDER), contextlib.suppress(FileNotFoundError):
            try:
                identities |= _IDENTITIES.validate_json(path.read_bytes())
            except ValidationError as error:
                raise DataError(f"{path}: no names with a digest each; restore it") from error
    return identities


def keep_data(results: Results, identities: Mapping[str, str]) -> None:
    """Note the identities of further files. Safe between processes."""
    from filelock import FileLock

    path = results.root / FILE
    if identities.items() <= measured_data(results).items():
        return
    with translated_errors(results.root, *FOLDER), FileLock(path.with_suffix(".lock")):
        content = measured_data(results) | dict(identities)
        write_whole(path, json.dumps(content, indent=1, sort_keys=True) + "\n")
