"""The folders of one invocation, e.g. the store of ``--store``, REPRO_STORE or the user's cache."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from pathlib import Path

from repro.errors import UsageError

CHECKOUT = Path(__file__).resolve().parent.parent
BUNDLED = Path(__file__).resolve().parent / "bundled"
PAPERS = (BUNDLED if BUNDLED.is_dir() else CHECKOUT) / "papers"


@dataclass(frozen=True)
class Locations:
    """The folders that one invocation reads and writes.

    Attributes:
        results: the user's records.
        data: the user's own or fetched collections.
        committed: the suite's records, the reference.
        release: ``committed``, or None if the user named a results folder.
        home: the home of ir_datasets.
    """

    store: Path
    results: Path
    data: Path | None
    committed: Path | None = None
    release: Path | None = None
    home: Path | None = None

    @classmethod
    def resolve(
        cls, store: str | None = None, results: str | None = None, *, fetching: bool = False
    ) -> Locations:
        """Return the folders of options, otherwise of environment variables, otherwise the user's own.

        Raises UsageError for an invalid path, and for a missing REPRO_DATA unless ``fetching``.
        """
        data, is_there = os.environ.get("REPRO_DATA"), data_folder().is_dir()
        if data and not (is_there or fetching):
            raise UsageError(f"--data or REPRO_DATA is {data!r}, which is not a folder")
        home = resolved(os.environ.get("IR_DATASETS_HOME") or "~/.ir_datasets", "IR_DATASETS_HOME")
        results_folder, committed = _folder(results, "REPRO_RESULTS"), committed_results()
        return cls(
            store=_folder(store, "REPRO_STORE") or cache_folder() / "store",
            results=results_folder or _user_folder("data") / "results",
            data=data_folder() if is_there else None,
            committed=committed,
            release=None if results_folder else committed,
            home=home if home.is_dir() else None,
        )


def data_folder() -> Path:
    """Return REPRO_DATA, or the user's folder of fetched collections. It may not exist."""
    data = os.environ.get("REPRO_DATA")
    return resolved(data, "REPRO_DATA") if data else _user_folder("data") / "collections"


def cache_folder() -> Path:
    """Return the suite's folder in the user's cache, e.g. ~/.cache/repro-bench."""
    return _user_folder("cache")


def _folder(option: str | None, variable: str) -> Path | None:
    if option == "":
        raise UsageError(f"{variable} or its option is empty. Name a folder or remove it.")
    value = option or os.environ.get(variable)
    return resolved(value, variable) if value else None


def resolved(value: str, variable: str) -> Path:
    """Return a value as an absolute path. Raises UsageError, which names the variable."""
    try:
        return Path(value).expanduser().resolve()
    except (RuntimeError, ValueError) as error:  # e.g. an unknown home or a null byte
        raise UsageError(f"{value!r}, given for {variable}, is not a path: {error}") from None


def committed_results() -> Path | None:
    """Return the folder of the suite's own results, or None."""
    folder = (BUNDLED if BUNDLED.is_dir() else CHECKOUT) / "results"
    return folder if folder.is_dir() else None


def _user_folder(kind: str) -> Path:
    return _platform_folder(kind, *map(os.environ.get, ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")))


@functools.cache
def _platform_folder(kind: str, *environment: str | None) -> Path:
    import platformdirs

    find = {"cache": platformdirs.user_cache_path, "data": platformdirs.user_data_path}[kind]
    return find("repro-bench", appauthor=False)
