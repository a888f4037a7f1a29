"""Floating-point operations and bytes of a node, by formulas simple enough to check by hand.

A token costs 2 operations a weight forward and twice that backward (Kaplan et al. 2020, section 2.1), and
attention 4 x layers x hidden x length forward on top: 2 for its scores, 2 for the sum that they weight. A
masked-language head is counted at BERT's 15 % of the tokens of a pre-training, whatever its rate, and what an
objective passes through besides as it declares (``training.objective.PretrainingPasses``). Padding is
not counted. What no model does, and the space that a stage takes while it writes, follows from facts.yaml.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from repro.graph import Node
from repro.retrieval.training.declaration import declared
from repro.running.cost import shapes
from repro.running.cost.counts import LINE, PAIR, bytes_beside, core_seconds, light_bytes
from repro.running.cost.shapes import Shape
from repro.stage_table import ENCODINGS

_PASSES = {"encoders": 1.0, "heads": 0.15}  # BERT's rate
NUMBER = 4  # bytes of a float32
# A sparse value takes the time of so many dense numbers: on a CPU as measured (100 to 200 ns for 768 of them,
# 20 for dense ones); on a GPU a guess: a quarter of the 27 % of its peak that
# sparse kernels reach (Gale et al. 2020, arXiv 2006.10901).
SPARSE = 5
KINDS_OF_SEARCH = {"search": "search", "search_views": "view_search"}
HALVED = 2  # of a float16


@dataclass(frozen=True)
class Work:
    """Operations and bytes of a node; ``None`` where a count is missing that they depend on.

    Attributes:
        training, inference: floating-point operations of models.
        search: of faiss over dense vectors; ``view_search`` those of torch over views.
        launched: layers whose kernels trainings launch, forward and backward, however small they are.
        stored: bytes of the artefact.
        beside: further bytes on the disk while it is made, as far as they are known.
        core_seconds: of one core, where the work is no model's.
    """

    training: float | None = 0.0
    inference: float | None = 0.0
    stored: float | None = 0.0
    beside: float = 0.0
    core_seconds: float | None = 0.0
    search: float | None = 0.0
    view_search: float | None = 0.0
    launched: float = 0.0

    @property
    def operations(self) -> float:
        """Floating-point operations, as far as they could be counted."""
        return sum(part or 0 for part in (self.training, self.inference, self.search, self.view_search))

    @property
    def is_known(self) -> bool:
        """Whether all operations could be counted."""
        return None not in (self.training, self.inference, self.search, self.view_search)


def forward(model: Shape, length: float) -> float:
    """Operations of one token in a text of so many."""
    return 2 * model.layer_weights + 4 * model.layers * model.hidden * length


def work(node: Node) -> Work:
    """The work of one node; nothing for stages whose cost is small beside that of models."""
    formula = _FORMULAS.get(node.stage)
    result = formula(node) if formula else Work(stored=light_bytes(node))
    return replace(result, beside=bytes_beside(node, result.stored), core_seconds=core_seconds(node))


def trained_steps(node: Node) -> float | None:
    """Steps of a training; None where nobody counted its examples, and nothing else ends it."""
    if node.stage == "pretrain":
        return _steps(node, shapes.rows(node.inputs["tokens"]), node.params["texts_per_batch"])
    return _steps(node, shapes.queries(node.inputs["training_set"]), node.params["queries_per_batch"])


def _pretrain(node: Node) -> Work:
    model, steps = shapes.shape(node), trained_steps(node)
    stored = model.all_weights * NUMBER
    if steps is None:
        return Work(None, 0.0, stored)
    length = _text_length(node)
    tokens = steps * node.params["texts_per_batch"] * length
    passes = _passes(node)
    frozen_passes = {
        name.removeprefix("frozen_"): n for name, n in passes.items() if name.startswith("frozen_")
    }
    generator = shapes.shape(node.inputs["generator"]) if "generator" in node.inputs else model
    each = 3 * _forward_operations(model, length, passes) + _forward_operations(
        generator, length, frozen_passes
    )
    layers = passes["encoders"] * model.layers + passes.get("layers", 0)
    layers += frozen_passes.get("encoders", 0) * generator.layers / 3  # forward alone
    return Work(tokens * each, 0.0, stored, launched=steps * layers)


def _passes(node: Node) -> dict[str, float]:
    """The layers a token passes through in a pre-training, as its objective declares over BERT's own."""
    objective = node.params.get("objective")
    return {**_PASSES, **(declared(objective).passes if objective else {})}


def _forward_operations(model: Shape, length: float, passes: Mapping[str, float]) -> float:
    """Operations forward of one token in a text of so many."""
    layers = passes.get("encoders", 0) + passes.get("layers", 0) / max(1, model.layers)
    return layers * forward(model, length) + passes.get("heads", 0) * 2 * model.hidden * model.vocabulary


