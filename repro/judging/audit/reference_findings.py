"""Pointers of a text, and entries of its reference list, that are not what they are taken for."""

from collections.abc import Iterator

from repro.judging.audit.findings import Finding
from repro.judging.audit.references import Outcome, Pointer, References, references_of
from repro.manifest.papers import Paper

_SEVERITIES = {"absent": "error", "wrong": "error", "partly": "doubt"}


def of_references(source: Paper) -> Iterator[Finding]:
    """Faulty pointers that no reading tells, and faulty entries of the reference list."""
    references = references_of(source)
    for pointer in references.pointers:
        if pointer.verdict != "right" and not pointer.reading:
            yield _pointer_finding(source, pointer)
    for key, work in references.works.items():
        if work.verdict != "right":
            yield _entry_finding(source, key, work.verdict, work.why, work.against)
    yield from _shared_numbers(source, references)
    cited = {target for pointer in references.pointers for target in pointer.targets}
    for key in references.works.keys() - cited:
        yield _entry_finding(
            source,
            key,
            "partly",
            f"{key} ({references.works[key].work}) is cited nowhere in the text",
            "paper",
        )


def _pointer_finding(source: Paper, pointer: Pointer) -> Finding:
    targets = ", ".join(pointer.targets)
    identifier = f"{source.name}/reference/{pointer.at}/{targets}/{pointer.as_}"
    places = (f"{source.name}/{pointer.at}",)
    says = f"{pointer.at}, {pointer.as_}: points at {targets}; {pointer.why}"
    severity = _SEVERITIES[pointer.verdict]
    return Finding(severity, "reference", pointer.against, source.name, identifier, places, (targets,), says)


def _entry_finding(source: Paper, key: str, verdict: Outcome, why: str, against: str) -> Finding:
    identifier, place = f"{source.name}/work/{key}", f"{source.name}/references"
    severity = "note" if verdict == "partly" else "error"
    says = f"reference {key}: {why}"
    return Finding(severity, "reference", against, source.name, identifier, (place,), (key,), says)


def _shared_numbers(source: Paper, references: References) -> Iterator[Finding]:
    """Two works of one list under one arXiv number, of which neither is said to be wrong."""
    by_number: dict[str, list[str]] = {}
    for key, work in references.works.items():
        if work.arxiv:
            by_number.setdefault(work.arxiv, []).append(key)
    for number, keys in by_number.items():
        works = [references.works[key] for key in keys]
        if len({w.work for w in works}) > 1 and all(w.verdict == "right" for w in works):
            names = " and ".join(f"{key} ({references.works[key].work})" for key in keys)
            places = (f"{source.name}/references",) * len(keys)
            identifier, says = (
                f"{source.name}/work/arXiv:{number}",
                f"{names} have one number, arXiv:{number}",
            )
            fields = source.name, identifier, places[:1], (", ".join(keys),)
            yield Finding("error", "reference", "paper", *fields, says)


def other_numbers(sources: list[Paper]) -> Iterator[Finding]:
    """A work that two papers list under two arXiv numbers."""
    numbers: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for source in sources:
        for key, work in references_of(source).works.items():
            if work.arxiv:
                numbers.setdefault(work.work, {}).setdefault(work.arxiv, []).append((source.name, key))
    for work, by_number in numbers.items():
        if len(by_number) > 1:
            entries = [(paper, key, number) for number, keys in by_number.items() for paper, key in keys]
            places = tuple(f"{paper}/references/{key}" for paper, key, _ in entries)
            values = tuple(f"arXiv:{number}" for _, _, number in entries)
            says = f"{work} has several arXiv numbers"
            fields = entries[-1][0], f"works/{work}", places, values
            yield Finding("doubt", "reference", "another paper", *fields, says)
