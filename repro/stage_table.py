"""The stages, declared without importing them, e.g. ``encode``, which makes embeddings.

The module of a stage has ``run(params, inputs, out, progress)``.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from repro.errors import UsageError, check_known

SCORED = ("scores", "significance")  # need no training libraries


@dataclass(frozen=True)
class StageSpec:
    """A stage's contract.

    Attributes:
        inputs: name -> artefact type, or ``a|b``. ``name?`` is optional.
        version: raised by hand when equal inputs give another result. Earlier artefacts are then not used.
        ignored: parameters without effect on result and fingerprint.
        needs: ``java``, ``source`` (data), ``checkpoint``, ``splitter`` or ``precision`` (a GPU).
        heavy: whether it uses a GPU, and estimates list its hours.
        widths: parameters that a scale shrinks.
        choices: parameter -> its valid values.
    """

    inputs: dict[str, str]
    output: str
    version: int = 1
    ignored: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    heavy: bool = False
    widths: tuple[str, ...] = ()
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def extra(self) -> str:
        """The extra that installs its libraries, e.g. "bm25"."""
        return "bm25" if "java" in self.needs else "score" if self.output in SCORED else "train"

    @cached_property
    def required(self) -> frozenset[str]:
        return frozenset(name for name in self.inputs if not name.endswith("?"))

    @cached_property
    def kinds(self) -> dict[str, tuple[str, ...]]:
        return {name.rstrip("?"): tuple(kinds.split("|")) for name, kinds in self.inputs.items()}


def _spec(output, inputs=None, *, version=1, ignored=(), needs=(), **others) -> StageSpec:
    return StageSpec(inputs or {}, output, version, frozenset(ignored), frozenset(needs), **others)


PRECISIONS = ("fp32", "fp16", "bf16")
KINDS_OF_TEXTS = ("passages", "queries")
POOLINGS = ("cls", "mean")
MODULES = "sentence-transformers"  # pooling by the encoder's modules.json
# of transformers that need only steps and warm-up, then the suite's own
SCHEDULES = (
    *("linear", "cosine", "cosine_with_restarts", "polynomial", "inverse_sqrt"),
    *("constant", "constant_with_warmup", "logarithmic", "deepspeed-0.6.0"),
)
LOCATED = {"ignored": ("source",), "needs": ("source",)}
FIRST_ROWS = {"queries?": "queries", "corpus?": "corpus"}  # of sources with first rows only
HEAVY = {"needs": ("precision",), "heavy": True}
PRECISION_CHOICES = {"precision": PRECISIONS}
ENCODING_CHOICES = PRECISION_CHOICES | {"kind": KINDS_OF_TEXTS}
VECTOR_CHOICES = ENCODING_CHOICES | {"numbers": ("float32", "float16"), "pooling": (*POOLINGS, MODULES)}
VIEW_CHOICES = ENCODING_CHOICES | {"head": ("transform", "plain", "splade", "splade-sum")}
TRAINING_CHOICES = PRECISION_CHOICES | {"schedule": SCHEDULES}
PASSAGE_CHOICES = {"negative_choice": ("window", "slice"), "positive_choice": ("all", "confident")}
ENCODED = {"model": "model", "texts": "corpus|queries"}
PAIRS = {"model": "model", "corpus": "corpus", "queries": "queries"}
EXAMPLES = PAIRS | {"training_set": "training_set"}

STAGES: dict[str, StageSpec] = {
    "corpus": _spec("corpus", **LOCATED),
    "queries": _spec("queries", **LOCATED),
    "qrels": _spec("qrels", FIRST_ROWS, **LOCATED),
    "official_negatives": _spec("training_set", {"qrels?": "qrels"} | FIRST_ROWS, version=2, **LOCATED),
    "listed_negatives": _spec("training_set", FIRST_ROWS, **LOCATED),
    "sample": _spec(
        "training_set", {"training_set": "training_set"}, choices={"method": ("random", "block")}
    ),
    "vocabulary": _spec("tokenizer", {"corpus": "corpus"}),
    "initialise": _spec("model", {"tokenizer": "tokenizer"}),
    "backbone": _spec("model", {"stand_in?": "model"}, ignored=("source",), needs=("checkpoint",)),
    "released": _spec("model", {"stand_in?": "model"}, ignored=("source",), needs=("checkpoint",)),
    "tokenize": _spec(
        "tokens",
        {"corpus": "corpus", "model": "model"},
        needs=("splitter",),
        choices={
            "policy": ("chunk", "whole-chunks", "truncate", "truncate-pair", "spans"),
            "fields": ("url", "title", "body"),
        },
    ),
    "term_statistics": _spec("term_statistics", {"tokens": "tokens", "model": "model"}),
    "pretrain": _spec(
        "model",
        {"model": "model", "tokens": "tokens", "statistics?": "term_statistics", "generator?": "model"},
        **HEAVY,
        choices=TRAINING_CHOICES | {"examples": ("rows", "spans")},
    ),
    "finetune": _spec(
        "model", EXAMPLES, **HEAVY, choices=TRAINING_CHOICES | PASSAGE_CHOICES | {"pooling": POOLINGS}
    ),
    "encode": _spec("embeddings", ENCODED, **HEAVY, choices=VECTOR_CHOICES),
    "encode_views": _spec("views", ENCODED, **HEAVY, widths=("top_k",), choices=VIEW_CHOICES),
    "encode_by_library": _spec(  # sparse vectors are views
        "embeddings",
        {"texts": "corpus|queries"},
        ignored=("source",),
        needs=("checkpoint", "precision"),
        heavy=True,
        choices={"kind": KINDS_OF_TEXTS},
    ),
    "weigh_terms": _spec(
        "corpus", {"model": "model", "corpus": "corpus"}, **HEAVY, choices=PRECISION_CHOICES
    ),
    "search": _spec("run", {"passages": "embeddings", "queries": "embeddings"}, version=2),
    "search_views": _spec(
        "run",
        {"passages": "views|embeddings", "queries": "views|embeddings"},
        version=2,
        heavy=True,
        choices={"mode": ("exact", "union")},
    ),
    "lucene_index": _spec("lucene_index", {"corpus": "corpus"}, needs=("java",)),
    "imported_run": _spec("run", ignored=("source", "name")),
    "bm25": _spec("run", {"index": "lucene_index", "queries": "queries"}, needs=("java",)),
    "union": _spec("training_set", {"training_sets": "training_set"}),
    "mine": _spec("training_set", {"run": "run", "qrels": "qrels", "corpus?": "corpus"}),
    "judged_examples": _spec("training_set", {"qrels": "qrels"}, ignored=("dataset",)),
    "mine_answers": _spec(
        "training_set", {"run": "run", "qrels": "qrels", "queries": "queries", "corpus": "corpus"}
    ),
    "score_pairs": _spec("training_set", EXAMPLES, **HEAVY, choices=PRECISION_CHOICES),
    "rerank": _spec("run", PAIRS | {"run": "run"}, **HEAVY, choices=PRECISION_CHOICES),
    "evaluate": _spec("scores", {"run": "run", "qrels": "qrels", "queries?": "queries", "corpus?": "corpus"}),
    "index_size": _spec("scores", {"passages": "embeddings|views"}),
    "project": _spec(
        "exhibit",
        {"passages": "embeddings", "queries": "embeddings", "run": "run", "qrels": "qrels"},
        choices={"method": ("t-sne",)},
    ),
    "inspect_text": _spec("exhibit", {"model": "model", "corpus": "corpus"}),
    "top_passages": _spec(
        "exhibit", {"run": "run", "corpus": "corpus", "queries": "queries", "qrels?": "qrels"}
    ),
    "compare": _spec("significance", {"runs?": "run", "qrels?": "qrels", "scores?": "scores"}, version=3),
}

TRAININGS = ("pretrain", "finetune")
ENCODINGS = ("encode", "encode_views")
SEARCHES = ("search", "search_views")


@dataclass(frozen=True)
class Range:
    """The valid numbers of a parameter, ``least`` to ``most``. ``is_above`` excludes ``least``."""

    least: float
    most: float = math.inf
    is_above: bool = False
    is_whole: bool = False

    def __contains__(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int if self.is_whole else int | float):
            return False
        return self.least <= value <= self.most and not (self.is_above and value == self.least)

    def __str__(self) -> str:
        begin = f"a {'whole ' * self.is_whole}number {'above' if self.is_above else 'from'} {self.least:g}"
        return begin if self.most == math.inf else f"{begin} to {self.most:g}"


COUNT, COUNT_FROM_0 = Range(1, is_whole=True), Range(0, is_whole=True)
POSITIVE, NOT_NEGATIVE, SHARE = Range(0, is_above=True), Range(0), Range(0, 1)
NUMBERS: dict[str, Range] = {  # null is valid too
    **dict.fromkeys(("length", "query_length", "passage_length", "passages_per_query", "max_steps"), COUNT),
    **dict.fromkeys(("texts_per_batch", "queries_per_batch", "depth", "per_query", "keep"), COUNT),
    **dict.fromkeys(("warmup_steps", "random_added", "seed"), COUNT_FROM_0),
    **dict.fromkeys(("epochs", "learning_rate"), POSITIVE),
    **dict.fromkeys(("weight_decay", "max_grad_norm", "k1"), NOT_NEGATIVE),
    **dict.fromkeys(("warmup_ratio", "b", "share"), SHARE),
}


def check_numbers(params: Mapping[str, Any], ranges: Mapping[str, Range] = NUMBERS) -> None:
    """Raise UsageError for a parameter that is neither None nor in its range."""
    for name, value in params.items():
        if name in ranges and value is not None and value not in ranges[name]:
            raise UsageError(f"{name} is {value!r}, but must be {ranges[name]}")


def check_choices(stage: str, params: Mapping[str, Any]) -> None:
    """Raise UsageError for a parameter with a value that is not among the stage's choices."""
    for name, valid in STAGES[stage].choices.items():
        if name in params:
            values = params[name] if isinstance(params[name], list | tuple) else [params[name]]
            check_known(f"value of {name}", *values, valid=valid)
