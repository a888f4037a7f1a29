"""One finding of the audit, and their order."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Literal, get_args

from repro.manifest.reading_schema import Against

SEVERITIES = ("error", "doubt", "note")
HeldAgainst = Literal[Against, "record"]
HELD_AGAINST = {
    "paper": "the paper alone",
    "code": "its released code",
    "another paper": "another paper",
    "third party": "a third party",
    "record": "the record itself",
}


@dataclass(frozen=True)
class Finding:
    """Something in a paper that does not fit.

    Attributes:
        severity: error (a paper contradicts itself or a source that it quotes), doubt (one of two must be
            wrong, a difference has another cause, or what contradicts is in part our own reading of a
            sentence), note (worth knowing, nobody's mistake).
        kind: average, delta, bold, tie, claim, mark, values, misprint, conflict, reference, wording, record.
        against: what it is held against: the paper alone, its released code, another paper, a third party;
            or, of a record that was altered, the record itself.
        paper: where it is to be mended.
        id: stays the same while the fact does: a statement's, ``paper/reading/id``, ``values/configuration``.
        places: cells, claims or sections, as many as there are values.
        values: what is printed or said there.
        says: what does not fit, one sentence.
        explanation: what is known of it; empty where nothing is.
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
        assert self.severity in SEVERITIES, self.severity
        assert self.against in get_args(HeldAgainst), self.against
        assert len(self.places) == len(self.values), self

    def explained(self, why: str) -> Finding:
        """The same with more known of it."""
        explanations = [*self.explanation.split("; "), *why.split("; ")]
        return replace(self, explanation="; ".join(dict.fromkeys(filter(None, explanations))))

    def with_other(self, other: Finding) -> Finding:
        """The same fact told once: this one's sentence, the graver severity, the places and words of both."""
        places = dict(zip(self.places, self.values, strict=True))
        for place, value in zip(other.places, other.values, strict=True):
            places.setdefault(place, "" if value in other.says else value)  # a sentence is told once
        severity = min(self.severity, other.severity, key=SEVERITIES.index)
        joined_finding = replace(self, severity=severity, places=tuple(places), values=tuple(places.values()))
        return joined_finding.explained(other.says).explained(other.explanation)

    def as_json(self) -> dict:
        """The object that ``repro audit --format json`` prints."""
        return asdict(self) | {"places": list(self.places), "values": list(self.values)}


def sort_findings(findings: list[Finding]) -> list[Finding]:
    """The findings by paper, severity, kind and place."""
    return sorted(findings, key=lambda f: (f.paper, SEVERITIES.index(f.severity), f.kind, f.places, f.says))


def told_once(findings: list[Finding], facts: tuple[tuple[str, ...], ...]) -> list[Finding]:
    """The findings with those of one fact joined, as the first of them that is there tells it.

    Args:
        facts: ids of findings that are one fact; one that explains several facts is told in each.
    """
    by_id = {finding.id: finding for finding in findings}
    merged_by_id, joined_ids = dict(by_id), set()
    for fact in facts:
        first, *other_ids = [identifier for identifier in fact if identifier in by_id] or [""]
        for identifier in other_ids:
            merged_by_id[first] = merged_by_id[first].with_other(by_id[identifier])
        joined_ids.update(other_ids)
    return [finding for identifier, finding in merged_by_id.items() if identifier not in joined_ids]
