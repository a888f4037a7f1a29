"""Learning curves of small models trained from scratch, on held-out training queries, one setting at a time.

Every setting is stated in ``cells.yaml``, once for all figures. Scale ``curves`` leaves them as they are.
"""

from dataclasses import replace
from math import sqrt
from typing import Any

from papers.baselines.ms_marco import CONTRASTIVE, NO_PROJECTOR
from papers.baselines.two_stage import Dense, TwoStage, cls_texts
from papers.head_to_head import recipes
from papers.head_to_head.recipes import FOREIGN_LENGTHS, LENGTHS, MASKING
from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe import Optimisation
from repro.retrieval.recipe.request import Request

POOL = "msmarco-passage/train-pool-12k"
FITTING = f"{POOL}/train/fitting"
PRETRAININGS = {
    "mlm": (recipe.MLM, {"reduction": "mean"}),
    "neighbours": (recipe.NEIGHBOURS, {"sentence_end": "."}),
}
BACKBONE = "backbone"
WIDTH = 768  # of BERT, whose deviation of first weights is stated
LENGTH, TEXTS = 64, 64  # tokens of a text, and texts in a batch, of a pre-training
DEPTH = 200


@recipe.only_at("curves")
def from_scratch(
    request: Request,
    *,
    layers: int,
    width: int,
    vocabulary: int,
    deviation: float,
    dropout: float,
    pretraining: str,
    pretraining_steps: int,
    pretraining_rate: float,
    pretraining_batch: int,
    pooling: str,
    similarity: str,
    temperature: float,
    steps: int,
    queries: int,
    batch: int,
    passages: int,
    rate: float,
    objective_steps: int,
    objective_rate: float,
    pretraining_seed: int | None = None,
    encoder: str | None = None,
    options: dict[str, Any] | None = None,
    texts_per_row: int = 1,
) -> Node:
    """Rank by a small BERT from scratch, optionally pre-trained on Wikipedia and fine-tuned on ``POOL``.

    Args:
        layers: number of layers. 0 leaves word and position vectors under a LayerNorm.
        deviation: standard deviation of initial weights at width 768. At another width it is multiplied by
            sqrt(768 / width).
        pretraining: a key of ``PRETRAININGS``, or ``backbone``: the checkpoint that the study's rows start
            from. The options of the new model then have no effect.
        pretraining_batch: texts per step of pre-training.
        pretraining_seed: seed of initial weights and pre-training, by default that of the request.
        queries: number of fine-tuning queries, drawn from those that are not held out.
        batch, passages: queries per step, and passages per query: a positive and negatives by BM25.
        pretraining_steps, objective_steps, steps: of pre-training, a second one and fine-tuning, 0 for none.
        encoder, options, texts_per_row, objective_rate: the second pre-training, as in the study's ``row``.
    """
    seed = request.seed_or(42)
    first = seed if pretraining_seed is None else pretraining_seed
    model = _blank(
        layers=layers, width=width, vocabulary=vocabulary, deviation=deviation, dropout=dropout, seed=first
    )
    how = _optimisation(batch=pretraining_batch, steps=pretraining_steps, rate=pretraining_rate, seed=first)
    model = _pretrained(model, pretraining, how)
    if objective_steps and encoder:
        made = recipes.papers_own(request, encoder, options or {})
        how = _optimisation(batch=TEXTS, steps=objective_steps, rate=objective_rate, seed=seed)
        model = _further(made, model, how, texts_per_row=texts_per_row)
    compared = {"temperature": temperature, "similarity": similarity}
    if steps:
        stages = _stages(POOL, pooling, compared, passages)
        how = _optimisation(batch=batch, steps=steps, rate=rate, seed=seed)
        model = stages.tuned(model, _negatives(queries, seed), how)
    stages = _stages(request.collection, pooling, compared, passages)
    return stages.search(model, request.dataset, depth=DEPTH)


def _blank(*, layers: int, width: int, vocabulary: int, deviation: float, dropout: float, seed: int) -> Node:
    return recipe.initialise(
        recipe.corpus("wikipedia"),
        vocabulary=vocabulary,
        hidden_size=width,
        layers=layers,
        heads=max(1, width // 64),
        intermediate_size=4 * width,
        max_positions=512,
        dropout=dropout,
        deviation=round(deviation * sqrt(WIDTH / width), 4),
        seed=seed,
    )


def _pretrained(blank: Node, objective: str, how: Optimisation) -> Node:
    if objective == BACKBONE:
        return recipes.bert()
    if how.max_steps == 0:
        return blank
    text = recipe.corpus("wikipedia")
    tokens = recipe.tokenize(text, model=blank, length=LENGTH, policy="chunk", titles=True, separator=" ")
    kind, options = PRETRAININGS[objective]
    return recipe.pretrain(tokens, objective=kind, options={"masking": MASKING} | options, optimisation=how)


def _further(made: Node, start: Node, how: Optimisation, *, texts_per_row: int) -> Node:
    own = recipes.at_equal_tokens(
        made, texts_per_row=texts_per_row, seed=how.seed, start=start, optimisation=how
    )
    generator = {"generator": start} if "generator" in own.inputs else {}
    return Node(own.stage, own.params, {**own.inputs, **generator})


def _optimisation(*, batch: int, steps: int, rate: float, seed: int) -> Optimisation:
    return Optimisation(
        batch_size=batch,
        max_steps=steps,
        learning_rate=rate,
        warmup_ratio=0.1,
        schedule="linear",
        weight_decay=0.01,
        max_grad_norm=1.0,
        precision="fp32",
        seed=seed,
    )


def _negatives(queries: int, seed: int) -> Node:
    run = recipe.bm25(  # Anserini's parameters, tuned on MS MARCO passages
        recipe.corpus(POOL), recipe.queries(FITTING), k1=0.82, b=0.68, multifield=False, depth=DEPTH
    )
    every = recipe.mine(run, recipe.qrels(FITTING), depth=DEPTH, per_query=30, seed=42)
    return recipe.sample(every, queries=queries, sample=0, method="random", seed=seed)


def _stages(collection: str, pooling: str, options: dict, passages: int) -> TwoStage:
    lengths = LENGTHS if collection == POOL else FOREIGN_LENGTHS
    texts = cls_texts(recipe.corpus(collection), FITTING, separator="[SEP]", **lengths)
    return TwoStage(
        train=FITTING,
        texts=replace(texts, pooling=pooling),
        representation=Dense(normalize=options["similarity"] == "cosine", precision="fp32"),
        objective=CONTRASTIVE,
        options={**options, "negatives": "in-batch", **NO_PROJECTOR},
        passages_per_query=passages,
    )


@recipe.only_at("curves")
def bm25(request: Request) -> Node:
    """Return the ranking of the study's row BM25, which figures show as a horizontal line."""
    return recipes.bm25(request)
