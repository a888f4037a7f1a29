"""Scales: the same graph at other costs. A scale rewrites a finished graph; no recipe knows of it."""

import functools
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from repro import recipe
from repro.datasets.catalog import catalog
from repro.datasets.catalog import dataset as catalogued
from repro.errors import check_known
from repro.graph import Node, rewrite
from repro.manifest import yaml_file
from repro.manifest.papers import Paper, papers
from repro.manifest.yaml_file import Strict
from repro.recipe import Objective, Optimisation
from repro.stage_table import STAGES
from repro.training.declaration import declaration

# Of a backbone trained from scratch: BERT's masking, and what else the objective asks for.
MASKING = {"rate": 0.15, "mask": 0.8, "random": 0.1}
OBJECTIVES = {
    "mlm": (Objective("mlm", 1, "repro.nn.mlm:MaskedLanguageModel"), {"reduction": "mean"}),
    "neighbours": (
        Objective("neighbours", 1, "repro.nn.neighbours:NeighbouringSentences"),
        {"sentence_end": "."},
    ),
}
HIDDEN_SIZE = 768  # of the papers' backbones
# Anserini's tuned parameters for MS MARCO passages
OFFICIAL_BM25 = {"k1": 0.82, "b": 0.68, "multifield": False}


class _Backbone(Strict):
    objective: Literal["mlm", "neighbours"] = "mlm"
    corpus: str
    vocabulary: int
    initialise: dict[str, int | float]
    pretrain: dict[str, float]


class _Rate(Strict):
    factor: float
    most: float


class _Objective(Strict):
    steps: int | None = None
    replace: dict[str, int] = Field(default_factory=dict)
    learning_rate: _Rate | None = None


class _Additions(Strict):
    objectives: dict[str, _Objective] = Field(default_factory=dict)


class _Facts(_Additions):
    about: str
    like: str | None = None
    caps: dict[str, int] = Field(default_factory=dict)
    replace: dict[str, str | int] = Field(default_factory=dict)
    steps: dict[str, int] = Field(default_factory=dict)
    learning_rate: dict[str, _Rate] = Field(default_factory=dict)
    backbone: _Backbone | None = None


@dataclass(frozen=True)
class Scale:
    """A named rewriting of graphs.

    Attributes:
        name: full, small, tiny, or a variation of one.
        facts: what scales.yaml says of it, with what it takes over from the scale it is ``like``.
    """

    name: str
    facts: _Facts

    @property
    def compares_with_paper(self) -> bool:
        """Only full does: other scales measure other things."""
        return self.name == "full"

    def rewriter(self) -> Callable[[Node], Node]:
        """A function on graphs; nodes shared between the graphs given to it stay shared."""
        done: dict[int, tuple[Node, Node]] = {}
        change = _at_full if self.name == "full" else self._change
        return lambda node: rewrite(node, change, done)

    def dataset(self, identifier: str) -> str:
        """The dataset that stands in for ``identifier`` at this scale."""
        if self.name == "full":
            return identifier
        at, like = catalogued(identifier).at, self.facts.like or self.name
        return at.get(self.name) or at.get(like, f"{like}/{identifier}")

    def _change(self, node: Node) -> Node:
        if node.stage == "backbone":
            blank = node.params.get("weights") == "random"
            return self.random_backbone if blank else node.inputs.get("stand_in", self._backbone)
        if node.stage == "released" and "stand_in" in node.inputs:
            return node.inputs["stand_in"]
        if node.stage in ("official_negatives", "listed_negatives"):
            return self._negatives(node)
        if node.stage == "judged_examples":
            return self._examples(node)
        return Node(node.stage, self._params(node), node.inputs)

    def _params(self, node: Node) -> dict[str, Any]:
        params = {name: self._value(name, value) for name, value in node.params.items()}
        if "dataset" in params:
            stand_in = self.dataset(params["dataset"])
            params["dataset"] = _corpus(stand_in) if node.stage == "corpus" else stand_in
        if "objective" in params:
            params |= self._training(node.stage, params["objective"]["name"])
        rate = self._rate(node)
        if rate and "learning_rate" in params:
            params["learning_rate"] = min(params["learning_rate"] * rate.factor, rate.most)
        if "objective" in params:
            params["options"] = self._options(node, params)
        if self.facts.backbone:
            params = _shrunk(params, STAGES[node.stage].widths, self._narrowing)
        return params

    @property
    def _narrowing(self) -> float:
        """The width of this scale's backbone, over that of the papers'."""
        return self.facts.backbone.initialise["hidden_size"] / HIDDEN_SIZE

    def _options(self, node: Node, params: Mapping[str, Any]) -> dict[str, Any]:
        """An objective's options; the sizes that it declares shrink with the backbone and with the text."""
        declared, options = declaration(node.params["objective"]["path"]), params["options"]
        if self.facts.backbone:
            options = _shrunk(options, declared.vector_widths, self._narrowing)
        if "length" in params:
            options = _shrunk(options, declared.token_lengths, params["length"] / node.params["length"])
        return options

    def _training(self, stage: str, objective: str) -> dict[str, Any]:
        """The settings that an objective is trained with, whatever its paper says."""
        stated = self.facts.objectives.get(objective, _Objective())
        steps = stated.steps or self.facts.steps.get(stage)
        return stated.replace | ({"epochs": None, "max_steps": steps} if steps else {})

    def _rate(self, node: Node) -> _Rate | None:
        stated = self.facts.objectives.get(node.params.get("objective", {}).get("name"), _Objective())
        return stated.learning_rate or self.facts.learning_rate.get(node.stage)

    def _value(self, name: str, value: Any) -> Any:
        if name in self.facts.caps and not isinstance(value, list):
            cap = self.facts.caps[name]
            return cap if value is None else min(value, cap)
        return self.facts.replace.get(name, value)

    @functools.cached_property
    def random_backbone(self) -> Node:
        """A BERT of this scale with random weights, over the vocabulary of this scale's text."""
        facts = self.facts.backbone
        vocabulary = Node("vocabulary", {"size": facts.vocabulary}, {"corpus": recipe.corpus(facts.corpus)})
        return Node("initialise", dict(facts.initialise), {"tokenizer": vocabulary})

    @functools.cached_property
    def _backbone(self) -> Node:
        """A BERT of this scale, trained on this scale's text."""
        facts, blank = self.facts.backbone, self.random_backbone
        text = recipe.corpus(facts.corpus)
        length = int(facts.pretrain["length"])
        how = {"length": length, "policy": "chunk", "titles": True, "separator": " "}
        tokens = Node("tokenize", how, {"corpus": text, "model": blank})
        optimisation = Optimisation(
            batch_size=int(facts.pretrain["texts_per_batch"]),
            max_steps=int(facts.pretrain["max_steps"]),
            learning_rate=facts.pretrain["learning_rate"],
            warmup_ratio=0.1,
            schedule="linear",
            weight_decay=0.01,
            max_grad_norm=1.0,
            precision="fp32",
            seed=facts.initialise["seed"],
        )
        objective, options = OBJECTIVES[facts.objective]
        options = {"masking": MASKING} | options
        return recipe.pretrain(tokens, objective=objective, options=options, optimisation=optimisation)

    def _negatives(self, node: Node) -> Node:
        """BM25 negatives mined from this scale's collection, in place of a distributed file."""
        topics, depth = self.dataset(node.params["dataset"]), self.facts.caps["depth"]
        per_query, seed = self._value("per_query", node.params.get("per_query")), node.params.get("seed", 0)
        run = self._bm25(topics)
        return recipe.mine(run, recipe.qrels(topics), depth=depth, per_query=per_query, seed=seed)

    def _examples(self, node: Node) -> Node:
        """Hard negatives of questions by BM25 and their answers: the stand-ins' judgements name none."""
        topics, depth = self.dataset(node.params["dataset"]), self.facts.caps["depth"]
        return recipe.mine_answers(
            self._bm25(topics),
            recipe.qrels(topics),
            documents=recipe.corpus(_corpus(topics)),
            topics=recipe.queries(topics),
            depth=depth,
            per_query=self._value("per_query", depth),
            seed=0,
            extra_positives=False,
        )

    def _bm25(self, topics: str) -> Node:
        """The ranking of this scale's collection that negatives are taken from."""
        documents, depth = recipe.corpus(_corpus(topics)), self.facts.caps["depth"]
        return recipe.bm25(documents, recipe.queries(topics), **OFFICIAL_BM25, depth=depth)


