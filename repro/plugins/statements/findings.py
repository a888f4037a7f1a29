"""The findings of the audit, and their explanations in audit.yaml, e.g. ``why: printed from another run``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Literal

from pydantic import Field

from repro.errors import unknown
from repro.manifest import reading_schema, yaml_file
from repro.manifest.cells import Cell, cells_of
from repro.manifest.papers import Paper, once_per_paper, papers
from repro.manifest.yaml_file import Identified, StrictMapping

SEVERITIES = ("error", "doubt", "note")
HELD_AGAINST = {
    "paper": "the paper alone",
    "code": "its released code",
    "another paper": "another paper",
    "third party": "a third party",
    "record": "the record itself",
}


@dataclass(frozen=True)
class Finding:
    """An inconsistency in a paper.

    Attributes:
        severity: error (contradicts the paper or a source that it quotes), doubt (one of two numbers is
            wrong, or the finding depends on our interpretation) or note (no mistake).
        kind: e.g. average, bold, claim or record.
        against: the evidence, a key of ``HELD_AGAINST``.
        paper: the paper to correct.
        values: the printed numbers or words at ``places`` (cells, claims or sections).
    """

    severity: str
    kind: str
    against: str
    paper: str
    id: str
    places: tuple[str, ...]
    values: tuple[str, ...]
    says: str
    explanation: str = ""

    def __post_init__(self):
        assert self.severity in SEVERITIES and self.against in HELD_AGAINST, self

    @classmethod
    def of(
        cls,
        source: Paper,
        severity: str,
        kind: str,
        id: str,
        placed: Iterable[tuple[str, str]],
        says: str,
        explanation: str = "",
        *,
        against: str = "paper",
    ) -> Finding:
        """Return a finding with the paper's name before ``id``. ``placed`` has pairs of place and value."""
        name, (places, values) = source.name, zip(*placed, strict=True)
        return cls(severity, kind, against, name, f"{name}/{id}", places, values, says, explanation)

    def explained(self, why: str) -> Finding:
        explanations = [*self.explanation.split("; "), *why.split("; ")]
        return replace(self, explanation="; ".join(dict.fromkeys(filter(None, explanations))))

    def with_other(self, other: Finding) -> Finding:
        """Return both findings as one, with the more severe severity and all places."""
        placed = dict(zip(self.places, self.values, strict=True))
        for place, value in zip(other.places, other.values, strict=True):
            placed.setdefault(place, "" if value in other.says else value)  # no sentence twice
        severity = min(self.severity, other.severity, key=SEVERITIES.index)
        joined = replace(self, severity=severity, places=tuple(placed), values=tuple(placed.values()))
        return joined.explained(other.says).explained(other.explanation)

    def as_json(self) -> dict:
        return asdict(self) | {"places": list(self.places), "values": list(self.values)}


Findings = Iterator[Finding]


def printed(cells: Iterable[Cell]) -> list[tuple[str, str]]:
    return [(c.id, c.printed.plain) for c in cells]


def sort_findings(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda f: (f.paper, SEVERITIES.index(f.severity), f.kind, f.places, f.says))


def with_joined_facts(findings: list[Finding], facts: tuple[tuple[str, ...], ...]) -> list[Finding]:
    """Return the findings. Those that an entry of ``facts`` lists by their ids are joined into one."""
    by_id = {f.id: f for f in findings}
    joined, absorbed = dict(by_id), set()
    for fact in facts:
        first, *others = [id for id in fact if id in by_id] or [""]
        for id in others:
            joined[first] = joined[first].with_other(by_id[id])
        absorbed.update(others)
    return [finding for id, finding in joined.items() if id not in absorbed]


FILE = "audit.yaml"


class Explanation(StrictMapping):
    """The cause (``why``) of the findings that have a place at or below each entry of ``at``."""

    at: tuple[str, ...]
    why: str

    def is_of(self, places: tuple[str, ...]) -> bool:
        return all(any(f"{place}/".startswith(f"{beginning}/") for place in places) for beginning in self.at)


class Wording(Identified):
    """An ambiguous or wrong word. Kind ``scope``: an *only* or *all* that another section contradicts."""

    where: str
    says: str
    severity: Literal["error", "doubt", "note"]
    against: reading_schema.Against = "paper"
    kind: Literal["wording", "scope"] = "wording"


Bound = Annotated[str, Field(pattern=r"^([A-Z]?[+-]\d+|[A-Z]|\d+)$", coerce_numbers_to_str=True)]


