"""Verbs for models: released checkpoints, pre-training and fine-tuning."""

from collections.abc import Mapping
from typing import Any

from repro.errors import UsageError
from repro.graph import Node
from repro.retrieval.recipe.data import Texts
from repro.retrieval.training.declaration import Objective
from repro.retrieval.training.optimisation import Optimisation

MLM = Objective("mlm", 1, "repro.retrieval.nn.mlm:MaskedLanguageModel", "masking reduction length seed")
NEIGHBOURS = Objective(
    "neighbours",
    1,
    "repro.retrieval.nn.neighbours:NeighbouringSentences",
    "masking sentence_end length seed",
)


def backbone(name: str, *, revision: str, stand_in: Node | None = None) -> Node:
    """A released checkpoint.

    Nothing is downloaded at other scales than full: there ``stand_in`` takes its place, the same pre-training
    done here, or without one a model of that scale.
    """
    inputs = {"stand_in": stand_in} if stand_in else {}
    return Node("backbone", {"name": name, "revision": revision}, inputs)


def random_weights(name: str, *, revision: str, seed: int, layers: int | None = None) -> Node:
    """A checkpoint's architecture and vocabulary with weights drawn anew, as its configuration says.

    With so many ``layers`` in place of its own; with none it is a bag of word vectors.
    """
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
    """A BERT of a size of its own with random weights, over a vocabulary of the documents' words."""
    tokenizer = Node("vocabulary", {"size": vocabulary}, {"corpus": documents})
    params: dict[str, Any] = {"hidden_size": hidden_size, "layers": layers, "heads": heads}
    params |= {"intermediate_size": intermediate_size, "max_positions": max_positions}
    params |= {"dropout": dropout, "deviation": deviation, "seed": seed}
    return Node("initialise", params, {"tokenizer": tokenizer})


def released_or(own: Node, checkpoint: str | None) -> Node:
    """A released checkpoint, for which our own training stands in at other scales; without one, our own."""
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
    """The model whose vocabulary the tokens are of, trained on them by an objective, at their length.

    An objective may need the corpus's ``statistics``, or another model as ``generator``. An example is a row
    of the tokens; each of its ``spans`` is only where ``examples`` says so, and only then it is a parameter.
    """
    batch: dict[str, Any] = {"texts_per_batch": optimisation.batch_size}
    batch |= {"examples": examples} if examples != "rows" else {}
    params = _params(objective, options, optimisation, batch=batch, texts={"length": tokens.params["length"]})
    optional = {"statistics": statistics, "generator": generator}
    inputs = {"model": tokens.inputs["model"], "tokens": tokens}
    return Node("pretrain", params, inputs | {name: node for name, node in optional.items() if node})


def pretrained_like(made: Node, *, tokens: Node, optimisation: Optimisation) -> Node:
    """The pre-training ``made`` with its objective and options, on other tokens and at other costs.

    It starts from the model whose vocabulary the tokens are of, and reads texts of their length.
    """
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
    """An encoder, or a cross-encoder, trained on judged queries with negatives.

    Args:
        texts: the passages, the training queries, and how the model reads them.
        passages_per_query: the positive and its negatives; a batch is of so many queries with theirs.
        negative_choice, positive_choice: which of a query's passages an epoch takes, see the stage; only what
            departs from the usual rules is a parameter.
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
    """The parameters of a training, in the order in which plans list them."""
    params = _of(optimisation)
    seed = {"seed": params.pop("seed")}
    return {"objective": objective.identity, "options": dict(options), **batch, **params, **texts, **seed}


def _of(optimisation: Optimisation) -> dict[str, Any]:
    """The parameters of an optimisation. Raises UsageError for a warm-up that never ends.

    A scale may cut a training short within its warm-up; a recipe that states one has made a mistake.
    """
    if optimisation.is_all_warm_up:
        steps = f"{optimisation.warmup_steps} steps of warm-up, and ends after {optimisation.max_steps}"
        raise UsageError(f"the training has {steps}; give fewer warmup_steps, or more max_steps")
    return optimisation.as_params()
