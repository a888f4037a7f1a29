"""Count a node's floating-point operations and bytes by formulas.

A token costs 2 operations per weight forward and twice that backward (Kaplan et al. 2020, section 2.1).
Attention adds 4 x layers x hidden x length forward. A masked-language head reads 15 % of the tokens. An
objective may declare further ``passes``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from repro.graph import Node
from repro.retrieval.training.declaration import StepMemory, declared, example_tokens, predicts_words
from repro.running.cost import shapes
from repro.running.cost.amounts import BATCHES, amount, cost_of, total, trained_steps
from repro.running.cost.shapes import Number, Shape, TextLength, product, texts_read
from repro.stage_table import ENCODINGS

_PASSES = {"encoders": 1.0, "heads": 0.15}  # BERT's rate
NUMBER = 4  # bytes of a float32
HALVED = 2  # of a float16
LINE = 49  # bytes of a run's line
PAIR = 19  # bytes of an id with its score
# dense values in the time of a sparse one, on a CPU. For a GPU a guess (Gale et al. 2020, arXiv 2006.10901)
SPARSE = 5


@dataclass(frozen=True)
class Work:
    """Operations and bytes of a node. None means unknown.

    Attributes:
        training, inference: floating-point operations of models.
        search: operations of inner products in single precision.
        launched: layers that trainings launch, forward and backward.
        stored, beside: bytes of the artefact, and of temporary files.
        core_seconds: of work without models.
        waited: seconds of such work while the device waits.
        kind: the stage, or a pre-training's objective.
    """

    training: Number = 0.0
    inference: Number = 0.0
    stored: Number = 0.0
    beside: float = 0.0
    core_seconds: Number = 0.0
    search: Number = 0.0
    launched: float = 0.0
    waited: Number = 0.0
    kind: str = ""

    @property
    def parts(self) -> list[float]:
        return [part or 0 for part in (self.training, self.inference, self.search)]

    @property
    def operations(self) -> float:
        return sum(self.parts)

    @property
    def is_known(self) -> bool:
        return None not in (self.training, self.inference, self.search)


def forward(model: Shape, length: float) -> float:
    """Return the operations of a token in a text of ``length`` tokens."""
    return 2 * model.layer_weights + 4 * model.layers * model.hidden * length


@dataclass(frozen=True)
class Batching:
    """The batching of texts by variables, e.g. REPRO_MICRO_BATCH=16.

    ``packed`` texts have no padding. ``part`` examples are encoded at once. ``memory`` is the GPU's in bytes.
    """

    packed: bool = False
    part: int | None = None
    memory: float | None = None

    @classmethod
    def of(cls, environment: Mapping[str, str], memory: float | None, *, packs: bool = True) -> "Batching":
        """Read the variables. Ignores invalid values. A GPU that never ``packs`` pads all texts."""
        part = environment.get("REPRO_MICRO_BATCH", "")
        packed = packs and environment.get("REPRO_PADDING_FREE") in (None, "", "1")
        return cls(packed, int(part) or None if part.isdecimal() else None, memory)

    def examples(self, node: Node) -> int:
        """Return the number of examples that a training encodes at once."""
        examples: int = node.params[BATCHES[node.stage]]
        part = self.part
        if part is None and self.memory is not None:
            part = step_memory_of(node).micro_batch(examples, self.memory)
        return min(part or examples, examples)

    def trained(self, length: TextLength, examples: int) -> float:
        return length.real if self.packed else length.padded(examples)

    def encoded(self, length: TextLength) -> float:
        """Return the number of tokens read per encoded text. A CPU reads little padding."""
        return length.real if self.packed or self.memory is None else length.sorted


def step_memory_of(node: Node) -> StepMemory:
    model, params = shapes.shape(node), dict(node.params)
    words, sizes = model.vocabulary if predicts_words(params) else 0, (model.all_weights, model.layers)
    return StepMemory(*sizes, model.hidden, example_tokens(params), words, params["precision"])


PADDED = Batching()


def work(node: Node, batching: Batching = PADDED) -> Work:
    formula, cost = _FORMULAS.get(node.stage), cost_of(node)
    if batching.memory is not None and node.params.get("precision") == "fp32":
        batching = replace(batching, packed=False)
    result = formula(node, batching) if formula else Work(stored=_bytes(node))
    stored, seconds = result.stored or 0, total(cost.seconds, node)
    beside = 0.0 + (cost.copies - 1) * stored + min(cost.further, stored) + (total(cost.beside, node) or 0)
    waited, core_seconds = (seconds, 0.0) if cost.waits else (0.0, seconds)
    objective = node.params.get("objective", {}) if node.stage == "pretrain" else {}
    kind = objective.get("name", node.stage)
    return replace(result, beside=beside, core_seconds=core_seconds, waited=waited, kind=kind)


def _bytes(node: Node) -> Number:
    if node.stage == "union":
        return shapes.added(map(_bytes, node.parents()))
    return total(cost_of(node).bytes, node)


def _pretrain(node: Node, batching: Batching) -> Work:
    model, steps = shapes.shape(node), trained_steps(node)
    stored = model.all_weights * NUMBER
    if steps is None:
        return Work(None, 0.0, stored)
    [length], at_once, objective = texts_read(node), batching.examples(node), node.params.get("objective", {})
    passes = {**_PASSES, **(declared(objective).passes if "path" in objective else {})}
    sizes = length.real, batching.trained(length, at_once), length.padded(at_once)
    generator = shapes.shape(node.input("generator")) if "generator" in node.inputs else model
    each = 3 * _forward_operations(model, sizes, passes)
    each += _forward_operations(generator, sizes, passes, prefix="frozen_")
    layers = passes["encoders"] * model.layers + passes.get("layers", 0)
    layers += passes.get("frozen_encoders", 0) * generator.layers / 3  # forward alone
    return Work(steps * node.params["texts_per_batch"] * each, 0.0, stored, launched=steps * layers)


def _forward_operations(
    model: Shape, sizes: tuple[float, float, float], passes: Mapping[str, float], *, prefix: str = ""
) -> float:
    real, read, padded = sizes
    encoders, layers, heads = (passes.get(prefix + name, 0) for name in ("encoders", "layers", "heads"))
    operations = encoders * read * forward(model, read) + heads * real * 2 * model.hidden * model.vocabulary
    return operations + layers / max(1, model.layers) * padded * forward(model, padded)


def _finetune(node: Node, batching: Batching) -> Work:
    model, steps, examples = shapes.shape(node), trained_steps(node), node.params["queries_per_batch"]
    stored = model.all_weights * NUMBER
    if steps is None:
        return Work(None, 0.0, stored)
    sides, at_once = texts_read(node), batching.examples(node)
    tokens = [(side.times, batching.trained(side, at_once)) for side in sides]
    each = sum(times * read * forward(model, read) for times, read in tokens)
    passes = 3 + (at_once < examples and len(sides) > 1)
    launched = steps * len(sides) * model.layers
    return Work(steps * examples * passes * each, 0.0, stored, launched=launched)


def _encode(node: Node, batching: Batching) -> Work:
    model, count, params = shapes.shape(node), amount(cost_of(node).time or "", node), node.params
    if count is None:
        return Work(0.0, None, None)
    [length] = texts_read(node)
    tokens = batching.encoded(length)
    head = 2 * model.hidden * model.vocabulary if set(params.get("views", ())) - {"dense"} else 0
    numbers = model.hidden + 2 * (params.get("top_k") or 0)
    size = numbers * (HALVED if params.get("numbers") == "float16" else NUMBER)
    stored = count * {"rerank": LINE, "score_pairs": PAIR}.get(node.stage, size)
    return Work(0.0, count * tokens * (forward(model, tokens) + head), stored)


def _search(node: Node, _: Batching) -> Work:
    sides = [node.input("passages"), node.input("queries")]
    # other stages make an unknown number
    is_known = all(side.stage in ENCODINGS for side in sides)
    passages, queries = (amount("texts", side) if is_known else None for side in sides)
    products = product(2, passages, queries, _numbers(node))
    stored = passages and product(queries, min(node.params["depth"], passages), LINE)
    return Work(stored=stored, search=products)


def _numbers(node: Node) -> float:
    views, passages = node.params.get("terms", ["dense"]), node.input("passages")
    hidden = shapes.shape(passages).hidden
    kept_terms = passages.params.get("top_k") or hidden
    return ("dense" in views) * hidden + ("sparse" in views) * SPARSE * kept_terms


def _model(node: Node, _: Batching) -> Work:
    return Work(stored=shapes.shape(node).all_weights * NUMBER)


_FORMULAS: dict[str, Callable[[Node, Batching], Work]] = {
    "pretrain": _pretrain,
    "finetune": _finetune,
    "encode": _encode,
    "encode_views": _encode,
    "score_pairs": _encode,
    "rerank": _encode,
    "search": _search,
    "search_views": _search,
    "backbone": _model,
    "released": _model,
    "initialise": _model,
}
