"""One finding of the audit, and their order."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

SEVERITIES = ("error", "doubt", "note")


@dataclass(frozen=True)
class Finding:
    """Something in a paper that does not fit.

    Attributes:
        severity: error (a paper contradicts itself or a source that it quotes), doubt (one of two must be
            wrong, or a difference has another cause), note (worth knowing, nobody's mistake).
        kind: average, delta, bold, tie, claim, mark, values, misprint, conflict, record.
        paper: where it is to be mended.
        places: cells, claims or sections, as many as there are values.
        values: what is printed or said there.
        says: what does not fit, one sentence.
        explanation: what is known of it; empty where nothing is.
    """

    severity: str
    kind: str
    paper: str
    places: tuple[str, ...]
    values: tuple[str, ...]
    says: str
    explanation: str = ""

    def __post_init__(self):
        assert self.severity in SEVERITIES, self.severity
        assert len(self.places) == len(self.values), self

    def explained(self, why: str) -> Finding:
        """The same with more known of it."""
        return replace(self, explanation="; ".join(dict.fromkeys(filter(None, [self.explanation, why]))))

    def as_json(self) -> dict:
        """The object that ``repro audit --json`` prints."""
        return asdict(self) | {"places": list(self.places), "values": list(self.values)}


def ordered(findings: list[Finding]) -> list[Finding]:
    """The findings by paper, severity, kind and place."""
    return sorted(findings, key=lambda f: (f.paper, SEVERITIES.index(f.severity), f.kind, f.places, f.says))
