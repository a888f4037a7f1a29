"""The facts of scales as YAML states them: the suite's own, and what papers add to them."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator, model_validator

from repro.graph import canonical
from repro.manifest import yaml_file
from repro.manifest.papers import Paper, papers
from repro.manifest.yaml_file import StrictMapping
from repro.training.declaration import names_in

Count = Annotated[int, Field(gt=0)]
Rate = Annotated[float, Field(gt=0)]


class Architecture(StrictMapping):
    """A BERT of a size of its own; the parameters of ``repro.recipe.initialise``."""

    hidden_size: Count
    layers: Count
    heads: Count
    intermediate_size: Count
    max_positions: Count
    dropout: int | float
    deviation: int | float
    seed: int


class BackboneTraining(StrictMapping):
    """The training of a backbone on texts of so many tokens."""

    max_steps: Count
    texts_per_batch: Count
    learning_rate: Rate
    length: Count


class Backbone(StrictMapping):
    """A backbone that is trained at the scale, in place of the papers' checkpoints."""

    objective: Literal["mlm", "neighbours"] = "mlm"
    corpus: str
    vocabulary: Count
    initialise: Architecture
    pretrain: BackboneTraining


class RateFactor(StrictMapping):
    """A learning rate's factor, and the most that may come of it."""

    factor: Rate
    most: Rate


class Proportion(StrictMapping):
    """So many ``steps`` for ``of`` that a recipe states, and others in proportion.

    A training whose recipe states epochs alone has ``steps``.
    """

    steps: Count
    of: Count

    def of_recipe(self, stated: int | None) -> int:
        """The steps in place of those that a recipe states."""
        return self.steps if stated is None else max(1, round(self.steps * stated / self.of))


class ObjectiveSettings(StrictMapping):
    """The settings of one objective at a scale, in place of those of the objective's stage."""

    steps: Count | None = None
    replace: dict[str, int] = Field(default_factory=dict)
    learning_rate: RateFactor | None = None


class RowCounts(StrictMapping):
    """The number of rows that are taken from each source; None takes all.

    Attributes:
        documents: of each collection, and of each part of one.
        queries: of each split.
        triples: rows of the official negatives, of which there are many for each query.
        negatives: queries of a file of negatives that several retrievers found.
    """

    documents: Count | None = None
    queries: Count | None = None
    triples: Count | None = None
    negatives: Count | None = None


class _Additions(StrictMapping):
    objectives: dict[str, ObjectiveSettings] = Field(default_factory=dict)


def _validate_steps(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    try:
        return handler(value)
    except ValidationError:
        example = "{pretrain: 400} or {pretrain: {steps: 400, of: 60000}}"
        raise ValueError(f"steps are a number above 0, or by stage as in {example}") from None


Steps = Annotated[dict[str, Count | Proportion] | Count, WrapValidator(_validate_steps)]


class ScaleFacts(_Additions):
    """Everything that is said of a scale; ``scales.yaml`` tells what each entry does."""

    about: str
    like: str | None = None
    first: RowCounts = RowCounts()
    caps: dict[str, int] = Field(default_factory=dict)
    replace: dict[str, str | int | None] = Field(default_factory=dict)
    without_gpu: dict[str, str] = Field(default_factory=dict)
    steps: Steps = Field(default_factory=dict)
    learning_rate: dict[str, RateFactor] = Field(default_factory=dict)
    backbone: Backbone | None = None
    keeps_lengths: bool | None = None
    named_only: bool | None = None

    @model_validator(mode="after")
    def _no_parameter_is_capped_and_replaced(self):
        if duplicates := self.caps.keys() & self.replace.keys():
            raise ValueError(
                f"{min(duplicates)!r} stands under caps and under replace; leave it in one of them"
            )
        return self

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits over all that is said but ``about``."""
        content = canonical(self.model_dump(exclude={"about"}, exclude_defaults=True))
        return hashlib.sha256(content.encode()).hexdigest()[:12]


TABLES = ("caps", "replace", "without_gpu", "learning_rate", "objectives")


def built_in() -> dict[str, ScaleFacts]:
    """The scales of scales.yaml by name, with what papers say there of their own objectives.

    What a scale takes over from the one it is ``like`` is not yet in it.
    """
    facts = yaml_file.read(Path(__file__).with_name("scales.yaml"), dict[str, ScaleFacts])
    for source in papers().values():
        for name, additions in _additions(source, facts).items():
            objectives = facts[name].objectives | additions.objectives
            facts[name] = facts[name].model_copy(update={"objectives": objectives})
    return facts


def lineage(name: str, facts: Mapping[str, ScaleFacts]) -> tuple[str, ...]:
    """The scale's name, then that of the scale it is like, and so on."""
    like = facts[name].like
    return (name,) if like is None else (name, *lineage(like, facts))


def inherit_facts(name: str, facts: Mapping[str, ScaleFacts]) -> ScaleFacts:
    """A variation: everything of the scale it is like, with its own entries over those."""
    child = facts[name]
    if child.like is None:
        return child
    parent = inherit_facts(child.like, facts)
    merged: dict[str, Any] = {table: {**getattr(parent, table), **getattr(child, table)} for table in TABLES}
    for table, other in (("caps", child.replace), ("replace", child.caps), ("without_gpu", child.replace)):
        entries = getattr(child, table)
        merged[table] = {name: v for name, v in merged[table].items() if name in entries or name not in other}
    merged["first"] = parent.first.model_copy(update=child.first.model_dump(exclude_unset=True))
    merged["steps"] = _merge_steps(parent.steps, child.steps)
    merged["backbone"] = child.backbone or parent.backbone
    for switch in ("keeps_lengths", "named_only"):
        own = getattr(child, switch)
        merged[switch] = getattr(parent, switch) if own is None else own
    return child.model_copy(update=merged)


def _merge_steps(parent: Steps, child: Steps) -> Steps:
    if isinstance(child, dict) and isinstance(parent, dict):
        return {**parent, **child}
    return child or parent


def _additions(source: Paper, facts: Mapping[str, ScaleFacts]) -> dict[str, _Additions]:
    """The scales.yaml of a paper. Raises ManifestError for an unknown scale or a known objective."""
    path = source.folder / "scales.yaml"
    if not path.exists():
        return {}

    def faults(content: dict[str, _Additions]) -> Iterator[yaml_file.Fault]:
        for name, additions in content.items():
            if name not in facts:
                yield (name,), f"{name!r} is no scale ({', '.join(facts)})"
            for objective in additions.objectives:
                location = (name, "objectives", objective)
                if name in facts and objective in facts[name].objectives:
                    yield location, f"{objective!r} is stated elsewhere at {name}"
                elif objective not in names_in((source.folder,)):
                    yield location, f"this paper's folder has no objective {objective!r}"

    return yaml_file.read(path, dict[str, _Additions], faults=faults)
