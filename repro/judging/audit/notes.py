"""audit.yaml beside the papers: which rows are one system, and what is known of a disagreement."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from repro.manifest import papers, yaml_file
from repro.manifest.cells import Cell, cells_of


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Explanation(_Strict):
    """What is known of a finding; each of ``at`` must begin one of its places (a row, a cell, a claim)."""

    at: tuple[str, ...]
    why: str


class Notes(_Strict):
    """A whole audit.yaml: configuration -> rows or cells, and explanations."""

    configurations: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    explanations: tuple[Explanation, ...] = ()

    def configuration(self, cell: Cell) -> str:
        """What the cell was measured on; a cited row's is its system, any other's its own unless named."""
        named = {path: name for name, paths in self.configurations.items() for path in paths}
        row = cell.id.rpartition("/")[0]
        own = cell.row.system if cell.role == "cited" else cell.id
        return named.get(cell.id) or named.get(row) or own

    def explanation(self, places: tuple[str, ...]) -> str:
        """What is known of a finding at these places: joined where several apply."""
        found = [e.why for e in self.explanations if all(any(_within(p, at) for p in places) for at in e.at)]
        return "; ".join(found)


def notes() -> Notes:
    """The audit.yaml of the papers' folder; empty without one.

    Raises ManifestError, with file and line, also for a path that names no row or cell.
    """
    path = papers.ROOT / "audit.yaml"
    return yaml_file.read(path, Notes, faults=_faults) if path.exists() else Notes()


def _faults(content: Notes):
    ids = {c.id for source in papers.papers().values() for c in cells_of(source)}
    known = ids | {identifier.rpartition("/")[0] for identifier in ids}
    seen: set[str] = set()
    for name, paths in content.configurations.items():
        for number, path in enumerate(paths):
            if path not in known:
                yield ("configurations", name, number), f"{path!r} is no row or cell of the papers"
            if path in seen:
                yield ("configurations", name, number), f"{path!r} is named twice"
            seen.add(path)


def _within(place: str, prefix: str) -> bool:
    return f"{place}/".startswith(f"{prefix}/")
