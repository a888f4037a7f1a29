"""Recipe functions for texts, training sets, and the models trained on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from repro.errors import UsageError
from repro.graph import Node
from repro.retrieval.training.declaration import Objective, Optimisation

MLM = Objective("mlm", 1, "repro.retrieval.nn.objectives:MaskedLanguageModel")
NEIGHBOURS = Objective("neighbours", 1, "repro.retrieval.nn.objectives:NeighbouringSentences")


@dataclass(frozen=True, kw_only=True)
class Texts:
    """Passages and queries, and how a model reads them.

    Attributes:
        query_length, passage_length: tokens, special ones included. A cross-encoder reads query and passage
            together in ``passage_length`` tokens.
        separator: between title and text, e.g. " ".
        pooling: reduces token vectors to one, e.g. "cls".
    """

    documents: Node
    topics: Node
    passage_length: int
    separator: str | None
    query_length: int | None = None
    pooling: str | None = None

    def as_params(self) -> dict[str, Any]:
        names = ("query_length", "passage_length", "separator", "pooling")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def as_inputs(self) -> dict[str, Node]:
        return {"corpus": self.documents, "queries": self.topics}


def corpus(identifier: str, *, text: str = "{text}", untitled: str = "") -> Node:
    """Return a collection with texts by the template ``text``, e.g. "{url} {text}".

    ``untitled`` replaces empty titles.
    """
    fields = {} if (text, untitled) == ("{text}", "") else {"text": text, "untitled": untitled}
    return Node("corpus", {"dataset": identifier, **fields})


def queries(identifier: str) -> Node:
    """Return a dataset's topics, with their answers if it is judged by answers."""
    return Node("queries", {"dataset": identifier})


def qrels(identifier: str) -> Node:
    return Node("qrels", {"dataset": identifier})


def official_negatives(identifier: str, *, per_query: int, seed: int, judgements: Node | None) -> Node:
    """Return a training set from distributed triples, with ``per_query`` sampled negatives.

    Positives come from ``judgements``, or from the triples if that is None.
    """
    inputs = {"qrels": judgements} if judgements else {}
    return Node("official_negatives", {"dataset": identifier, "per_query": per_query, "seed": seed}, inputs)


def listed_negatives(
    identifier: str, *, margin: float | None, per_system: int | None = None, systems: list[str] | None = None
) -> Node:
    """Return a training set from a public file with cross-encoder scores.

    Negatives score at least ``margin`` below every positive, at most ``per_system`` from each of ``systems``,
    e.g. ["bm25"]. None means no limit.
    """
    params = {"dataset": identifier, "margin": margin, "per_system": per_system, "systems": systems}
    return Node("listed_negatives", params)


def sample(
    training_set: Node,
    *,
    sample: int,
    method: str,
    seed: int,
    queries: int | None = None,
    share: float | None = None,
) -> Node:
    """Return ``queries`` rows of a training set, or a ``share``, drawn by ``seed`` and ``sample``.

    ``method`` is "random", or "block" for consecutive rows.
    """
    params: dict[str, Any] = {"queries": queries} if share is None else {"share": share}
    params |= {"sample": sample, "method": method, "seed": seed}
    return Node("sample", params, {"training_set": training_set})


def tokenize(
    documents: Node,
    *,
    model: Node,
    length: int,
    policy: str,
    titles: bool,
    separator: str,
    fewest_tokens: int = 0,
) -> Node:
    """Return documents of ``fewest_tokens`` or more as token ids, cut by ``policy``, e.g. "chunk"."""
    params = {"length": length, "policy": policy, "titles": titles, "separator": separator}
    params["fewest_tokens"] = fewest_tokens
    return Node("tokenize", params, {"corpus": documents, "model": model})


def tokenize_spans(
    documents: Node,
    *,
    model: Node,
    length: int,
    splitter: str,
    packing: Mapping[str, Any],
    fields: Sequence[str],
    seed: int,
) -> Node:
    """Return documents' ``fields`` (url, title, body) as token ids in spans of about ``length``."""
    params = {"length": length, "policy": "spans", "splitter": splitter, "span_packing": dict(packing)}
    params |= {"fields": list(fields), "seed": seed}
    return Node("tokenize", params, {"corpus": documents, "model": model})


def term_statistics(tokens: Node, *, model: Node) -> Node:
    """Return the collection and document frequency of each vocabulary entry."""
    return Node("term_statistics", {}, {"tokens": tokens, "model": model})


