"""The sentences of a paper's claims.yaml, and whose words they are in."""

from __future__ import annotations

import re

from repro.manifest.papers import papers
from repro.plugins.statements.claims import Claim, claims_of

RUN = 8  # words in sequence that would be the paper's own


def runs(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"[a-z0-9]+", text.lower())
    return {tuple(words[i : i + RUN]) for i in range(len(words) - RUN + 1)}


def sentences(name: str) -> list[Claim]:
    return list(claims_of(papers()[name]).values())
