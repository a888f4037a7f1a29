"""The settings of scales in YAML, also those added by papers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator, model_validator

from repro.graph import Node, digest_of, walk
from repro.manifest import yaml_file
from repro.manifest.papers import Paper, papers
from repro.manifest.yaml_file import StrictMapping
from repro.retrieval import recipe
from repro.retrieval.datasets.catalog import dataset as catalogued
from repro.retrieval.training.declaration import names_in

Count = Annotated[int, Field(gt=0)]
Rate = Annotated[float, Field(gt=0)]


class Architecture(StrictMapping):
    """The sizes of a BERT, the parameters of ``repro.retrieval.recipe.initialise``."""

    hidden_size: Count
    layers: Count
    heads: Count
    intermediate_size: Count
    max_positions: Count
    dropout: int | float
    deviation: int | float
    seed: int

    @model_validator(mode="after")
    def _heads_are_equal(self):
        if self.hidden_size % self.heads:
            raise ValueError(f"hidden_size {self.hidden_size} is not a multiple of heads {self.heads}")
        return self


class BackboneTraining(StrictMapping):
    max_steps: Count
    texts_per_batch: Count
    learning_rate: Rate
    length: Count


class Backbone(StrictMapping):
    """The settings of a backbone that is trained from scratch and replaces the papers' checkpoints."""

    objective: Literal["mlm", "neighbours"] = "mlm"
    corpus: str
    vocabulary: Count
    initialise: Architecture
    pretrain: BackboneTraining


class RateFactor(StrictMapping):
    """``factor`` multiplies the learning rate, up to ``most``."""

    factor: Rate
    most: Rate


class Proportion(StrictMapping):
    """``steps`` that replace ``of`` steps in a recipe, e.g. 400 of 60,000."""

    steps: Count
    of: Count

    def of_recipe(self, stated: int | None) -> int:
        """Return the steps in proportion to the ``stated`` ones, or ``steps`` without any."""
        return self.steps if stated is None else max(1, round(self.steps * stated / self.of))


class ObjectiveSettings(StrictMapping):
    """Settings of a scale for one objective, which override those for its stage."""

    steps: Count | None = None
    replace: dict[str, int] = Field(default_factory=dict)
    learning_rate: RateFactor | None = None


class RowCounts(StrictMapping):
    """The number of rows to read of each source. None for all.

    ``documents`` are those of each part of a collection. ``negatives`` counts queries.
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
    """The settings of a scale, documented in ``scales.yaml``."""

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
            raise ValueError(f"{min(duplicates)!r} is in caps and in replace, remove one of the two")
        return self

    @property
    def digest(self) -> str:
        """Twelve digits over all settings except ``about``."""
        return digest_of(self.model_dump(exclude={"about"}, exclude_defaults=True))[:12]


TABLES = ("caps", "replace", "without_gpu", "learning_rate", "objectives")


def built_in() -> dict[str, ScaleFacts]:
    """Return the scales of scales.yaml, without inherited settings."""
    facts = yaml_file.read(Path(__file__).with_name("scales.yaml"), dict[str, ScaleFacts])
    for source in papers().values():
        for name, additions in _additions(source, facts).items():
            objectives = facts[name].objectives | additions.objectives
            facts[name] = facts[name].model_copy(update={"objectives": objectives})
    return facts


def lineage(name: str, facts: Mapping[str, ScaleFacts]) -> tuple[str, ...]:
    """Return the names of a scale, of the scale that it is like, and so on."""
    like = facts[name].like
    return (name,) if like is None else (name, *lineage(like, facts))


def inherit_facts(name: str, facts: Mapping[str, ScaleFacts]) -> ScaleFacts:
    """Return a scale's settings with those inherited from the scale that it is like."""
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
    path = source.folder / "scales.yaml"
    if not path.exists():
        return {}

    def faults(content: dict[str, _Additions]) -> Iterator[yaml_file.Fault]:
        for name, additions in content.items():
            if name not in facts:
                yield (name,), f"{name!r} is not a scale ({', '.join(facts)})"
            for objective in additions.objectives:
                location = (name, "objectives", objective)
                if name in facts and objective in facts[name].objectives:
                    yield location, f"{objective!r} is stated elsewhere at {name}"
                elif objective not in names_in((source.folder,)):
                    yield location, f"this paper's folder has no objective {objective!r}"

    return yaml_file.read(path, dict[str, _Additions], faults=faults)


