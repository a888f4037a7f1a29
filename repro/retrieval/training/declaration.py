"""Objectives as recipes declare them: a plan imports no objective, nor torch with it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from repro.errors import UsageError, check_known
from repro.graph import Node
from repro.stage_table import POSITIVE, SHARE, STAGES, check_numbers

OPTION_NUMBERS = {  # of options, and of what lies within one, which mean the same in every objective
    **dict.fromkeys(("temperature", "student_temperature", "teacher_temperature"), POSITIVE),
    **dict.fromkeys(("rate", "encoder_rate", "decoder_rate", "mask", "random"), SHARE),
}


@dataclass(frozen=True)
class Objective:
    """A training objective, declared beside the recipes that train with it.

    A fingerprint has ``name`` and ``version``. Only the path may change freely: moving a file must not
    discard a pre-training.

    Attributes:
        name, version: as the class at ``path`` has them, which is checked before it trains.
        path: of the class or function, "module:name".
        takes: the keyword parameters of the class, a blank between them: options of a recipe, and
            parameters of the stage by their own names. ``name?`` may be left out; ``name=a|b`` is one of
            these, which is checked of an option that is text.
        token_lengths: options that are lengths inside a text; a scale shrinks them as it does the text.
        vector_widths: options that count numbers of a vector; a scale shrinks them as it does the backbone.
        passes: how many there are for each token of a text under the default readings, for estimates of the
            cost of a pre-training: ``encoders``, passes through all layers; ``layers``, through one more;
            ``heads``, predictions over the vocabulary; with ``frozen_`` before it, of a model that stays;
            those that are not named are of one pass with BERT's head.
        own_parts: whether its losses may be means over parts of a size of its own
            (``repro.retrieval.training.objective.MeansOfParts``).
    """

    name: str
    version: int
    path: str
    takes: str
    token_lengths: tuple[str, ...] = ()
    vector_widths: tuple[str, ...] = ()
    passes: Mapping[str, float] = field(default_factory=dict, hash=False)
    own_parts: bool = False

    def __post_init__(self):
        _declared[self.path] = self

    @property
    def identity(self) -> dict[str, Any]:
        """The name, version and path by which a node identifies its objective."""
        return {"name": self.name, "version": self.version, "path": self.path}

    @cached_property
    def parameters(self) -> dict[str, bool]:
        """The names of what it takes, and whether one has to be given."""
        names = [word.partition("=")[0] for word in self.takes.split()]
        return {name.rstrip("?"): not name.endswith("?") for name in names}

    @cached_property
    def choices(self) -> dict[str, list[str]]:
        """The valid values of parameters that name one of a few."""
        words = [word.partition("=") for word in self.takes.split()]
        return {name.rstrip("?"): values.split("|") for name, _, values in words if values}


_declared: dict[str, Objective] = {}


def declared(identity: Mapping[str, Any]) -> Objective:
    """Return the objective that a node names, as the recipe which made the node declared it.

    Raises:
        UsageError: no recipe that was imported declares one at that path.
    """
    try:
        return _declared[identity["path"]]
    except KeyError:
        raise UsageError(f"no recipe declares an objective at {identity['path']!r}") from None


def names_in(folders: Iterable[Path]) -> frozenset[str]:
    """The names of the objectives that recipes below these folders declare, none of which is imported."""
    texts = (path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py"))
    return frozenset(name for text in texts for name in re.findall(r'\bObjective\(\s*"([^"]+)"', text))


def check_options(node: Node) -> None:
    """Refuse a training whose objective would not take its options.

    Raises:
        UsageError: there is no module of such an objective, an option of it is unknown, has no such value, or
            one is missing.
    """
    if "objective" not in node.params:
        return
    objective = declared(node.params["objective"])
    optional = {name.rstrip("?") for name in STAGES[node.stage].inputs if name.endswith("?")}
    options = {*node.params["options"], *optional & set(node.inputs)}
    _check_module(objective.path.partition(":")[0])
    if unknown := options - set(objective.parameters):
        known = _quote(objective.parameters)
        raise UsageError(f"objective {objective.name!r} takes no {_quote(unknown)}; it takes {known}")
    _check_values(objective, node.params["options"])
    available = options | set(node.params) | {"start"}
    if missing := {name for name, required in objective.parameters.items() if required} - available:
        raise UsageError(f"objective {objective.name!r} needs {_quote(missing)}; the recipe gives none")


def _check_module(name: str) -> None:
    try:
        module = find_spec(name)
    except (ModuleNotFoundError, AttributeError, ValueError):
        module = None
    if module is None:
        raise UsageError(f"there is no module {name!r} to find an objective in")


def _check_values(objective: Objective, options: Mapping[str, Any]) -> None:
    """Refuse options that name none of what the objective declares, or are no such numbers."""
    for name, valid in objective.choices.items():
        if isinstance(options.get(name), str):
            check_known(f"{name} of objective {objective.name!r}", options[name], valid=valid)
    for values in (options, *(value for value in options.values() if isinstance(value, Mapping))):
        check_numbers({k: v for k, v in values.items() if not isinstance(v, Mapping)}, OPTION_NUMBERS)
        if values.keys() >= {"mask", "random"} and values["mask"] + values["random"] > 1:
            shares = f"mask is {values['mask']!r} and random is {values['random']!r}"
            raise UsageError(f"{shares}, shares of the masked tokens; together they have to be 1 at most")


def _quote(names: Iterable[str]) -> str:
    return ", ".join(map(repr, sorted(names)))
