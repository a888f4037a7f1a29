"""Public runs by others, and the cells that they can be scored for."""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from repro.errors import DataError
from repro.manifest import yaml_file
from repro.manifest.cells import Cell, select
from repro.retrieval.evaluation.measures import looks_deeper
from repro.store.disk import sha256

FILE = Path(__file__).with_suffix(".yaml")


@dataclass(frozen=True)
class PublicRun:
    """A run file published by others, identified by its SHA-256.

    Attributes:
        depth: the largest number of documents for a query, e.g. 1000.
        settings: its parameters in words, if known.
        readings: reading -> the run's choice, or None if it follows none of the choices.
    """

    file: str
    sha256: str
    dataset: str
    depth: int
    system: str
    toolkit: str
    source: str | None
    settings: str | None = None
    readings: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def described(self) -> str:
        return f"public run by {self.toolkit}" + (f", {self.source}" if self.source else "")


@functools.cache
def public_runs() -> tuple[PublicRun, ...]:
    return yaml_file.read(FILE, tuple[PublicRun, ...])


def split_by_presence(folder: Path) -> tuple[list[PublicRun], list[PublicRun]]:
    """Return the public runs with a file in the folder, then those without.

    Raises DataError if the folder has none of them or a file has other bytes.
    """
    present = [run for run in public_runs() if (folder / run.file).is_file()]
    if not present:
        files = f"{public_runs()[0].file} and {len(public_runs()) - 1} like it"
        raise DataError(f"{folder} has none of the public runs. Put {files} into it.")
    for run in present:
        if sha256(folder / run.file) != run.sha256:
            remedy = "Get it again, or import it as your own run and name its cells."
            raise DataError(f"{folder / run.file}: its bytes are not those of the public run. {remedy}")
    return present, [run for run in public_runs() if run not in present]


def cells_of_run(run: PublicRun, cells: Iterable[Cell]) -> tuple[list[Cell], list[Cell]]:
    """Return the cells that a run can be scored for, then those with a cutoff beyond its depth."""
    of_run = [c for c in cells if (c.row.system, c.column.dataset) == (run.system, run.dataset)]
    deeper = [c for c in of_run if c.column.measure and looks_deeper(c.column.measure, run.depth)]
    return [c for c in of_run if c not in deeper], deeper


def scorable_cells() -> list[Cell]:
    return only_scorable(select())


def only_scorable(cells: Iterable[Cell]) -> list[Cell]:
    return [c for c in cells if c.table.kind == "results" and c.column.measure and c.column.dataset]
