"""Pointers of readings and claims at the comparisons of a study that answer them on equal terms."""

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator

RELATIONS = ("above", "below", "against")
_FORM = re.compile(rf"([\w-]+)/([\w.-]+)/([\w.-]+) ({'|'.join(RELATIONS)}) ([\w.-]+)")


@dataclass(frozen=True)
class StudyPointer:
    """Two rows of a study's table, and how the text orders them.

    Attributes:
        stated: above or below, the order of ``row`` towards ``other`` in the text; against where it has none.
    """

    study: str
    table: str
    row: str
    stated: str
    other: str


def study_pointer(text: str) -> StudyPointer:
    """The pointer that ``STUDY/TABLE/ROW above OTHER`` says; also below, or against. Raises ValueError."""
    parts = _FORM.fullmatch(text)
    if parts is None:
        raise ValueError(f"{text!r} is not STUDY/TABLE/ROW {'|'.join(RELATIONS)} OTHER")
    return StudyPointer(*parts.groups())


def _check_pointer(text: str) -> str:
    study_pointer(text)
    return text


PointerText = Annotated[str, AfterValidator(_check_pointer)]
