"""The sentences of a paper's claims.yaml, and those that its own tables contradict."""

from __future__ import annotations

import re

from repro.manifest.papers import papers
from repro.plugins.statements.claims_schema import Claim
from repro.plugins.statements.measures import FAILS
from repro.plugins.statements.places import Places
from repro.plugins.statements.statements import statements
from repro.plugins.statements.values import PublishedValues

RUN = 8  # words in sequence that would be the paper's own


def runs(text: str) -> set[tuple[str, ...]]:
    """Every eight words in sequence."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return {tuple(words[i : i + RUN]) for i in range(len(words) - RUN + 1)}


def sentences(name: str) -> list[Claim]:
    """The claims of a paper in the order of the file."""
    return list(papers()[name].claims.values())


def contradicted_in_print(name: str) -> set[str]:
    """Ids of the claims that fail in the paper's own numbers."""
    places = Places(papers()[name])
    spoken = [s for s in statements(papers()[name]) if s.kind == "claim"]
    assert len(spoken) == len(sentences(name))
    return {s.id.rpartition("/")[2] for s in spoken if s.judge(PublishedValues(), places).state == FAILS}
