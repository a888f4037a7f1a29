"""The folders of one invocation: the store, the results and the user's own data."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from repro.errors import UsageError

CHECKOUT = Path(__file__).resolve().parent.parent
# papers/ and the release's results/ in a wheel, where they would be packages of anybody's beside `repro`
BUNDLED = Path(__file__).resolve().parent / "bundled"
PAPERS = (BUNDLED if BUNDLED.is_dir() else CHECKOUT) / "papers"


@dataclass(frozen=True)
class Locations:
    """The folders in which one invocation finds and leaves things.

    Attributes:
        store: artefacts; ``--store``, REPRO_STORE, else the user's cache folder.
        results: the user's records; ``--results``, REPRO_RESULTS, else in the user's data.
        data: the user's own collections; REPRO_DATA, else what was fetched before, else None.
        committed: the records and drawings that came with the suite, against which numbers are held; None
            where none came. Nothing is written there that ``results`` does not name.
        release: the same, read before those of ``results``; None where results were named.
        home: the home of ir_datasets, whose downloads are used where they lie; None where there is none.
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
        """Return the folders that options, environment and checkout name, in this order; ``fetching`` makes
        REPRO_DATA. Raises UsageError for an empty option or no such folder."""
        data, is_there = os.environ.get("REPRO_DATA"), data_folder().is_dir()
        if data and not (is_there or fetching):
            raise UsageError(f"--data or REPRO_DATA is {data!r}, which is not a folder")
        results_folder, committed = _folder(results, "REPRO_RESULTS"), committed_results()
        return cls(
            store=_folder(store, "REPRO_STORE") or _user("cache") / "store",
            results=results_folder or _user("data") / "results",
            data=data_folder() if is_there else None,
            committed=committed,
            release=None if results_folder else committed,
            home=_ir_datasets(),
        )


def data_folder() -> Path:
    """Return the folder of REPRO_DATA, else the one in the user's data folder that fetching fills."""
    data = os.environ.get("REPRO_DATA")
    return resolved(data, "REPRO_DATA") if data else _user("data") / "collections"


def _ir_datasets() -> Path | None:
    """Return the folder that IR_DATASETS_HOME names, else ir_datasets' usual one; None without either."""
    home = resolved(os.environ.get("IR_DATASETS_HOME") or "~/.ir_datasets", "IR_DATASETS_HOME")
    return home if home.is_dir() else None


def _folder(option: str | None, variable: str) -> Path | None:
    if option == "":
        raise UsageError(f"an empty path was given for what {variable} names; leave the option out instead")
    value = option or os.environ.get(variable)
    return resolved(value, variable) if value else None


def resolved(value: str, variable: str) -> Path:
    """Return the path that is meant, whole. Raises UsageError, which names the variable, where it is none."""
    try:
        return Path(value).expanduser().resolve()
    except (RuntimeError, ValueError) as error:  # nobody's home, links in a circle, a null byte
        raise UsageError(f"{value!r}, given for {variable}, is no path: {error}") from None


def committed_results() -> Path | None:
    """Return the results that came with the suite. None if there are none."""
    folder = (BUNDLED if BUNDLED.is_dir() else CHECKOUT) / "results"
    return folder if folder.is_dir() else None


def _user(kind: str) -> Path:
    import platformdirs

    find = {"cache": platformdirs.user_cache_path, "data": platformdirs.user_data_path}[kind]
    return find("repro-bench", appauthor=False)
