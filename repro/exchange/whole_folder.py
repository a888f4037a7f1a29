"""A folder that is handed out whole or not at all."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from repro.errors import UsageError
from repro.store.disk import share


@contextlib.contextmanager
def whole_folder(to: Path) -> Iterator[Path]:
    """A folder to write into, which takes the name ``to`` when the block ends without an error.

    Raises UsageError, before anything is written, when ``to`` holds something.
    """
    to = to.absolute()
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise UsageError(f"{to} is there already and not empty; name another directory with -o")
    scratch = to.with_name(f".{to.name}.{os.getpid()}")
    try:
        scratch.mkdir(parents=True)
        yield scratch
        for path in scratch.rglob("*"):
            share(path)
        os.rename(scratch, to)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