def _at_full(node: Node) -> Node:
    """The graph as the recipe made it, without what would stand in for a released checkpoint."""
    if "stand_in" not in node.inputs:
        return node
    return Node(node.stage, node.params, {k: v for k, v in node.inputs.items() if k != "stand_in"})


def _corpus(identifier: str) -> str:
    """The collection of a stand-in; a name no catalogue has stays, and is reported as missing."""
    entry = catalog().get(identifier)
    return entry.corpus_id if entry else identifier


def _shrunk(values: Mapping[str, Any], names: Collection[str], ratio: float) -> dict[str, Any]:
    """The values with those of some names in proportion."""
    return {name: _scaled(value, ratio) if name in names else value for name, value in values.items()}


def _scaled(value: Any, ratio: float) -> Any:
    """Every number of a value in proportion, at least 1; what is no number stays."""
    if isinstance(value, Mapping):
        return {k: _scaled(v, ratio) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_scaled(v, ratio) for v in value]
    return max(1, round(value * ratio)) if isinstance(value, (int, float)) else value


@functools.cache
def scales() -> dict[str, Scale]:
    """Every scale of scales.yaml by name, with what papers say there of their own objectives."""
    facts = yaml_file.read(Path(__file__).with_name("scales.yaml"), dict[str, _Facts])
    for source in papers().values():
        for name, additions in _additions(source, facts).items():
            objectives = facts[name].objectives | additions.objectives
            facts[name] = facts[name].model_copy(update={"objectives": objectives})
    return {name: Scale(name, _inherited(fact, facts)) for name, fact in facts.items()}


def _additions(source: Paper, facts: Mapping[str, _Facts]) -> dict[str, _Additions]:
    """The scales.yaml of a paper. Raises ManifestError for an unknown scale or a known objective."""
    path = source.folder / "scales.yaml"
    if not path.exists():
        return {}

    def faults(content: dict[str, _Additions]) -> Iterator[yaml_file.Fault]:
        for name, additions in content.items():
            if name not in facts:
                yield (name,), f"{name!r} is no scale ({', '.join(facts)})"
            for objective in additions.objectives:
                if name in facts and objective in facts[name].objectives:
                    yield (name, "objectives", objective), f"{objective!r} is stated elsewhere at {name}"

    return yaml_file.read(path, dict[str, _Additions], faults=faults)


def _inherited(fact: _Facts, facts: Mapping[str, _Facts]) -> _Facts:
    """A variation: everything of the scale it is like, with its own entries over those."""
    if fact.like is None:
        return fact
    like = facts[fact.like]
    tables = ("caps", "replace", "steps", "learning_rate", "objectives")
    merged = {name: {**getattr(like, name), **getattr(fact, name)} for name in tables}
    return fact.model_copy(update={**merged, "backbone": fact.backbone or like.backbone})


def scale(name: str) -> Scale:
    """The scale of that name. Raises UsageError naming the right ones."""
    check_known("scale", name, valid=scales())
    return scales()[name]
