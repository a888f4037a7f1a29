"""The shape of papers/*/oracles/: how far objectives, and the work behind a number, are from released code.

A script of ``oracles/`` gives both sides the same weights, inputs, masks and draws, and writes one JSON file
of numbers; ``unreleased.yaml`` beside them names the objectives for which nothing was released, and why."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from repro.errors import ManifestError
from repro.graph import Node
from repro.manifest import yaml_file
from repro.manifest.papers import folders_with, kept_with_papers
from repro.manifest.yaml_file import StrictMapping
from repro.plugins.settings.planned_rows import at_path

Number = int | float


class ReleasedCode(StrictMapping):
    """The code that was released: a repository at a commit, and the files of it that were run."""

    repository: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    files: tuple[str, ...] = Field(min_length=1)

    def __str__(self) -> str:
        return f"{self.repository}@{self.commit[:7]}"


class ConcernedNodes(StrictMapping):
    """The nodes of a plan that a comparison speaks of.

    Attributes:
        stage: of the node.
        params: dotted path into its parameters -> the values of which it has one; a parameter that the node
            does not state counts as None.
    """

    stage: str
    params: Mapping[str, tuple[Any, ...]] = {}

    def takes_in(self, node: Node) -> bool:
        """Return whether the node is one of them."""
        return node.stage == self.stage and all(
            at_path(node, path) in values for path, values in self.params.items()
        )


class Gradient(StrictMapping):
    """A gradient in two numbers a parameter: its norm, and its product with a vector drawn from its name."""

    norm: float
    parameters: Mapping[str, tuple[float, float]]


class ReleasedOutcome(StrictMapping):
    """The outcome of the released code; a loss, gradient, value or count that it does not have is absent.

    Attributes:
        values: name -> anything that has to be equal; what is long stands as its digest.
        counts: name -> how often each outcome was drawn.
    """

    losses: Mapping[str, float] = {}
    gradient: Gradient | None = None
    values: Mapping[str, Any] = {}
    counts: Mapping[str, tuple[int, ...]] = {}


class Difference(StrictMapping):
    """The largest differences between the two sides when they were run together.

    Attributes:
        loss: between two losses, absolute.
        gradient: between two numbers of the whole gradient, absolute.
        cases: how many values were compared, all of which were equal.
        deviation: between the shares of an outcome, in standard errors.
    """

    loss: float | None = None
    gradient: float | None = None
    cases: int | None = None
    deviation: float | None = None


class Case(StrictMapping):
    """One comparison: what both sides got, what the released code gave, how far ours was from it.

    Attributes:
        tolerance: how far a loss, a number of the gradient or a rate may be from the official one where the
            test computes ours anew.
    """

    about: str
    dtype: str
    inputs: Mapping[str, Any]
    official: ReleasedOutcome
    difference: Difference
    tolerance: float


class Oracle(StrictMapping):
    """The numbers that one script of ``oracles/`` wrote.

    Attributes:
        objective: what was compared, for people.
        numbers: what its losses are called.
        stands_in: whether the code is of others, with the same equation, as the authors released none.
        script: the module that compares, ``oracles.NAME``.
        shims: what had to stand in for old libraries so that the released code runs; none touches a formula.
        departures: what is known to differ, and where the suite says so.
        software: versions of the libraries that both sides ran on.
    """

    objective: str
    script: str
    code: ReleasedCode
    nodes: tuple[ConcernedNodes, ...]
    numbers: str = "the loss"
    stands_in: bool = False
    shims: tuple[str, ...] = ()
    departures: tuple[str, ...] = ()
    software: Mapping[str, str]
    cases: Mapping[str, Case] = Field(min_length=1)

    def takes_in(self, node: Node) -> bool:
        """Return whether it speaks of what this node does."""
        return any(nodes.takes_in(node) for nodes in self.nodes)

    def is_about(self, objective: str) -> bool:
        """Return whether it compares the losses of an objective of this name, under whatever options."""
        is_named = any(objective in nodes.params.get("objective.name", ()) for nodes in self.nodes)
        return is_named and self.difference.loss is not None and not self.stands_in

    @cached_property
    def difference(self) -> Difference:
        """The largest differences over all cases, and all values that were equal."""
        differences = [case.difference for case in self.cases.values()]

        def aggregate(name: str, function) -> Any:
            numbers = [n for n in (getattr(difference, name) for difference in differences) if n is not None]
            return function(numbers) if numbers else None

        largest = {name: aggregate(name, max) for name in ("loss", "gradient", "deviation")}
        return Difference(cases=aggregate("cases", sum), **largest)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The number formats of its cases."""
        return tuple(dict.fromkeys(case.dtype for case in self.cases.values() if case.dtype))


class UnreleasedObjective(StrictMapping):
    """An objective for which no code was released.

    Attributes:
        objective: its name, as nodes of a plan have it.
        because: what was looked at, and what stands in for a comparison.
    """

    objective: str
    because: str


def oracle(path: Path) -> Oracle:
    """Return one file of numbers. Raises ManifestError that names it."""
    try:
        return Oracle.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        reason = error.errors()[0] if isinstance(error, ValidationError) else {"loc": (), "msg": str(error)}
        location = ".".join(map(str, reason["loc"])) or "top level"
        raise ManifestError(f"{path}: {location}: {reason['msg']}") from None


@kept_with_papers
def oracles() -> dict[str, Oracle]:
    """Return every oracle of the papers at hand, and of what they share, by ``folder/name``."""
    paths = (path for folder in folders_with("oracles") for path in sorted(folder.glob("oracles/*.json")))
    return {f"{path.parent.parent.name}/{path.stem}": oracle(path) for path in paths}


@kept_with_papers
def unreleased_objectives() -> dict[str, UnreleasedObjective]:
    """Return the objectives for which nothing was released, by name."""
    entries: dict[str, UnreleasedObjective] = {}
    for folder in folders_with("oracles"):
        path = folder / "oracles" / "unreleased.yaml"
        if path.exists():
            entries |= {
                entry.objective: entry for entry in yaml_file.read(path, tuple[UnreleasedObjective, ...])
            }
    return entries


TRAININGS = ("pretrain", "finetune")


def names_of(node: Node) -> list[str]:
    """Return ``folder/name`` of the oracles that speak of what a node does."""
    return [name for name, oracle in oracles().items() if oracle.takes_in(node)]


def why_unequal(node: Node) -> str:
    """Return why a training is not equal to released code; empty where it is, and of other stages."""
    if node.stage not in TRAININGS:
        return ""
    objective = node.params["objective"]["name"]
    if any(oracle.takes_in(node) and oracle.is_about(objective) for oracle in oracles().values()):
        return ""
    if objective in unreleased_objectives():
        return f"nothing was released: {unreleased_objectives()[objective].because}"
    if any(oracle.is_about(objective) for oracle in oracles().values()):
        return "the released code has no such options"
    return "not held against released code"
