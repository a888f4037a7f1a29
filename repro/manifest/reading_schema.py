"""The shape of readings.yaml: readings, public places that they cite, and pointers at comparisons of a study.

A misspelt key is an error. A place is e.g. a file at a commit, a thread, a model card or a part of a paper.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args
from urllib.parse import quote

from pydantic import AfterValidator, Field, field_validator, model_validator

from repro.manifest.yaml_file import Fault, Identified, StrictMapping, repetitions

RELATIONS = ("above", "below", "against")
_FORM = re.compile(rf"([\w-]+)/([\w.-]+)/([\w.-]+) ({'|'.join(RELATIONS)}) ([\w.-]+)")
DAY = r"^\d{4}-\d{2}-\d{2}$"
FIRST = datetime.date(2016, 11, 28)  # MS MARCO came out: nothing is said of a cell before

Who = Literal["authors", "toolkit", "independent", "later-paper"]


class Place(StrictMapping):
    """Exactly one public place.

    Attributes:
        repository: ``owner/name`` with ``path`` and ``commit``, or with ``issue`` or ``pull`` and ``date``.
        card: a model card of the hub, ``owner/name``, with ``commit`` or the ``date`` on which it was read.
        title: of a paper, with the ``table`` and its number at ``arxiv``, or its ``doi`` without one; the
            number ends in a version where versions number their tables otherwise.
    """

    repository: str = Field("", pattern=r"^([\w.-]+/[\w.-]+)?$")
    path: str = Field("", pattern=r"^([^/\s]([^\n]*\S)?)?$")
    commit: str = Field("", pattern=r"^([0-9a-f]{40})?$")
    issue: int = 0
    pull: int = 0
    date: str = Field("", pattern=rf"^$|{DAY}")
    card: str = Field("", pattern=r"^([\w.-]+/[\w.-]+)?$")
    title: str = ""
    arxiv: str = Field("", pattern=r"^(\d{4}\.\d{4,5}(v\d+)?)?$")
    doi: str = Field("", pattern=r"^(10\.\d{4,9}/\S+)?$")
    table: str = ""

    @model_validator(mode="after")
    def _is_one_place(self):
        places = (
            (self.repository, self.path, self.commit),
            (self.repository, self.issue or self.pull, self.date),
            (self.card, self.commit or self.date),
            (self.title, self.table, self.arxiv or self.doi),
        )
        if sum(map(all, places)) != 1:
            ways = "repository, path and commit; repository, issue or pull, and date; card and commit or date"
            raise ValueError(f"a source has one place: {ways}; or title, table and arxiv or doi")
        return self

    @field_validator("date")
    @classmethod
    def _is_a_day(cls, text: str) -> str:
        if text and (reason := no_day(text)):
            raise ValueError(reason)
        return text

    @property
    def address(self) -> str:
        """The address at which the place can be opened."""
        if self.path:
            return f"https://github.com/{self.repository}/blob/{self.commit}/{quote(self.path)}"
        if self.repository:
            kind, number = ("issues", self.issue) if self.issue else ("pull", self.pull)
            return f"https://github.com/{self.repository}/{kind}/{number}"
        if self.card:
            at_commit = f"/tree/{self.commit}" if self.commit else ""
            return f"https://huggingface.co/{self.card}{at_commit}"
        return f"https://arxiv.org/abs/{self.arxiv}" if self.arxiv else f"https://doi.org/{quote(self.doi)}"

    @property
    def place(self) -> str:
        """The place in a few words."""
        if self.path:
            return f"{self.repository}@{self.commit[:7]}, {self.path}"
        if self.repository:
            kind, number = ("issue", self.issue) if self.issue else ("pull request", self.pull)
            return f"{self.repository}, {kind} {number}, {self.date}"
        if self.card:
            return f"model card {self.card}"
        return f"{self.title}, Table {self.table}"


class Citation(Place):
    """Something stated outside of the paper that bears on a reading, with the place where it stands.

    Attributes:
        who: ``authors`` of the paper or of the system that the reading is about; a ``toolkit``; somebody
            ``independent``; or a ``later-paper``.
        says: the matter, restated in few words.
        choices: those that it speaks for; none where it only informs.
    """

    who: Who
    says: str
    choices: tuple[str, ...] = ()


def no_day(text: str) -> str:
    """Return the reason why a date is none on which something was said; empty where it may be one."""
    try:
        day = datetime.datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError:
        return f"{text!r} is no day of the calendar"
    return f"{text} is before {FIRST}, when MS MARCO came out" if day < FIRST else ""


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
