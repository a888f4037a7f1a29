"""The folders of one invocation, and the objects opened in them."""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from repro.errors import DataError
from repro.locations import Locations
from repro.running.measurement import MeasurementBuilder
from repro.running.requirements import Machine
from repro.running.scale import Scale
from repro.store import Store, disk, translated_errors
from repro.store.results import FOLDER, Results

FILE = "data.json"
_IDENTITIES = TypeAdapter(dict[str, str])


@dataclass(frozen=True)
class Workspace:
    """The store, results, data and machine of a command, each opened on use.

    Example:
        >>> repro.compare("PAPER/1", workspace=repro.Workspace.open("my-store"))
    """

    locations: Locations

    @classmethod
    def open(cls, store: str | None = None, results: str | None = None) -> "Workspace":
        """Open ``--store`` and ``--results``. Raises as ``Locations.resolve``."""
        return cls(Locations.resolve(store, results))

    @cached_property
    def store(self) -> Store:
        """The artefacts. Raises StoreError for an unusable folder."""
        return Store(self.locations.store)

    @cached_property
    def results(self) -> Results:
        places = self.locations
        return Results(places.results, places.release, None if places.release else places.committed)

    @property
    def on_record(self) -> Results | None:
        """The suite's own records, if any."""
        return Results(self.locations.committed) if self.locations.committed else None

    @property
    def data(self) -> Path | None:
        return self.locations.data

    @cached_property
    def machine(self) -> Machine:
        return Machine(self.data, home=self.locations.home, recorded=measured_data(self.results))

    def builder(self, scale: Scale) -> MeasurementBuilder:
        return MeasurementBuilder(scale, self.machine)


def measured_data(results: Results) -> dict[str, str]:
    """Return name of the data, e.g. "beir/scifact documents" -> identity. Raises DataError."""
    identities: dict[str, str] = {}
    for path in (folder / FILE for folder in results.folders):
        with translated_errors(results.root, *FOLDER), contextlib.suppress(FileNotFoundError):
            try:
                identities |= _IDENTITIES.validate_json(path.read_bytes())
            except ValidationError as error:
                raise DataError(f"{path}: not a mapping of names to digests, restore it") from error
    return identities


def keep_data(results: Results, identities: Mapping[str, str]) -> None:
    """Add identities to data.json of a results folder. Safe between processes."""
    path = results.root / FILE
    if identities.items() <= measured_data(results).items():
        return
    with translated_errors(results.root, *FOLDER), disk.file_lock(path.with_suffix(".lock")):
        content = measured_data(results) | dict(identities)
        disk.write_whole(path, json.dumps(content, indent=1, sort_keys=True) + "\n")