@dataclass(frozen=True)
class RowLimits:
    """Limits on the number of rows of each source of a graph.

    Judgements and negatives that name other rows get first rows in place of them.
    """

    first: RowCounts
    corpora: tuple[Node, ...] = ()

    @classmethod
    def of(cls, first: RowCounts, graph: Node) -> "RowLimits":
        if first == RowCounts():
            return cls(first)
        return cls(first, tuple(node for node in walk([graph]) if node.stage == "corpus"))

    def taken(self, node: Node) -> Node:
        """Return the node, limited to its first rows if it reads a source."""
        if node.stage in ("corpus", "queries"):
            is_corpus = node.stage == "corpus"
            return _limit_rows(node, self.first.documents if is_corpus else self.first.queries)
        if node.stage == "qrels":
            answers = catalogued(node.params["dataset"]).judgements == "answers"
            return node if answers else self._naming_first(node, node.params["dataset"])
        if node.stage in ("official_negatives", "listed_negatives"):
            rows = self.first.triples if node.stage == "official_negatives" else self.first.negatives
            topics = catalogued(node.params["dataset"]).queries_of
            return self._naming_first(_limit_rows(node, rows), topics)
        return node

    def _naming_first(self, node: Node, topics: str | None) -> Node:
        inputs = dict(node.inputs)
        if self.first.queries is not None and topics:
            inputs["queries"] = self.taken(Node("queries", {"dataset": topics}))
        if self.first.documents is not None:
            inputs["corpus"] = self.taken(self._corpus(catalogued(node.params["dataset"]).corpus_id))
        return Node(node.stage, node.params, inputs)

    def _corpus(self, identifier: str) -> Node:
        exact = [node for node in self.corpora if node.params["dataset"] == identifier]
        variants = [node for node in self.corpora if node.params["dataset"].startswith(f"{identifier}/")]
        return next(iter(exact + variants), Node("corpus", {"dataset": identifier}))


def _limit_rows(node: Node, rows: int | None) -> Node:
    return node if rows is None else Node(node.stage, {**node.params, "first": rows}, node.inputs)


MASKING = {"rate": 0.15, "mask": 0.8, "random": 0.1}  # BERT's
OBJECTIVES = {
    "mlm": (recipe.MLM, {"reduction": "mean"}),
    "neighbours": (recipe.NEIGHBOURS, {"sentence_end": "."}),
}


def random_backbone(facts: Backbone) -> Node:
    vocabulary = Node("vocabulary", {"size": facts.vocabulary}, {"corpus": recipe.corpus(facts.corpus)})
    return Node("initialise", facts.initialise.model_dump(), {"tokenizer": vocabulary})


def drawn_anew(blank: Node, seed: int, layers: int | None) -> Node:
    changes = {"seed": seed} | ({} if layers is None else {"layers": layers})
    return Node(blank.stage, {**blank.params, **changes}, blank.inputs)


def trained_backbone(facts: Backbone, blank: Node) -> Node:
    length = facts.pretrain.length
    params = {"length": length, "policy": "chunk", "titles": True, "separator": " "}
    tokens = Node("tokenize", params, {"corpus": recipe.corpus(facts.corpus), "model": blank})
    training = facts.pretrain
    optimisation = recipe.Optimisation(
        batch_size=training.texts_per_batch,
        max_steps=training.max_steps,
        learning_rate=training.learning_rate,
        warmup_ratio=0.1,
        schedule="linear",
        weight_decay=0.01,
        max_grad_norm=1.0,
        precision="fp32",
        seed=facts.initialise.seed,
    )
    objective, others = OBJECTIVES[facts.objective]
    options = {"masking": MASKING, **others}
    return recipe.pretrain(tokens, objective=objective, options=options, optimisation=optimisation)