class Index(Identified):
    """A ``sequence`` in an equation with its first and last index, e.g. ``[0, N+1]``. The index i ``runs``
    e.g. over ``[1, N]``, and a term ``uses`` an entry, e.g. ``i+1``.
    """

    where: str
    says: str
    sequence: tuple[Bound, Bound]
    runs: tuple[Bound, Bound]
    uses: Annotated[str, Field(pattern=r"^i([+-]\d+)?$")]


class Notes(StrictMapping):
    """The content of one audit.yaml, or the shared fields of all.

    Attributes:
        configurations: name -> rows or cells that are the same system.
        facts: groups of ids of findings on the same fact.
        out_of_domain: tables on data that no system was trained on, as the paper claims.
        trained_on: system -> the ids of its training sets in ir_datasets.
    """

    configurations: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    explanations: tuple[Explanation, ...] = ()
    facts: tuple[tuple[str, ...], ...] = ()
    wording: tuple[Wording, ...] = ()
    out_of_domain: tuple[str, ...] = ()
    trained_on: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    indices: tuple[Index, ...] = ()

    def configuration(self, cell: Cell) -> str:
        """Return the cell's name in ``configurations``, otherwise its system if it is cited, or its id."""
        by_path = {path: name for name, paths in self.configurations.items() for path in paths}
        default = cell.row.system if cell.role == "cited" else cell.id
        return by_path.get(cell.id) or by_path.get(cell.row_path) or default

    def explanation(self, places: tuple[str, ...]) -> str:
        return "; ".join(e.why for e in self.explanations if e.is_of(places))


def notes() -> Notes:
    """Return the configurations, explanations and facts of all papers. Raises ManifestError."""
    contents = [notes_of(s) for s in papers().values()]
    named: dict[str, tuple[str, ...]] = {}
    for name, paths in (item for content in contents for item in content.configurations.items()):
        named[name] = (*named.get(name, ()), *paths)
    explanations = tuple(each for content in contents for each in content.explanations)
    facts = tuple(fact for content in contents for fact in content.facts)
    return Notes(configurations=named, explanations=explanations, facts=facts)


def check_use(source: Paper, places: Mapping[str, tuple[str, ...]]) -> None:
    """Raise ManifestError if audit.yaml names or explains a finding that is not in ``places`` (by id)."""
    for location, reason in _idle_entries(notes_of(source), f"{source.name}/", places):
        raise yaml_file.fault_at(source.folder / FILE, location, reason)


def _idle_entries(
    content: Notes, own: str, places: Mapping[str, tuple[str, ...]]
) -> Iterator[yaml_file.Fault]:
    for number, fact in enumerate(content.facts):
        for place, id in enumerate(fact):
            if id.startswith(own) and id not in places:
                yield ("facts", number, place), str(unknown("finding", id, places))
    for number, each in enumerate(content.explanations):
        is_own = all(f"{place}/".startswith(own) for place in each.at)
        if is_own and not any(each.is_of(found) for found in places.values()):
            reason = f"there is no finding at {' and '.join(each.at)} to explain"
            yield ("explanations", number), reason


@once_per_paper
def notes_of(source: Paper) -> Notes:
    path = source.folder / FILE
    if not path.exists():
        return Notes()
    cells = {c.id for c in cells_of(source)}
    known = cells | {id.rpartition("/")[0] for id in cells}

    def faults(content: Notes) -> Iterator[yaml_file.Fault]:
        seen: set[str] = set()
        for name, paths in content.configurations.items():
            for number, place in enumerate(paths):
                if place not in known:
                    yield ("configurations", name, number), f"{place!r} is not a row or cell of {source.name}"
                if place in seen:
                    yield ("configurations", name, number), f"{place!r} is named twice"
                seen.add(place)
        yield from _untrained_systems(content, source)

    return yaml_file.read(path, Notes, faults=faults)


def _untrained_systems(content: Notes, source: Paper) -> Iterator[yaml_file.Fault]:
    systems = {t.id: {row.system for row in t.rows} for t in source.manifest.tables if t.rows}
    for number, table in enumerate(content.out_of_domain):
        if table not in systems:
            yield ("out_of_domain", number), str(unknown(f"table of {source.name}", table, systems))
        for system in sorted(systems[table] - content.trained_on.keys()):
            yield ("out_of_domain", number), f"`trained_on` has no sets of {system!r} of table {table}"
