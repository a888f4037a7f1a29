"""Public places where something is stated: files at a commit, threads, model cards, parts of papers."""

from __future__ import annotations

import datetime
from typing import Literal
from urllib.parse import quote

from pydantic import Field, field_validator, model_validator

from repro.manifest.yaml_file import StrictMapping

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
