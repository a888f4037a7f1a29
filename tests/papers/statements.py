"""The sentences of a paper's claims.yaml, and those that its own tables contradict."""

from __future__ import annotations

from repro.judging.claims.measures import FAILS
from repro.judging.claims.places import Places
from repro.judging.claims.statements import statements
from repro.judging.claims.values import Published
from repro.manifest.claims_schema import Claim
from repro.manifest.papers import papers


def sentences(name: str) -> list[Claim]:
    """The claims of a paper in the order of the file."""
    return list(papers()[name].claims.values())


def contradicted_in_print(name: str) -> set[str]:
    """Ids of the claims that fail in the paper's own numbers."""
    places = Places(papers()[name])
    spoken = [s for s in statements(papers()[name]) if s.kind == "claim"]
    assert len(spoken) == len(sentences(name))
    return {s.id.rpartition("/")[2] for s in spoken if s.judge(Published(), places).state == FAILS}
