"""The audit.yaml of each paper: what is one configuration or one fact, and what is known of findings."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from repro.manifest import yaml_file
from repro.manifest.cells import Cell, cells_of
from repro.manifest.identified import Identified
from repro.manifest.papers import Paper, papers
from repro.manifest.reading_schema import Against
from repro.manifest.yaml_file import StrictMapping


class Explanation(StrictMapping):
    """An explanation of a finding; each of ``at`` must begin one of its places (a row, a cell, a claim)."""

    at: tuple[str, ...]
    why: str


class Wording(Identified):
    """A word that a paper uses for two things, or for another thing than it means, or two words for one.

    Of severity error where the sentence is wrong by it, doubt where it can mislead.
    """

    where: str
    says: str
    severity: Literal["error", "doubt", "note"]
    against: Against = "paper"


class Notes(StrictMapping):
    """The content of one audit.yaml, or of all.

    Attributes:
        configurations: name -> rows or cells that are of it.
        explanations: what is known of findings.
        facts: ids of findings that are one fact, the one that tells it first.
        wording: words that a paper uses otherwise than it means them.
    """

    configurations: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    explanations: tuple[Explanation, ...] = ()
    facts: tuple[tuple[str, ...], ...] = ()
    wording: tuple[Wording, ...] = ()

    def configuration(self, cell: Cell) -> str:
        """The name of what was measured; a cited row's is its system, any other's its own unless named."""
        named = {path: name for name, paths in self.configurations.items() for path in paths}
        row = cell.id.rpartition("/")[0]
        unnamed = cell.row.system if cell.role == "cited" else cell.id
        return named.get(cell.id) or named.get(row) or unnamed

    def explanation(self, places: tuple[str, ...]) -> str:
        """The explanations of a finding at these places, joined."""
        known = [e.why for e in self.explanations if all(any(_within(p, at) for p in places) for at in e.at)]
        return "; ".join(known)


def notes() -> Notes:
    """The notes of all papers together; papers that name a configuration alike mean the same one.

    Raises ManifestError, with file and line, also for a path that names no row or cell of its paper.
    """
    configurations: dict[str, tuple[str, ...]] = {}
    explanations: list[Explanation] = []
    facts: list[tuple[str, ...]] = []
    for source in papers().values():
        of_paper = notes_of(source)
        for name, paths in of_paper.configurations.items():
            configurations[name] = (*configurations.get(name, ()), *paths)
        explanations += of_paper.explanations
        facts += of_paper.facts
    return Notes(configurations=configurations, explanations=tuple(explanations), facts=tuple(facts))


def notes_of(source: Paper) -> Notes:
    """The notes of one paper, empty where it has no audit.yaml. Raises ManifestError with file and line."""
    path = source.folder / "audit.yaml"
    if not path.exists():
        return Notes()
    cells = {c.id for c in cells_of(source)}
    known = cells | {identifier.rpartition("/")[0] for identifier in cells}

    def faults(content: Notes) -> Iterator[yaml_file.Fault]:
        seen: set[str] = set()
        for name, paths in content.configurations.items():
            for number, place in enumerate(paths):
                if place not in known:
                    yield ("configurations", name, number), f"{place!r} is no row or cell of {source.name}"
                if place in seen:
                    yield ("configurations", name, number), f"{place!r} is named twice"
                seen.add(place)

    return yaml_file.read(path, Notes, faults=faults)


def _within(place: str, prefix: str) -> bool:
    return f"{place}/".startswith(f"{prefix}/")
