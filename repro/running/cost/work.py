"""Floating-point operations and bytes of a node, by formulas simple enough to check by hand.

A token costs 2 operations a weight forward and twice that backward (Kaplan et al. 2020, section 2.1), and
attention 4 x layers x hidden x length forward on top: 2 for its scores, 2 for the sum that they weight. A
masked-language head is counted at BERT's 15 % of the tokens of a pre-training, whatever its rate, and what an
objective passes through besides as it declares (``training.objective.PretrainingPasses``). Padding is
not counted. What no model does, and the space that a stage takes while it writes, follows from stages.yaml.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from repro.graph import Node
from repro.retrieval.training.declaration import declared
from repro.running.cost import shapes
from repro.running.cost.amounts import amount, cost_of, total, trained_steps
from repro.running.cost.shapes import Number, Shape, product
from repro.stage_table import ENCODINGS

_PASSES = {"encoders": 1.0, "heads": 0.15}  # BERT's rate
NUMBER = 4  # bytes of a float32
HALVED = 2  # of a float16
LINE = 47  # bytes of a line of a run, 43 as measured, and of its raw score
PAIR = 19  # bytes of a passage's id with its score
# A sparse value takes the time of so many dense numbers: on a CPU as measured (100 to 200 ns for 768 of them,
# 20 for dense ones); on a GPU a guess: a quarter of the 27 % of its peak that
# sparse kernels reach (Gale et al. 2020, arXiv 2006.10901).
SPARSE = 5


@dataclass(frozen=True)
class Work:
    """Operations and bytes of a node; ``None`` where a count is missing that they depend on.

    Attributes:
        training, inference: floating-point operations of models.
        search: inner products in single precision.
        launched: layers whose kernels trainings launch, forward and backward, however small they are.
        stored: bytes of the artefact.
        beside: further bytes on the disk while it is made, as far as they are known.
        core_seconds: of one core, where the work is no model's.
    """

    training: Number = 0.0
    inference: Number = 0.0
    stored: Number = 0.0
    beside: float = 0.0
    core_seconds: Number = 0.0
    search: Number = 0.0
    launched: float = 0.0

    @property
    def parts(self) -> list[float]:
        """Operations of training, inference and search; 0 for those that are not known."""
        return [part or 0 for part in (self.training, self.inference, self.search)]

    @property
    def operations(self) -> float:
        """Floating-point operations, as far as they could be counted."""
        return sum(self.parts)

    @property
    def is_known(self) -> bool:
        """Whether all operations could be counted."""
        return None not in (self.training, self.inference, self.search)


def forward(model: Shape, length: float) -> float:
    """Return the operations of one token in a text of so many."""
    return 2 * model.layer_weights + 4 * model.layers * model.hidden * length


def work(node: Node) -> Work:
    """Return the work of one node; nothing for stages whose cost is small beside that of models."""
    formula, cost = _FORMULAS.get(node.stage), cost_of(node)
    result = formula(node) if formula else Work(stored=_bytes(node))
    stored = result.stored or 0
    beside = 0.0 + (cost.copies - 1) * stored + min(cost.further, stored) + (total(cost.beside, node) or 0)
    return replace(result, beside=beside, core_seconds=total(cost.seconds, node))


def _bytes(node: Node) -> Number:
    """Return the bytes of the artefact of a stage without a model; 0 for small ones."""
    if node.stage == "union":
        return shapes.added(map(_bytes, node.parents()))
    return total(cost_of(node).bytes, node)


def _pretrain(node: Node) -> Work:
    model, steps = shapes.shape(node), trained_steps(node)
    stored = model.all_weights * NUMBER
    if steps is None:
        return Work(None, 0.0, stored)
    texts, length = node.input("tokens"), node.params["length"]
    if texts.params["policy"] != "chunk":  # chunks are full, documents as long as they are
        length = _document_length(texts, length)
    tokens = steps * node.params["texts_per_batch"] * length
    passes = _passes(node)
    frozen_passes = {
        name.removeprefix("frozen_"): n for name, n in passes.items() if name.startswith("frozen_")
    }
    generator = shapes.shape(node.input("generator")) if "generator" in node.inputs else model
    each = 3 * _forward_operations(model, length, passes) + _forward_operations(
        generator, length, frozen_passes
    )
    layers = passes["encoders"] * model.layers + passes.get("layers", 0)
    layers += frozen_passes.get("encoders", 0) * generator.layers / 3  # forward alone
    return Work(tokens * each, 0.0, stored, launched=steps * layers)


def _passes(node: Node) -> dict[str, float]:
    """Return the layers a token passes through, as an objective declares over BERT's own."""
    objective = node.params.get("objective", {})
    return {**_PASSES, **(declared(objective).passes if "path" in objective else {})}


def _forward_operations(model: Shape, length: float, passes: Mapping[str, float]) -> float:
    """Return the operations forward of one token in a text of so many."""
    layers = passes.get("encoders", 0) + passes.get("layers", 0) / max(1, model.layers)
    return layers * forward(model, length) + passes.get("heads", 0) * 2 * model.hidden * model.vocabulary


def _document_length(node: Node, length: int) -> float:
    """Return the tokens of a document of a node's collection, cut to a length."""
    name = shapes.collection(node)
    return shapes.tokens(shapes.words(name), length) if name else length


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
    """Return the tokens of a query and of a passage."""
    query = shapes.tokens(shapes.query_words(), query_length)
    return query, _document_length(node.input("corpus"), passage_length)


def _encode(node: Node) -> Work:
    source, length, model = node.input("texts"), node.params["length"], shapes.shape(node)
    is_query, count = node.params["kind"] == "queries", amount("texts", node)
    if count is None:
        return Work(0.0, None, None)
    tokens = shapes.tokens(shapes.query_words(), length) if is_query else _document_length(source, length)
    head = 2 * model.hidden * model.vocabulary if set(node.params.get("views", ())) - {"dense"} else 0
    numbers = model.hidden + 2 * (node.params.get("top_k") or 0)  # a kept term is a number and its place
    size = HALVED if node.params.get("numbers") == "float16" else NUMBER
    return Work(0.0, count * tokens * (forward(model, tokens) + head), count * numbers * size)


def _score(node: Node) -> Work:
    """Return the work of a cross-encoder over so many passages a query."""
    model, count = shapes.shape(node), amount("pairs", node)
    if count is None:
        return Work(0.0, None, None)
    length = min(node.params["length"], sum(_pair(node, node.params["length"], node.params["length"])))
    size = LINE if node.stage == "rerank" else PAIR
    return Work(0.0, count * length * forward(model, length), count * size)


def _search(node: Node) -> Work:
    """Return the inner products of every query with every passage."""
    sides = [node.input("passages"), node.input("queries")]
    # how many vectors another stage makes is not known here
    is_known = all(side.stage in ENCODINGS for side in sides)
    passages, queries = (amount("texts", side) if is_known else None for side in sides)
    products = product(2, passages, queries, _numbers(node))
    stored = passages and product(queries, min(node.params["depth"], passages), LINE)
    return Work(stored=stored, search=products)


def _numbers(node: Node) -> float:
    """Return the numbers of a passage that a query meets, sparse ones by the time that they take."""
    views, passages = node.params.get("terms", ["dense"]), node.input("passages")
    hidden = shapes.shape(passages).hidden
    kept_terms = passages.params.get("top_k") or hidden
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