def _text_length(node: Node) -> float:
    """Tokens of a text of a pre-training: chunks are full, documents as long as they are."""
    source, length = shapes.collection(node.inputs["tokens"]), node.params["length"]
    if node.inputs["tokens"].params["policy"] == "chunk" or source is None:
        return length
    return shapes.tokens(shapes.words(source), length)


def _steps(node: Node, examples: float | None, batch: int) -> float | None:
    """Steps of a training, counted as ``repro.retrieval.training.optimisation.Optimisation.steps`` does."""
    limits = [node.params["max_steps"]] if node.params["max_steps"] is not None else []
    if node.params["epochs"] is not None and examples is not None:
        limits.append(math.ceil(node.params["epochs"] * math.ceil(examples / batch)))
    return min(limits) if limits else None


def _finetune(node: Node) -> Work:
    model, p = shapes.shape(node), node.params
    steps = trained_steps(node)
    stored = model.all_weights * NUMBER
    if steps is None:
        return Work(None, 0.0, stored)
    is_joined = "query_length" not in p  # a cross-encoder's passages begin with the query
    query, passage = _pair(node, p["passage_length" if is_joined else "query_length"], p["passage_length"])
    if is_joined:
        query, passage = 0.0, min(p["passage_length"], query + passage)
    each = query * forward(model, query) + p["passages_per_query"] * passage * forward(model, passage)
    sides = 1 if is_joined else 2
    return Work(3 * steps * p["queries_per_batch"] * each, 0.0, stored, launched=steps * sides * model.layers)


def _pair(node: Node, query_length: int, passage_length: int) -> tuple[float, float]:
    """Tokens of a query and of a passage."""
    source = shapes.collection(node.inputs["corpus"])
    passage = shapes.tokens(shapes.words(source), passage_length) if source else passage_length
    return shapes.tokens(shapes.query_words(), query_length), passage


def _texts(node: Node) -> tuple[float | None, float]:
    """The number of texts that are encoded, and the tokens of each."""
    source, length = node.inputs["texts"], node.params["length"]
    if node.params["kind"] == "queries":
        return shapes.queries(source), shapes.tokens(shapes.query_words(), length)
    name = shapes.collection(source)
    return (shapes.texts(source), shapes.tokens(shapes.words(name), length)) if name else (None, length)


def _encode(node: Node) -> Work:
    (count, length), model = _texts(node), shapes.shape(node)
    if count is None:
        return Work(0.0, None, None)
    head = 2 * model.hidden * model.vocabulary if set(node.params.get("views", ())) - {"dense"} else 0
    numbers = model.hidden + 2 * (node.params.get("top_k") or 0)  # a kept term is a number and its place
    size = HALVED if node.params.get("numbers") == "float16" else NUMBER
    return Work(0.0, count * length * (forward(model, length) + head), count * numbers * size)


def _score(node: Node) -> Work:
    """A cross-encoder over so many passages a query."""
    model, count = shapes.shape(node), shapes.queries(node.inputs["queries"])
    each = node.params["depth"] if node.stage == "rerank" else (node.params["per_query"] or 0) + 1
    if count is None:
        return Work(0.0, None, None)
    length = min(node.params["length"], sum(_pair(node, node.params["length"], node.params["length"])))
    size = LINE if node.stage == "rerank" else PAIR
    return Work(0.0, count * each * length * forward(model, length), count * each * size)


def _search(node: Node) -> Work:
    """Inner products of every query with every passage."""
    parents, kind = [node.inputs["passages"], node.inputs["queries"]], KINDS_OF_SEARCH[node.stage]
    if any(parent.stage not in ENCODINGS for parent in parents):
        return Work(stored=None, **{kind: None})  # how many vectors another stage makes is not known here
    (passages, _), (queries, _) = map(_texts, parents)
    if passages is None or queries is None:
        return Work(stored=None, **{kind: None})
    products = 2 * passages * queries * _numbers(node, shapes.shape(parents[0]).hidden)
    stored = queries * min(node.params["depth"], passages) * LINE
    return Work(stored=stored, **{kind: products})


def _numbers(node: Node, hidden: int) -> float:
    """Numbers of a passage that a query is multiplied with, sparse ones by the time that they take."""
    views = node.params.get("terms", ["dense"])
    kept_terms = node.inputs["passages"].params.get("top_k") or hidden
    return ("dense" in views) * hidden + ("sparse" in views) * SPARSE * kept_terms


def _model(node: Node) -> Work:
    return Work(stored=shapes.shape(node).all_weights * NUMBER)


_FORMULAS: dict[str, Callable[[Node], Work]] = {
    "pretrain": _pretrain,
    "finetune": _finetune,
    "encode": _encode,
    "encode_views": _encode,
    "score_pairs": _score,
    "rerank": _score,
    "search": _search,
    "search_views": _search,
    "backbone": _model,
    "released": _model,
    "initialise": _model,
}
