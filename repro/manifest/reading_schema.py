"""The schema of readings.yaml, with public sources, e.g. a file at a commit."""

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

Who = Literal["authors", "toolkit", "independent", "later-paper"]


class Place(StrictMapping):
    """Exactly one public source.

    Attributes:
        repository: with ``path`` and ``commit``, or with ``issue`` or ``pull`` and ``date``.
        card: a model card of the hub, with ``commit`` or ``date``.
        title: of a paper, with ``table`` and ``arxiv`` or ``doi``.
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
            of_repository = "(repository, path, commit), (repository, issue or pull, date)"
            others = "(card, commit or date) or (title, table, arxiv or doi)"
            raise ValueError(f"a source has one place: {of_repository}, {others}")
        return self

    @field_validator("date")
    @classmethod
    def _is_a_day(cls, text: str) -> str:
        try:
            datetime.date.fromisoformat(text or "2026-01-01")
        except ValueError:
            raise ValueError(f"{text!r} is not a day of the calendar") from None
        return text

    @property
    def address(self) -> str:
        if self.repository:
            thread = f"issues/{self.issue}" if self.issue else f"pull/{self.pull}"
            file = f"blob/{self.commit}/{quote(self.path)}"
            return f"https://github.com/{self.repository}/{file if self.path else thread}"
        if self.card:
            at_commit = f"/tree/{self.commit}" if self.commit else ""
            return f"https://huggingface.co/{self.card}{at_commit}"
        return f"https://arxiv.org/abs/{self.arxiv}" if self.arxiv else f"https://doi.org/{quote(self.doi)}"

    @property
    def place(self) -> str:
        if self.path:
            return f"{self.repository}@{self.commit[:7]}, {self.path}"
        if self.repository:
            thread = f"issue {self.issue}" if self.issue else f"pull request {self.pull}"
            return f"{self.repository}, {thread}, {self.date}"
        if self.card:
            return f"model card {self.card}"
        return f"{self.title}, Table {self.table}"


class Citation(Place):
    """A public statement, and the choices that it supports."""

    who: Who
    says: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class StudyPointer:
    """Two rows of a study's table, and their stated order, e.g. ``above``."""

    study: str
    table: str
    row: str
    stated: str
    other: str


def study_pointer(text: str) -> StudyPointer:
    """Read e.g. ``STUDY/TABLE/ROW above OTHER``. Raises ValueError."""
    parts = _FORM.fullmatch(text)
    if parts is None:
        raise ValueError(f"{text!r} is not STUDY/TABLE/ROW {'|'.join(RELATIONS)} OTHER")
    return StudyPointer(*parts.groups())


PointerText = Annotated[str, AfterValidator(lambda text: study_pointer(text) and text)]
Against = Literal["paper", "code", "another paper", "third party"]


class Reading(Identified):
    """A silence, misprint or conflict of a paper, or a stated value, with named choices.

    Attributes:
        against: the source that contradicts the paper, e.g. ``code``.
        severity: of its finding in the audit.
        cells: affected tables, rows or cells. Most follow from the recipes.
        note: justifies the default if authors support other choices.
        released: choices of rows measured with their authors' model.
    """

    kind: Literal["silence", "misprint", "conflict", "data", "stated"]
    against: Against | None = None
    severity: Literal["error", "doubt", "note"] | None = None
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
    def _contradiction_names_its_source(self):
        is_contradiction = self.kind in ("misprint", "conflict")
        if is_contradiction and self.against is None:
            raise ValueError(f"a {self.kind} needs `against`, one of {', '.join(get_args(Against))}")
        for name in ("against", "severity"):
            if getattr(self, name) and not is_contradiction:
                raise ValueError(f"`{name}` is for misprints and conflicts, and this is of kind {self.kind}")
        return self

    @model_validator(mode="after")
    def _choices_are_known(self):
        cited = {choice for c in self.citations for choice in c.choices}
        for name, named in {"released": {*self.released}, "default": {self.default}, "cited": cited}.items():
            if strays := named - self.choices.keys():
                raise ValueError(f"{name} {min(strays)!r} is not among the choices {', '.join(self.choices)}")
        return self

    @model_validator(mode="after")
    def _default_follows_authors_or_a_note_says_why_not(self):
        advice = {choice for c in self.citations if c.who == "authors" for choice in c.choices}
        if advice and self.default not in advice and not self.note:
            raise ValueError(f"authors support {min(advice)!r}. Make it the default, or add a `note` why not")
        return self


def reading_faults(content: tuple[Reading, ...]) -> Iterator[Fault]:
    yield from repetitions("unspecified choice", content, ())
