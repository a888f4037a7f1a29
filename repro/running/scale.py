"""Scales, e.g. "tiny". A scale rewrites finished graphs to change their cost."""

import contextlib
import functools
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.errors import UsageError, check_known, unknown
from repro.graph import Node, rewrite
from repro.manifest import yaml_file
from repro.manifest.papers import kept_with_papers, papers
from repro.manifest.yaml_file import Fault
from repro.retrieval import recipe
from repro.retrieval.datasets.catalog import catalog, highest_grade
from repro.retrieval.datasets.catalog import dataset as catalogued
from repro.retrieval.evaluation.measures import is_defined
from repro.retrieval.training.declaration import declared, names_in
from repro.running import scale_facts
from repro.running.scale_facts import ObjectiveSettings, ScaleFacts
from repro.stage_table import NUMBERS, STAGES, TRAININGS, check_numbers

if TYPE_CHECKING:
    from repro.progress import Progress

NAME = re.compile(r"[a-z][a-z0-9-]*")
OF_PARAMETERS, OF_STAGES = ("caps", "replace", "without_gpu"), ("steps", "learning_rate")
HIDDEN_SIZE = 768  # of the papers' backbones


@dataclass(frozen=True)
class Scale:
    """A named rewriting of graphs, e.g. "tiny".

    ``lineage`` is its own name and those of the scales it inherits from. ``facts`` include theirs.
    """

    name: str
    facts: ScaleFacts
    lineage: tuple[str, ...] = ()
    by_user: bool = False

    @property
    def compares_with_paper(self) -> bool:
        return self.name == "full"

    @property
    def pins_kernels(self) -> bool:
        """Whether kernels are pinned: not at full, and not if it reads only first rows."""
        return self.name != "full" and self.facts.first == scale_facts.RowCounts()

    def pin_kernels(self, progress: "Progress") -> None:
        """Pin kernels for equal bits on every processor (1.5 times slower)."""
        if self.pins_kernels:
            from repro.machine import kernels

            kernels.pin(progress)

    @property
    def whole(self) -> str:
        """The name of the nearest built-in scale in ``lineage`` that reads all rows."""
        own, whole = scales(), scale_facts.RowCounts()
        return next((name for name in self.lineage if name in own and own[name].facts.first == whole), "full")

    @property
    def has_originals(self) -> bool:
        """Whether it uses the papers' data and checkpoints."""
        return self.facts.backbone is None

    @property
    def digest(self) -> str:
        """The digest of a user's scale, otherwise ""."""
        return self.facts.digest if self.by_user else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on settings that differ on this machine."""
        if not self.facts.without_gpu or _gpus():
            return ()
        settings = ", ".join(f"{name} {value}" for name, value in self.facts.without_gpu.items())
        return (f"this machine has no GPU, so all stages run at {settings}",)

    def rewriter(self) -> Callable[[Node], Node]:
        """Return a function that rewrites a graph for this scale. Shared nodes stay shared."""
        cache: dict[int, tuple[Node, Node]] = {}
        if not self.has_originals:
            return lambda node: rewrite(node, self._stood_for, cache)

        def rewrite_node(node: Node) -> Node:
            limits = scale_facts.RowLimits.of(self.facts.first, node)
            return rewrite(node, lambda each: limits.taken(self._at_own_costs(each)), cache)

        return rewrite_node

    def dataset(self, identifier: str) -> str:
        """Return the dataset that replaces another, e.g. "tiny/passage/dev", or that one if none does."""
        if self.has_originals:
            return identifier
        stand_ins, lineage = catalogued(identifier).at, self.lineage or (self.name,)
        return next((stand_ins[name] for name in lineage if name in stand_ins), f"{lineage[-1]}/{identifier}")

    def undefined(self, measure: str, identifier: str) -> str:
        """Return why the dataset that replaces ``identifier`` has no such measure, or ""."""
        if self.has_originals:
            return ""
        stand_in = self.dataset(identifier)
        if is_defined(measure, highest_grade(stand_in)):
            return ""
        return f"{stand_in}, the stand-in for {identifier}, has no grade that {measure} counts as relevant"

    def _at_own_costs(self, node: Node) -> Node:
        check_numbers(node.params)
        inputs = {name: value for name, value in node.inputs.items() if name != "stand_in"}
        params = self._params(node)
        return node if (params, inputs) == (node.params, node.inputs) else Node(node.stage, params, inputs)

    def _stood_for(self, node: Node) -> Node:
        check_numbers(node.params)
        if node.stage == "backbone":
            if node.params.get("weights") == "random":
                return scale_facts.drawn_anew(self._blank, node.params["seed"], node.params.get("layers"))
            return node.input("stand_in") if "stand_in" in node.inputs else self._backbone
        if node.stage == "released" and "stand_in" in node.inputs:
            return node.input("stand_in")
        makers = {
            "official_negatives": self._negatives,
            "listed_negatives": self._negatives,
            "judged_examples": self._examples,
            "evaluate": self._evaluation,
        }
        make = makers.get(node.stage)
        return make(node) if make else Node(node.stage, self._params(node), node.inputs)

    def _evaluation(self, node: Node) -> Node:
        judged = node.input("qrels").params["dataset"]
        measures = [name for name in node.params["measures"] if is_defined(name, highest_grade(judged))]
        return Node(node.stage, {**node.params, "measures": measures}, node.inputs)

    def _params(self, node: Node) -> dict[str, Any]:
        params = dict(node.params)
        for name in params.keys() & self._parameter_names:
            params[name] = self._value(name, params[name])
        if "length" in params and params.get("kind") == "passages":
            params["length"] = self._value("passage_length", node.params["length"])
        if "dataset" in params and not self.has_originals:
            stand_in = self.dataset(params["dataset"])
            params["dataset"] = _corpus(stand_in) if node.stage == "corpus" else stand_in
        if "objective" in params:
            params |= self._training(node, params)
            params["options"] = self._options(node, params)
        rate = self._rate(node)
        if rate and "learning_rate" in params:
            params["learning_rate"] = min(params["learning_rate"] * rate.factor, rate.most)
        return self._narrow(params, STAGES[node.stage].widths) if self.facts.backbone else params

    @functools.cached_property
    def _parameter_names(self) -> frozenset[str]:
        return frozenset({*self.facts.caps, *self.facts.without_gpu, *self.facts.replace})

    @property
    def _stand_in(self) -> scale_facts.Backbone:
        assert self.facts.backbone, self.name
        return self.facts.backbone

    def _narrow(self, values: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
        return _shrink(values, names, self._stand_in.initialise.hidden_size / HIDDEN_SIZE)

    def _options(self, node: Node, params: Mapping[str, Any]) -> dict[str, Any]:
        objective, options = declared(node.params["objective"]), params["options"]
        if self.facts.backbone:
            options = self._narrow(options, objective.vector_widths)
        is_shorter = "length" in params and params["length"] != node.params["length"]
        if is_shorter and not self.facts.keeps_lengths:
            options = _shrink(options, objective.token_lengths, params["length"] / node.params["length"])
        return options

    def _training(self, node: Node, params: Mapping[str, Any]) -> dict[str, Any]:
        name = params["objective"]["name"]
        settings = self.facts.objectives.get(name, ObjectiveSettings())
        check_known(f"parameter of {name} for scale {self.name} to replace", *settings.replace, valid=params)
        stage_steps = self.facts.steps
        if isinstance(stage_steps, int):
            cap = min(settings.steps or stage_steps, params["max_steps"] or stage_steps)
            return settings.replace | {"max_steps": cap}
        steps = settings.steps or stage_steps.get(node.stage)
        if isinstance(steps, scale_facts.Proportion):
            steps = steps.of_recipe(node.params["max_steps"])
        return settings.replace | ({"epochs": None, "max_steps": steps} if steps else {})

    def _rate(self, node: Node) -> scale_facts.RateFactor | None:
        name = node.params.get("objective", {}).get("name")
        settings = self.facts.objectives.get(name, ObjectiveSettings())
        return settings.learning_rate or self.facts.learning_rate.get(node.stage)

    def _value(self, name: str, value: Any) -> Any:
        if name in self.facts.caps and not isinstance(value, list):
            cap = self.facts.caps[name]
            return cap if value is None else min(value, cap)
        if name in self.facts.without_gpu and not _gpus():
            return self.facts.without_gpu[name]
        return self.facts.replace.get(name, value)

    @functools.cached_property
    def _blank(self) -> Node:
        return scale_facts.random_backbone(self._stand_in)

    @functools.cached_property
    def _backbone(self) -> Node:
        return scale_facts.trained_backbone(self._stand_in, self._blank)

    def _negatives(self, node: Node) -> Node:
        topics, depth = self.dataset(node.params["dataset"]), self.facts.caps["depth"]
        per_query, seed = self._value("per_query", node.params.get("per_query")), node.params.get("seed", 0)
        run = self._bm25(topics)
        return recipe.mine(run, recipe.qrels(topics), depth=depth, per_query=per_query, seed=seed)

    def _examples(self, node: Node) -> Node:
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
        documents, depth = recipe.corpus(_corpus(topics)), self.facts.caps["depth"]
        return recipe.bm25(documents, recipe.queries(topics), k1=0.82, b=0.68, multifield=False, depth=depth)


def _corpus(identifier: str) -> str:
    entry = catalog().get(identifier)
    return entry.corpus_id if entry else identifier


def _shrink(values: Mapping[str, Any], names: Collection[str], ratio: float) -> dict[str, Any]:
    return {name: _shrink_value(value, ratio) if name in names else value for name, value in values.items()}


def _shrink_value(value: Any, ratio: float) -> Any:
    if isinstance(value, Mapping):
        return {k: _shrink_value(v, ratio) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shrink_value(v, ratio) for v in value]
    return max(1, round(value * ratio)) if isinstance(value, (int, float)) else value


@kept_with_papers
def scales() -> dict[str, Scale]:
    facts = scale_facts.built_in()
    return {name: _scale(name, facts) for name in facts}


def user_scale(file: str | Path) -> Scale:
    """Return the scale of a user's file.

    Raises ManifestError for invalid content, UsageError for several scales.

    Example:
        >>> repro.select("PAPER/1", scale=repro.user_scale("my-scale.yaml"))
    """
    built_in = scale_facts.built_in()

    def faults(content: dict[str, ScaleFacts]) -> Iterator[Fault]:
        for name, facts in content.items():
            others = (*_mixture_faults(facts, built_in), *_name_faults(facts, built_in))
            for place, reason in (*_own_faults(name, facts, built_in), *others):
                yield (name, *place), reason

    content = yaml_file.read(Path(file), dict[str, ScaleFacts], faults=faults)
    if len(content) != 1:
        described_names = ", ".join(content) or "none"
        raise UsageError(f"{file} describes {len(content)} scales ({described_names}) instead of one")
    [name] = content
    return _scale(name, built_in | content, by_user=True)


def _own_faults(name: str, facts: ScaleFacts, built_in: Mapping[str, ScaleFacts]) -> Iterator[Fault]:
    if not NAME.fullmatch(name):
        yield (), f"{name!r} is not a valid scale name (small letters, digits and hyphens, e.g. my-scale)"
    if name in built_in:
        yield (), f"{name!r} is a built-in scale, choose another name"
    if facts.like is not None and facts.like not in built_in:
        yield ("like",), f"{facts.like!r} is not a scale ({', '.join(built_in)})"


def _mixture_faults(facts: ScaleFacts, built_in: Mapping[str, ScaleFacts]) -> Iterator[Fault]:
    like = facts.like or "full"
    has_stand_ins = like in built_in and scale_facts.inherit_facts(like, built_in).backbone is not None
    if facts.backbone and not has_stand_ins:
        yield ("backbone",), "the papers' data need their checkpoints. Remove this key or use like: tiny."
    if has_stand_ins and facts.first != scale_facts.RowCounts():
        yield ("first",), f"{like} does not use the papers' data. Remove this key or use like: full."


def _name_faults(facts: ScaleFacts, built_in: Mapping[str, ScaleFacts]) -> Iterator[Fault]:
    scale_tables = [getattr(scale, table) for scale in built_in.values() for table in OF_PARAMETERS]
    parameters = sorted(parameter_names().union(*scale_tables))
    suite_caps = (scale.caps for scale in built_in.values())
    counts = sorted({name for name, numbers in NUMBERS.items() if numbers.is_whole}.union(*suite_caps))
    folders = (Path(recipe.__file__).parent, *{paper.folder.parent for paper in papers().values()})
    for table, kind, valid in (
        *((table, "training", TRAININGS) for table in OF_STAGES),
        ("caps", "number to cap", counts),
        ("replace", "parameter", parameters),
        ("without_gpu", "parameter", parameters),
        ("objectives", "objective", sorted(names_in(folders)) if facts.objectives else ()),
    ):
        keys = getattr(facts, table)
        yield from _unknown_keys((table,), keys if isinstance(keys, dict) else (), kind, valid)
    for objective, settings in facts.objectives.items():
        location = ("objectives", objective, "replace")
        yield from _unknown_keys(location, settings.replace, "parameter", parameters)
    if facts.backbone and facts.backbone.corpus not in catalog():
        yield ("backbone", "corpus"), str(unknown("dataset", facts.backbone.corpus, catalog()))


def _unknown_keys(location: tuple, keys: Iterable[str], kind: str, valid: Iterable[str]) -> Iterator[Fault]:
    yield from (((*location, key), str(unknown(kind, key, valid))) for key in keys if key not in valid)


@functools.cache
def parameter_names() -> frozenset[str]:
    """Return the parameters of recipes, e.g. "depth"."""
    of_verbs = [inspect.signature(verb) for verb in vars(recipe).values() if inspect.isfunction(verb)]
    keywords = [p.name for verb in of_verbs for p in verb.parameters.values() if p.kind is p.KEYWORD_ONLY]
    of_parts = [each.name for part in (recipe.Texts, recipe.Optimisation) for each in fields(part)]
    return frozenset([*keywords, *of_parts]) - {"batch_size"}


_user_scales: list[Scale] = []


@contextlib.contextmanager
def with_scale_of(file: Path) -> Iterator[Scale]:
    """Register the scale of a user's file until the block ends. Yields it."""
    _user_scales.append(new_scale := user_scale(file))
    try:
        yield new_scale
    finally:
        _user_scales.remove(new_scale)


def known_scales() -> dict[str, Scale]:
    return scales() | {scale.name: scale for scale in _user_scales}


def scale(name: str) -> Scale:
    """Return the scale of that name. Raises UsageError."""
    check_known("scale", name, valid=known_scales(), hint="A file is a scale too, e.g. --scale mine.yaml.")
    return known_scales()[name]


def _scale(name: str, facts: Mapping[str, ScaleFacts], *, by_user: bool = False) -> Scale:
    inherited = scale_facts.inherit_facts(name, facts)
    return Scale(name, inherited, scale_facts.lineage(name, facts), by_user)


@functools.cache
def _gpus() -> list[str] | None:
    from repro.machine.system import gpu

    return gpu()
