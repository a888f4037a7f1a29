"""The request passed to a recipe, its readings, and several runs as one answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from repro.errors import unknown
from repro.graph import Node
from repro.locations import data_folder
from repro.manifest.reading_schema import Reading
from repro.retrieval.datasets import sources, word_lists
from repro.retrieval.datasets.catalog import dataset as catalogued

HALF = ("fp16", "bf16")
Recipe = TypeVar("Recipe", bound=Callable[..., Any])


def full_only(reason: str) -> Callable[[Recipe], Recipe]:
    """Decorate a recipe that runs at full scale only, for this reason."""
    return lambda recipe: _marked(recipe, full_only=reason)


def only_at(scale: str) -> Callable[[Recipe], Recipe]:
    """Decorate a recipe that runs only at this scale and at scales like it."""
    return lambda recipe: _marked(recipe, only_at=scale)


def _marked(recipe: Recipe, **marks: str) -> Recipe:
    vars(recipe).update(marks)
    return recipe


@dataclass
class Choices:
    """The readings available to a recipe, and a record of those that it used.

    Attributes:
        overrides: the user's choices by reading id, e.g. {"recall-definition": "success"}.
        data: the user's data folder.
        used: reading id -> choice, filled while the recipe runs.
        originals_only: whether to require the papers' own data.
        substitutes: reading id -> reason for another choice.
        missing: an original's name -> the choice without it, as ``reading=choice``.
        scoring: changes to the usual scoring.
        measured_as: printed -> intended measure, e.g. {"R@50": "Success@50"}.
    """

    readings: Mapping[str, Reading]
    overrides: Mapping[str, str] = field(default_factory=dict)
    data: Path | None = None
    originals_only: bool = False
    used: dict[str, str] = field(default_factory=dict)
    substitutes: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    scoring: dict[str, bool] = field(default_factory=dict)
    measured_as: dict[str, str] = field(default_factory=dict)

    def value(self, identifier: str) -> Any:
        """Return the chosen value and record its use. Raises UsageError for an unknown id or choice."""
        reading = self._reading(identifier)
        choice = self.used.setdefault(identifier, self.overrides.get(identifier, reading.default))
        if choice not in reading.choices:
            raise unknown("choice", choice, reading.choices, owner=f"reading {identifier}")
        return reading.choices[choice]

    def original(self, identifier: str, file: str, *, otherwise: str, known_as: str = "") -> Path | None:
        """Return a reading's original ``file``, or None if it is missing or has wrong words.

        Then ``otherwise`` becomes the choice. With ``originals_only`` the expected path is returned and noted
        in ``missing``, as ``known_as`` or ``file``.
        """
        fault = word_lists.fault(self.data, file)
        path = None if self.data is None else self.data / file
        if path and not fault and any(path.with_name(path.name + end).exists() for end in sources.PACKINGS):
            return path
        if self.originals_only:
            self.missing[known_as or file] = f"{identifier}={otherwise}"
            return path or data_folder() / file
        self.used[identifier] = otherwise
        self.substitutes[identifier] = fault or f"{file} is not in REPRO_DATA"
        return None

    def departures(self) -> dict[str, str]:
        """Return the used choices other than the default. They prevent a comparison with the paper."""
        return {i: c for i, c in self.used.items() if c != self._reading(i).default}

    @cached_property
    def in_full_precision(self) -> dict[str, str]:
        """Return reading id -> the choice with fp32 instead of the used fp16 or bf16."""
        replacements = {}
        for identifier, choice in self.used.items():
            choices = self._reading(identifier).choices
            full = _full_precision(choices[choice])
            matches = [name for name, value in choices.items() if value == full]
            if full != choices[choice] and matches:
                replacements[identifier] = matches[0]
        return replacements

    def _reading(self, identifier: str) -> Reading:
        try:
            return self.readings[identifier]
        except KeyError:
            raise unknown("reading", identifier, self.readings) from None


def _full_precision(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _full_precision(part) for name, part in value.items()}
    return "fp32" if isinstance(value, str) and value in HALF else value


@dataclass(frozen=True)
class Request:
    """The dataset, e.g. "beir/scifact/test", readings and seed (None: the paper's) of a run."""

    dataset: str
    choices: Choices
    seed: int | None = None

    def reading(self, identifier: str) -> Any:
        return self.choices.value(identifier)

    def score_with(self, *, ignore_identical_ids: bool) -> None:
        """Set whether to ignore documents with the query's id."""
        self.choices.scoring["ignore_identical_ids"] = ignore_identical_ids

    def match_answers(self, *, tokenless: bool) -> None:
        """Set whether an answer without a token counts as found, if answers are the judgements."""
        if catalogued(self.dataset).judgements == "answers":
            self.choices.scoring["tokenless_answers"] = tokenless

    def measure_as(self, printed: str, meant: str) -> None:
        """Score columns with the measure ``printed`` by ``meant``, e.g. "Success@50" for "R@50"."""
        self.choices.measured_as[printed] = meant

    def seed_or(self, papers_own: int) -> int:
        return papers_own if self.seed is None else self.seed

    @property
    def collection(self) -> str:
        return catalogued(self.dataset).corpus_id


@dataclass(frozen=True)
class Runs:
    """Several runs behind one cell. Its value is the largest of the means over ``groups`` of equal size."""

    groups: tuple[tuple[Node, ...], ...]

    @property
    def all(self) -> tuple[Node, ...]:
        return tuple(run for group in self.groups for run in group)
