"""A workspace: the folders of one invocation, and what is opened in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from repro.locations import Locations
from repro.running.measurement import MeasurementBuilder
from repro.running.requirements import Machine
from repro.running.scale import Scale
from repro.store import Store
from repro.store.measured_data import measured_data
from repro.store.results import Results


@dataclass(frozen=True)
class Workspace:
    """Everything that a verb works with. Nothing is opened, made or written before it is used."""

    locations: Locations

    @classmethod
    def open(cls, store: str | None = None, results: str | None = None) -> Workspace:
        """Return the workspace of ``--store`` and ``--results``. Raises what ``Locations.resolve`` raises."""
        return cls(Locations.resolve(store, results))

    @cached_property
    def store(self) -> Store:
        """The artefacts; without its folder an empty store. Raises StoreError where it cannot be one."""
        return Store(self.locations.store)

    @cached_property
    def results(self) -> Results:
        """The records of measured cells."""
        return Results(self.locations.results, self.locations.release)

    @property
    def on_record(self) -> Results | None:
        """The records that came with the suite, whatever folder is named; None where none came."""
        return Results(self.locations.committed) if self.locations.committed else None

    @property
    def data(self) -> Path | None:
        """The folder of the user's own collections; None without one."""
        return self.locations.data

    @cached_property
    def machine(self) -> Machine:
        """This machine's offers and lacks; digests of data files are kept in a store that exists already."""
        store = self.locations.store
        digests = store / "digests.json" if store.is_dir() else None
        return Machine(self.data, digests, home=self.locations.home, recorded=measured_data(self.results))

    def builder(self, scale: Scale) -> MeasurementBuilder:
        """Return a maker of the graphs of single cells, by the default choice of every reading."""
        return MeasurementBuilder(scale, self.machine)
