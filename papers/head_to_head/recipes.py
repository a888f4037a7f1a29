"""One text, one number of tokens, one optimiser, one fine-tuning; only the objective of pre-training differs.

Every paper's objective comes with its own options under the default readings. What is the same for all is
stated here once; no paper prescribes it.
"""

from __future__ import annotations

from typing import Any

from papers.baselines.ms_marco import CONTRASTIVE, NO_PROJECTOR, OFFICIAL_NEGATIVES, PASSAGES
from repro import recipe
from repro.graph import Node
from repro.manifest.papers import load, papers
from repro.recipe import Objective
from repro.recipe.request import Choices, Request
from repro.running.measurement import readings_for

MLM = Objective("mlm", 1, "repro.nn.mlm:MaskedLanguageModel")
LENGTH, ROWS, STEPS = 512, 64, 60_000  # 64 texts x 512 tokens x 60,000 steps = 2.0 G tokens
PRETRAINING = {
    "epochs": None,
    "max_steps": STEPS,
    "learning_rate": 5e-5,
    "warmup_ratio": 0.1,
    "warmup_steps": 0,
    "schedule": "linear",
    "weight_decay": 0.01,
    "max_grad_norm": 1.0,
    "precision": "fp16",
    "length": LENGTH,
}
FINE_TUNING = {
    "queries_per_batch": 16,
    "passages_per_query": 4,
    "epochs": 3,
    "max_steps": None,
    "learning_rate": 1e-5,
    "warmup_ratio": 0.1,
    "warmup_steps": 0,
    "schedule": "linear",
    "weight_decay": 0.01,
    "max_grad_norm": 1.0,
    "precision": "fp16",
    "query_length": 32,
    "passage_length": 144,
    "separator": "[SEP]",
    "pooling": "cls",
}
ENCODING = {"separator": "[SEP]", "pooling": "cls", "normalize": False, "precision": "fp16"}
FOREIGN_LENGTHS = {"query": 64, "passage": 256}  # questions and abstracts of the zero-shot sets
NEGATIVES_PER_QUERY = 30
DEPTH = 1000


def row(
    request: Request,
    *,
    encoder: str | None = None,
    options: dict[str, Any] | None = None,
    texts_per_row: int = 1,
) -> Node:
    """A run of the encoder that a pre-training and the common fine-tuning give.

    Args:
        encoder: ``module:function`` of a paper's pre-training, with its ``options``; None for no further one.
        texts_per_row: texts of full length that one example feeds the encoder and decoders with.
    """
    seed = request.seed_or(42)
    model = bert()
    if encoder:
        model = at_equal_tokens(_own(request, encoder, options or {}), texts_per_row=texts_per_row, seed=seed)
    return _run(request, _tuned(model, seed))


def bert() -> Node:
    """The checkpoint that every pre-training starts from."""
    return recipe.backbone("bert-base-uncased", revision="main")


def masked_language_model(request: Request) -> Node:
    """BERT's own objective, continued."""
    options = {"masking": {"rate": 0.15, "mask": 0.8, "random": 0.1}, "reduction": "mean"}
    return recipe.pretrain(
        bert(), _chunks(), objective=MLM, options=options, texts_per_batch=ROWS, seed=42, **PRETRAINING
    )


def at_equal_tokens(made: Node, *, texts_per_row: int, seed: int) -> Node:
    """A paper's pre-training with its objective and options, on the common text and schedule."""
    tokens = made.inputs["tokens"]
    if tokens.params["policy"] == "spans":  # an objective that draws its texts from whole documents
        params = tokens.params | {"length": LENGTH, "fields": ["title", "body"]}
        tokens = Node("tokenize", params, {"corpus": recipe.corpus("wikipedia"), "model": bert()})
    else:
        tokens = _chunks()
    params = made.params | PRETRAINING | {"texts_per_batch": ROWS // texts_per_row, "seed": seed}
    return Node("pretrain", params, made.inputs | {"model": bert(), "tokens": tokens})


def _chunks() -> Node:
    return recipe.tokenize(
        recipe.corpus("wikipedia"), model=bert(), length=LENGTH, policy="chunk", titles=True, separator=" "
    )


def _own(request: Request, encoder: str, options: dict[str, Any]) -> Node:
    """What a paper pre-trains, never a released checkpoint, under the default readings of its folder."""
    choices = Choices(readings_for(papers()[encoder.split(".")[1]], encoder))
    made = load(encoder)(Request(request.dataset, choices), **options)
    return made.inputs.get("stand_in", made) if made.stage == "backbone" else made


def _tuned(model: Node, seed: int) -> Node:
    """Contrastive fine-tuning on the official BM25 negatives, dense vectors only."""
    negatives = recipe.official_negatives(
        OFFICIAL_NEGATIVES, per_query=NEGATIVES_PER_QUERY, seed=seed, judgements=recipe.qrels(PASSAGES)
    )
    options = {"temperature": 1.0, "similarity": "dot", "negatives": "in-batch", **NO_PROJECTOR}
    return recipe.finetune(
        model,
        negatives,
        documents=recipe.corpus("msmarco-passage"),
        topics=recipe.queries(PASSAGES),
        objective=CONTRASTIVE,
        options=options,
        seed=seed,
        **FINE_TUNING,
    )


def _run(request: Request, model: Node) -> Node:
    """Exact search by [CLS] vectors."""
    home = request.collection == "msmarco-passage"
    lengths = {"query": 32, "passage": 144} if home else FOREIGN_LENGTHS
    sides = {"passages": recipe.corpus(request.collection), "queries": recipe.queries(request.dataset)}
    vectors = [
        recipe.encode(model, texts, kind=kind, length=length, **ENCODING)
        for (kind, texts), length in zip(sides.items(), (lengths["passage"], lengths["query"]), strict=True)
    ]
    return recipe.search(*vectors, depth=DEPTH)
