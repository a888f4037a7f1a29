"""Pre-training on English Wikipedia from BERT's weights (COSTA §4.5.1, CPDAE §4.1.3): Adam, learning rate
5e-5, linear warm-up over the first tenth of the steps, articles in chunks."""

from collections.abc import Mapping
from typing import Any

from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe import Objective, Optimisation
from repro.retrieval.recipe.request import Request


def bert(request: Request) -> Node:
    """Return the checkpoint that every training starts from."""
    return recipe.backbone(request.reading("backbone-checkpoint"), revision="main")


def masking(request: Request) -> dict[str, Any]:
    """Return the arguments of ``masked_tokens``: its rates, and how tokens are drawn (readings: mlm-masking,
    mlm-draw)."""
    return {**request.reading("mlm-masking"), **request.reading("mlm-draw")}


def pretrained(
    request: Request,
    objective: Objective,
    options: Mapping[str, Any],
    *,
    texts_per_batch: int,
    epochs: int,
    length: int,
    counts: bool = False,
) -> Node:
    """Return the node of BERT trained further with an objective on Wikipedia in chunks of ``length`` tokens.
    With ``counts``, the objective also reads the corpus's term statistics."""
    ask = request.reading
    tokens = recipe.tokenize(
        recipe.corpus("wikipedia"),
        model=bert(request),
        length=length,
        policy=ask("chunking"),
        **ask("wikipedia-titles"),
        fewest_tokens=ask("wikipedia-cleaning"),
    )
    return recipe.pretrain(
        tokens,
        objective=objective,
        options=options,
        optimisation=Optimisation(
            batch_size=texts_per_batch,
            epochs=epochs,
            learning_rate=5e-5,
            warmup_ratio=0.1,
            schedule=ask("pretraining-schedule"),
            **ask("pretraining-optimizer"),
            precision=ask("pretraining-precision"),
            seed=ask("pretraining-seed"),
        ),
        statistics=recipe.term_statistics(tokens, model=bert(request)) if counts else None,
    )
