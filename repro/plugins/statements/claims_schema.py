"""The shape of claims.yaml; a misspelt key or an expression outside the language is an error."""

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import model_validator

from repro.manifest import yaml_file
from repro.manifest.papers import Paper
from repro.manifest.reading_schema import PointerText
from repro.manifest.yaml_file import Identified, StrictMapping, repetitions
from repro.plugins.statements.claim_expressions import fault

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class Claim(Identified):
    """A sentence of the text, restated, with what its cells must satisfy.

    Attributes:
        about: the tables whose cells it uses.
        expect: an expression of the language; left out where no cell can confirm the sentence.
        beyond: of a sentence without ``expect``, what would have to be known for it to be judged.
        assumed: what of the expression the text does not say, such as a margin for a vague word or the
            measures where it names none; where the claim then fails, that is a doubt and no error.
        note: how the paper's own numbers fail it.
        study: comparisons of a study, on equal terms, and the order that the sentence gives them.
    """

    where: str
    about: tuple[str, ...] = ()
    says: str
    expect: str = ""
    beyond: str = ""
    assumed: str = ""
    note: str = ""
    study: tuple[PointerText, ...] = ()

    @model_validator(mode="after")
    def _is_judged_or_says_why_not(self):
        if bool(self.expect) == bool(self.beyond):
            raise ValueError("needs either `expect` or, where no cell can confirm it, `beyond`")
        return self

    @model_validator(mode="after")
    def _id_is_lower_case(self):
        if not _ID.fullmatch(self.id):
            raise ValueError(f"id {self.id!r} must be lower-case words joined by hyphens")
        return self


class _Claims(StrictMapping):
    claims: tuple[Claim, ...]


def claims_of(source: Paper) -> dict[str, Claim]:
    """Return the claims of a paper by id, read once. Raises ManifestError with file and line."""
    return source.once(claims, lambda: claims(source.folder / "claims.yaml"))


def claims(path: Path) -> dict[str, Claim]:
    """The claims of one claims.yaml by id; none without the file. Raises ManifestError with file and line."""
    if not path.exists():
        return {}
    return {claim.id: claim for claim in yaml_file.read(path, _Claims, faults=_faults).claims}


def _faults(content: _Claims) -> Iterator[tuple[tuple, str]]:
    yield from repetitions("claim", content.claims, ("claims",))
    for number, claim in enumerate(content.claims):
        if claim.expect and (reason := fault(claim.expect)):
            yield ("claims", number, "expect"), reason
