"""The references of each paper with verdicts (references.yaml), e.g. ``at: §4.2``, ``to: [Table 3]``."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from repro.graph import grouped
from repro.manifest import reading_schema, yaml_file
from repro.manifest.papers import Paper, once_per_paper
from repro.plugins.statements.findings import Finding, Findings

Outcome = Literal["right", "absent", "wrong", "partly"]
PARTS = ("Table ", "Figure ", "Eq. ", "Algorithm ", "§", "App. ")


class Faulty(yaml_file.StrictMapping):
    verdict: Outcome = "right"
    why: str = ""
    against: reading_schema.Against = "paper"


class Work(Faulty):
    """An entry of the reference list. ``work`` is the name of the work in all papers."""

    work: str
    arxiv: str = ""
    note: str = ""


class Pointer(Faulty):
    """A sentence that refers to one target, or to several that are all right or all wrong.

    Attributes:
        as_: the expected content of the target, or the name of a work.
        to: keys of the reference list, tables, figures, equations or sections, e.g. "Table 3" or 12.
        reading: the reading that reports the same fault. Then the pointer makes no finding.
    """

    at: str
    as_: str = Field(alias="as")
    to: tuple[str | int, ...]
    reading: str = ""

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(map(str, self.to))


class References(yaml_file.StrictMapping):
    works: dict[str, Work] = Field(default_factory=dict)
    pointers: tuple[Pointer, ...] = ()


@once_per_paper
def references_of(source: Paper) -> References:
    """Return the references of a paper, if any. Raises ManifestError."""
    path = source.folder / "references.yaml"
    if not path.exists():
        return References()

    def faults(content: References) -> Iterator[yaml_file.Fault]:
        for part, items in (("pointers", enumerate(content.pointers)), ("works", content.works.items())):
            for place, item in items:
                if (item.verdict == "right") == bool(item.why):
                    yield (part, place), "needs `why` if and only if the verdict is not right"
        for number, pointer in enumerate(content.pointers):
            for target in pointer.targets:
                if not target.startswith(PARTS) and target not in content.works:
                    yield ("pointers", number, "to"), f"{target!r} is not a key of `works`"
            if pointer.reading and pointer.reading not in source.readings:
                says = f"{source.name} has no unspecified choice {pointer.reading!r}"
                yield ("pointers", number, "reading"), says

    return yaml_file.read(path, References, faults=faults)


@dataclass(frozen=True)
class Reference:
    """A target of a pointer, or an entry of the reference list. ``means`` is its expected content or work."""

    paper: str
    at: str
    means: str
    to: str
    verdict: str
    why: str
    against: str
    reading: str = ""


def paper_references(source: Paper) -> Iterator[Reference]:
    """Yield a reference for each target of each pointer, then the reference list."""
    found = references_of(source)
    for pointer in found.pointers:
        verdict = pointer.verdict, pointer.why, pointer.against, pointer.reading
        for target in pointer.targets:
            yield Reference(source.name, pointer.at, pointer.as_, target, *verdict)
    for key, work in found.works.items():
        yield Reference(source.name, "references", work.work, key, work.verdict, work.why, work.against)


_SEVERITIES = {"absent": "error", "wrong": "error", "partly": "doubt"}


def of_references(source: Paper) -> Findings:
    """Yield findings on faulty pointers without a reading, and on faulty or uncited entries."""
    found = references_of(source)
    for pointer in found.pointers:
        if pointer.verdict != "right" and not pointer.reading:
            targets = ", ".join(pointer.targets)
            id = f"reference/{pointer.at}/{targets}/{pointer.as_}"
            placed = [(f"{source.name}/{pointer.at}", targets)]
            says = f"{pointer.at} refers to {targets} for {pointer.as_}: {pointer.why}"
            fields = _SEVERITIES[pointer.verdict], "reference", id, placed, says
            yield Finding.of(source, *fields, against=pointer.against)
    for key, work in found.works.items():
        if work.verdict != "right":
            severity, says = "note" if work.verdict == "partly" else "error", f"reference {key}: {work.why}"
            yield _entry_finding(source, severity, f"work/{key}", key, says, work.against)
    yield from _shared_numbers(source, found)
    cited = {target for pointer in found.pointers for target in pointer.targets}
    for key in found.works.keys() - cited:
        says = f"reference {key}: the text never cites {key} ({found.works[key].work})"
        yield _entry_finding(source, "note", f"work/{key}", key, says)


def _entry_finding(
    source: Paper, severity: str, id: str, keys: str, says: str, against: str = "paper"
) -> Finding:
    placed = [(f"{source.name}/references", keys)]
    return Finding.of(source, severity, "reference", id, placed, says, against=against)


def _shared_numbers(source: Paper, references: References) -> Findings:
    entries = ((work.arxiv, (key, work)) for key, work in references.works.items() if work.arxiv)
    for number, works in grouped(entries).items():
        if len({work.work for _, work in works}) > 1 and all(work.verdict == "right" for _, work in works):
            names = " and ".join(f"{key} ({work.work})" for key, work in works)
            says = f"{names} have the same number, arXiv:{number}"
            keys = ", ".join(key for key, _ in works)
            yield _entry_finding(source, "error", f"work/arXiv:{number}", keys, says)


def other_numbers(sources: list[Paper]) -> Findings:
    """Yield a doubt for each work with several arXiv numbers in the papers' reference lists."""
    numbers: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for source in sources:
        for key, work in references_of(source).works.items():
            if work.arxiv:
                numbers.setdefault(work.work, {}).setdefault(work.arxiv, []).append((source.name, key))
    for name, by_number in numbers.items():
        if len(by_number) > 1:
            entries = [(paper, key, number) for number, keys in by_number.items() for paper, key in keys]
            places = tuple(f"{paper}/references/{key}" for paper, key, _ in entries)
            values = tuple(f"arXiv:{number}" for _, _, number in entries)
            says = f"{name} has several arXiv numbers"
            fields = entries[-1][0], f"works/{name}", places, values
            yield Finding("doubt", "reference", "another paper", *fields, says)
