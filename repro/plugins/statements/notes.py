"""The audit.yaml of each paper: what is one configuration or one fact, and what is known of findings."""

from collections.abc import Iterator, Mapping
from typing import Literal

from pydantic import Field

from repro.errors import unknown
from repro.manifest import yaml_file
from repro.manifest.cells import Cell, cells_of
from repro.manifest.papers import Paper, papers
from repro.manifest.reading_schema import Against
from repro.manifest.yaml_file import Identified, StrictMapping

FILE = "audit.yaml"


class Explanation(StrictMapping):
    """An explanation of a finding; each of ``at`` must begin one of its places (a row, a cell, a claim)."""

    at: tuple[str, ...]
    why: str

    def is_of(self, places: tuple[str, ...]) -> bool:
        """Whether it explains a finding at these places."""
        return all(any(_lies_within(place, beginning) for place in places) for beginning in self.at)


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
        by_path = {path: name for name, paths in self.configurations.items() for path in paths}
        row = cell.id.rpartition("/")[0]
        default = cell.row.system if cell.role == "cited" else cell.id
        return by_path.get(cell.id) or by_path.get(row) or default

    def explanation(self, places: tuple[str, ...]) -> str:
        """The explanations of a finding at these places, joined."""
        return "; ".join(e.why for e in self.explanations if e.is_of(places))


def notes() -> Notes:
    """The notes of all papers together; papers that name a configuration alike mean the same one.

    Raises ManifestError, with file and line, also for a path that names no row or cell of its paper.
    """
    configurations: dict[str, tuple[str, ...]] = {}
    explanations: list[Explanation] = []
    facts: list[tuple[str, ...]] = []
    for source in papers().values():
        paper_notes = notes_of(source)
        for name, paths in paper_notes.configurations.items():
            configurations[name] = (*configurations.get(name, ()), *paths)
        explanations += paper_notes.explanations
        facts += paper_notes.facts
    return Notes(configurations=configurations, explanations=tuple(explanations), facts=tuple(facts))


def check_use(source: Paper, places: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse what a paper's audit.yaml says of its findings where there is none such.

    What names another paper is left alone, as that one may not be here.

    Args:
        places: id -> places of every finding.

    Raises ManifestError with file and line.
    """
    content, own = notes_of(source), f"{source.name}/"
    for location, reason in (*_idle_facts(content, own, places), *_idle_explanations(content, own, places)):
        raise yaml_file.fault_at(source.folder / FILE, location, reason)


def _idle_facts(content: Notes, own: str, places: Mapping[str, tuple[str, ...]]) -> Iterator[yaml_file.Fault]:
    for number, fact in enumerate(content.facts):
        for place, identifier in enumerate(fact):
            if identifier.startswith(own) and identifier not in places:
                yield ("facts", number, place), str(unknown("finding", identifier, places))


def _idle_explanations(
    content: Notes, own: str, places: Mapping[str, tuple[str, ...]]
) -> Iterator[yaml_file.Fault]:
    for number, explanation in enumerate(content.explanations):
        is_own = all(f"{place}/".startswith(own) for place in explanation.at)
        if is_own and not any(explanation.is_of(found) for found in places.values()):
            yield (
                ("explanations", number),
                f"there is no finding at {' and '.join(explanation.at)} to explain",
            )


def notes_of(source: Paper) -> Notes:
    """The notes of one paper, empty where it has no audit.yaml. Raises ManifestError with file and line."""
    path = source.folder / FILE
    if not path.exists():
        return Notes()
    cells = {c.id for c in cells_of(source)}
    known_places = cells | {identifier.rpartition("/")[0] for identifier in cells}

    def faults(content: Notes) -> Iterator[yaml_file.Fault]:
        seen: set[str] = set()
        for name, paths in content.configurations.items():
            for number, place in enumerate(paths):
                if place not in known_places:
                    yield ("configurations", name, number), f"{place!r} is no row or cell of {source.name}"
                if place in seen:
                    yield ("configurations", name, number), f"{place!r} is named twice"
                seen.add(place)

    return yaml_file.read(path, Notes, faults=faults)


def _lies_within(place: str, prefix: str) -> bool:
    return f"{place}/".startswith(f"{prefix}/")
