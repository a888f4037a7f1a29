"""The BERT of a scale in place of the papers' own, with random weights or trained on the scale's text."""

from repro import recipe
from repro.graph import Node
from repro.recipe import Objective, Optimisation
from repro.running.scale_facts import Backbone

MASKING = {"rate": 0.15, "mask": 0.8, "random": 0.1}  # BERT's
OBJECTIVES = {  # with what else each asks for
    "mlm": (Objective("mlm", 1, "repro.nn.mlm:MaskedLanguageModel"), {"reduction": "mean"}),
    "neighbours": (
        Objective("neighbours", 1, "repro.nn.neighbours:NeighbouringSentences"),
        {"sentence_end": "."},
    ),
}


def random_backbone(facts: Backbone) -> Node:
    """A BERT with random weights, over the vocabulary of the scale's text."""
    vocabulary = Node("vocabulary", {"size": facts.vocabulary}, {"corpus": recipe.corpus(facts.corpus)})
    return Node("initialise", facts.initialise.model_dump(), {"tokenizer": vocabulary})


def drawn_anew(blank: Node, seed: int, layers: int | None) -> Node:
    """A model like ``blank`` with weights of another draw, and with ``layers`` layers where that is given."""
    changes = {"seed": seed} | ({} if layers is None else {"layers": layers})
    return Node(blank.stage, blank.params | changes, blank.inputs)


def trained_backbone(facts: Backbone, blank: Node) -> Node:
    """``blank``, trained on the scale's text."""
    length = facts.pretrain.length
    params = {"length": length, "policy": "chunk", "titles": True, "separator": " "}
    tokens = Node("tokenize", params, {"corpus": recipe.corpus(facts.corpus), "model": blank})
    optimisation = Optimisation(
        batch_size=facts.pretrain.texts_per_batch,
        max_steps=facts.pretrain.max_steps,
        learning_rate=facts.pretrain.learning_rate,
        warmup_ratio=0.1,
        schedule="linear",
        weight_decay=0.01,
        max_grad_norm=1.0,
        precision="fp32",
        seed=facts.initialise.seed,
    )
    objective, options = OBJECTIVES[facts.objective]
    options = {"masking": MASKING} | options
    return recipe.pretrain(tokens, objective=objective, options=options, optimisation=optimisation)