def backbone(name: str, *, revision: str, stand_in: Node | None = None) -> Node:
    """Return a released checkpoint. Below full scale the model ``stand_in`` replaces it."""
    inputs = {"stand_in": stand_in} if stand_in else {}
    return Node("backbone", {"name": name, "revision": revision}, inputs)


def random_weights(name: str, *, revision: str, seed: int, layers: int | None = None) -> Node:
    """Return a model of this architecture with random weights. ``layers`` 0 leaves only word vectors."""
    params = {"name": name, "revision": revision, "weights": "random", "seed": seed}
    return Node("backbone", params | ({} if layers is None else {"layers": layers}))


def initialise(
    documents: Node,
    *,
    vocabulary: int,
    hidden_size: int,
    layers: int,
    heads: int,
    intermediate_size: int,
    max_positions: int,
    dropout: float,
    deviation: float,
    seed: int,
) -> Node:
    """Return a BERT with random weights and the documents' vocabulary."""
    tokenizer = Node("vocabulary", {"size": vocabulary}, {"corpus": documents})
    params: dict[str, Any] = {"hidden_size": hidden_size, "layers": layers, "heads": heads}
    params |= {"intermediate_size": intermediate_size, "max_positions": max_positions}
    params |= {"dropout": dropout, "deviation": deviation, "seed": seed}
    return Node("initialise", params, {"tokenizer": tokenizer})


def released_or(own: Node, checkpoint: str | None) -> Node:
    """Return a released checkpoint, or ``own`` below full scale or without a checkpoint."""
    return own if checkpoint is None else backbone(checkpoint, revision="main", stand_in=own)


def pretrain(
    tokens: Node,
    *,
    objective: Objective,
    options: Mapping[str, Any],
    optimisation: Optimisation,
    statistics: Node | None = None,
    generator: Node | None = None,
    examples: str = "rows",
) -> Node:
    """Pre-train a model on tokens. ``examples`` are "rows", or the "spans" of rows."""
    batch: dict[str, Any] = {"texts_per_batch": optimisation.batch_size}
    batch |= {"examples": examples} if examples != "rows" else {}
    params = _params(objective, options, optimisation, batch=batch, texts={"length": tokens.params["length"]})
    optional = {"statistics": statistics, "generator": generator}
    inputs = {"model": tokens.inputs["model"], "tokens": tokens}
    return Node("pretrain", params, inputs | {name: node for name, node in optional.items() if node})


def pretrained_like(made: Node, *, tokens: Node, optimisation: Optimisation) -> Node:
    """Return a pre-training like ``made``, with other tokens and optimisation."""
    params = {"texts_per_batch": optimisation.batch_size, "length": tokens.params["length"]}
    inputs = {"model": tokens.inputs["model"], "tokens": tokens}
    return Node("pretrain", {**made.params, **_of(optimisation), **params}, {**made.inputs, **inputs})


def finetune(
    model: Node,
    training_set: Node,
    *,
    texts: Texts,
    objective: Objective,
    options: Mapping[str, Any],
    passages_per_query: int,
    optimisation: Optimisation,
    negative_choice: str = "window",
    positive_choice: str = "all",
) -> Node:
    """Fine-tune an encoder or cross-encoder on judged queries with negatives.

    ``passages_per_query`` counts one positive and its negatives. The stage ``finetune`` describes
    ``negative_choice`` and ``positive_choice``.
    """
    batch = {"queries_per_batch": optimisation.batch_size, "passages_per_query": passages_per_query}
    params = _params(objective, options, optimisation, batch=batch, texts=texts.as_params())
    choices = {"negative_choice": (negative_choice, "window"), "positive_choice": (positive_choice, "all")}
    params |= {name: choice for name, (choice, usual) in choices.items() if choice != usual}
    inputs = {"model": model, "training_set": training_set, **texts.as_inputs()}
    return Node("finetune", params, inputs)


def _params(
    objective: Objective,
    options: Mapping[str, Any],
    optimisation: Optimisation,
    *,
    batch: Mapping[str, int],
    texts: Mapping[str, Any],
) -> dict[str, Any]:
    params = _of(optimisation)
    seed = {"seed": params.pop("seed")}
    return {"objective": objective.identity, "options": dict(options), **batch, **params, **texts, **seed}


def _of(optimisation: Optimisation) -> dict[str, Any]:
    if optimisation.is_all_warm_up:
        steps = f"{optimisation.warmup_steps} steps of warm-up, and ends after {optimisation.max_steps}"
        raise UsageError(f"the training has {steps}. Give fewer warmup_steps, or more max_steps.")
    return optimisation.as_params()
