"""The request that a recipe answers, the readings in force, and several runs as one answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from repro.errors import unknown
from repro.graph import Node
from repro.locations import data_folder
from repro.manifest.reading_schema import Reading
from repro.retrieval.datasets.catalog import dataset as catalogued
from repro.retrieval.datasets.sources import PACKINGS

HALF = ("fp16", "bf16")
Recipe = TypeVar("Recipe", bound=Callable[..., Any])


def full_only(reason: str) -> Callable[[Recipe], Recipe]:
    """Mark a recipe that measures nothing below full scale, and say why."""
    return lambda recipe: _marked(recipe, full_only=reason)


def only_at(scale: str) -> Callable[[Recipe], Recipe]:
    """Mark a recipe that measures something at one scale only, or at one that is like it."""
    return lambda recipe: _marked(recipe, only_at=scale)


def _marked(recipe: Recipe, **marks: str) -> Recipe:
    vars(recipe).update(marks)
    return recipe


@dataclass
class Choices:
    """The readings that a recipe may ask for, and a record of those it asked for.

    Attributes:
        readings: by id.
        overrides: choice names the user set, by reading id.
        data: the folder of the user's own data, where originals are looked for.
        used: reading id -> choice name, filled as the recipe asks.
        originals_only: whether the papers' own data is measured on, where nothing stands in silently for what
            is missing.
        substitutes: reading id -> why another choice than the wanted one was taken.
        missing: what an original is known by in a graph -> the choice, ``reading=choice``, that does without
            it.
        scoring: what a recipe changes of how its dataset is usually scored.
        measured_as: printed measure -> the one that a reading says is meant.
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
        """Return the chosen value. Raises UsageError for an id or choice that does not exist."""
        reading = self._reading(identifier)
        choice = self.used.setdefault(identifier, self.overrides.get(identifier, reading.default))
        if choice not in reading.choices:
            raise unknown(f"value of {identifier!r}", choice, reading.choices)
        return reading.choices[choice]

    def original(self, identifier: str, file: str, *, otherwise: str, known_as: str = "") -> Path | None:
        """Return the original data file a reading is about, or None with the substitute noted.

        A list of words with other words than it must have is none. Where only originals are measured on, the
        place of a file that is not there, which the plan then says.

        Args:
            file: path below REPRO_DATA, without the ending of a packed file.
            otherwise: the choice taken when the file is not there.
            known_as: what a graph calls it by: a collection, a splitter, or ``file`` itself.
        """
        from repro.retrieval.datasets import word_lists

        fault = word_lists.fault(self.data, file)
        path = None if self.data is None else self.data / file
        if path and not fault and any(path.with_name(path.name + end).exists() for end in PACKINGS):
            return path
        if self.originals_only:
            self.missing[known_as or file] = f"{identifier}={otherwise}"
            return path or self._download_folder / file
        self.used[identifier] = otherwise
        self.substitutes[identifier] = fault or f"{file} is not in REPRO_DATA"
        return None

    def departures(self) -> dict[str, str]:
        """Return the choices used that are not the default: what makes a measurement not comparable."""
        return {i: c for i, c in self.used.items() if c != self._reading(i).default}

    def in_full_precision(self) -> dict[str, str]:
        """Return the choices that say fp32 where those in force, else the same, say half precision."""
        replacements = {}
        for identifier, choice in self.used.items():
            choices = self._reading(identifier).choices
            full = _full_precision(choices[choice])
            matches = [name for name, value in choices.items() if value == full]
            if full != choices[choice] and matches:
                replacements[identifier] = matches[0]
        return replacements

    @cached_property
    def _download_folder(self) -> Path:
        return data_folder()

    def _reading(self, identifier: str) -> Reading:
        try:
            return self.readings[identifier]
        except KeyError:
            raise unknown("unspecified choice", identifier, self.readings) from None


def _full_precision(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _full_precision(part) for name, part in value.items()}
    return "fp32" if isinstance(value, str) and value in HALF else value


@dataclass(frozen=True)
class Request:
    """A run over one dataset, under some readings, that a recipe is asked for.

    Attributes:
        dataset: id of the topics and judgements.
        choices: the readings in force.
        seed: set when the user asks for seeds of their own; None means the paper's.
    """

    dataset: str
    choices: Choices
    seed: int | None = None

    def reading(self, identifier: str) -> Any:
        """Return the value of a reading's choice in force."""
        return self.choices.value(identifier)

    def score_with(self, *, ignore_identical_ids: bool) -> None:
        """Depart from how the dataset is usually scored, as a reading of this row says."""
        self.choices.scoring["ignore_identical_ids"] = ignore_identical_ids

    def match_answers(self, *, tokenless: bool) -> None:
        """Score a dataset that is judged by answers with this rule for one that has no token."""
        if catalogued(self.dataset).judgements == "answers":
            self.choices.scoring["tokenless_answers"] = tokenless

    def measure_as(self, printed: str, meant: str) -> None:
        """Score a column headed ``printed`` by ``meant``, as a reading of this row says."""
        self.choices.measured_as[printed] = meant

    def seed_or(self, papers_own: int) -> int:
        """Return the seed the user asked for, else the paper's own."""
        return papers_own if self.seed is None else self.seed

    @property
    def collection(self) -> str:
        """The id of the corpus the dataset's topics search."""
        return catalogued(self.dataset).corpus_id


@dataclass(frozen=True)
class Runs:
    """Several runs behind one cell: the mean over a group's runs, and the largest of the groups' means.

    Attributes:
        groups: equally many runs in each; one group is a plain mean.
    """

    groups: tuple[tuple[Node, ...], ...]

    @property
    def all(self) -> tuple[Node, ...]:
        """The runs of every group, one after the other."""
        return tuple(run for group in self.groups for run in group)
