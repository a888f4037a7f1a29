"""The shape of readings.yaml, a misspelt key being an error, and of pointers at comparisons of a study."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, model_validator

from repro.manifest.places import Citation
from repro.manifest.yaml_file import Fault, Identified, repetitions

RELATIONS = ("above", "below", "against")
_FORM = re.compile(rf"([\w-]+)/([\w.-]+)/([\w.-]+) ({'|'.join(RELATIONS)}) ([\w.-]+)")


@dataclass(frozen=True)
class StudyPointer:
    """Two rows of a study's table, which answer a text on equal terms, and how the text orders them.

    Attributes:
        stated: above or below, the order of ``row`` towards ``other`` in the text; against where it has none.
    """

    study: str
    table: str
    row: str
    stated: str
    other: str


def study_pointer(text: str) -> StudyPointer:
    """Read ``STUDY/TABLE/ROW above OTHER``; also below, or against. Raises ValueError for another form."""
    parts = _FORM.fullmatch(text)
    if parts is None:
        raise ValueError(f"{text!r} is not STUDY/TABLE/ROW {'|'.join(RELATIONS)} OTHER")
    return StudyPointer(*parts.groups())


def _check_pointer(text: str) -> str:
    study_pointer(text)
    return text


PointerText = Annotated[str, AfterValidator(_check_pointer)]
Against = Literal["paper", "code", "another paper", "third party"]


class Reading(Identified):
    """A silence, misprint or conflict of a paper, as a switch with named choices.

    Which cells rest on it follows from the recipes that ask for it; ``cells`` names tables, rows or cells
    where no recipe does, or the printed numbers that a misprint or conflict is about. ``against`` says what
    contradicts the paper in a misprint or conflict: itself, its released code, another paper, a third party.
    ``released`` are the choices by which a row is measured with the model that its own authors released.
    ``citations`` are the places outside of the paper that ``evidence`` rests on; where authors speak for
    other choices alone, ``note`` says why the default is not theirs. ``study`` are comparisons of a study, on
    equal terms, between choices or of what the reading is about.
    """

    kind: Literal["silence", "misprint", "conflict", "data"]
    against: Against | None = None
    where: str
    paper: str
    evidence: str = ""
    choices: dict[str, Any]
    default: str
    cells: tuple[str, ...] = ()
    note: str = ""
    released: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()
    study: tuple[PointerText, ...] = ()

    @model_validator(mode="after")
    def _a_contradiction_names_what_contradicts(self):
        is_contradiction = self.kind in ("misprint", "conflict")
        if is_contradiction and self.against is None:
            raise ValueError(f"a {self.kind} needs `against`, one of {', '.join(get_args(Against))}")
        if self.against and not is_contradiction:
            raise ValueError(f"`against` is for misprints and conflicts, and this is of kind {self.kind}")
        return self

    @model_validator(mode="after")
    def _default_is_a_choice(self):
        if strays := set(self.released) - self.choices.keys():
            raise ValueError(f"released {min(strays)!r} is not among the choices {', '.join(self.choices)}")
        if self.default not in self.choices:
            raise ValueError(f"default {self.default!r} is not among the choices {', '.join(self.choices)}")
        return self

    @model_validator(mode="after")
    def _default_follows_authors_or_a_note_says_why_not(self):
        cited_choices = {choice for c in self.citations for choice in c.choices}
        if strays := cited_choices - self.choices.keys():
            raise ValueError(f"a citation speaks for {min(strays)!r}, which is not among the choices")
        advice = {choice for c in self.citations if c.who == "authors" for choice in c.choices}
        if advice and self.default not in advice and not self.note:
            raise ValueError(f"authors speak for {min(advice)!r}: let the default follow, or note why not")
        return self


def reading_faults(content: tuple[Reading, ...]) -> Iterator[Fault]:
    """Yield the faults of a readings.yaml that no single reading can tell: an id twice."""
    yield from repetitions("unspecified choice", content, ())
