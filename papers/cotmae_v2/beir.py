"""Fine-tuning for BEIR and its zero-shot evaluation (§4.2, Table 3)."""

from __future__ import annotations

from papers.cotmae_v2.marco import Marco
from papers.cotmae_v2.views import Representation, passages
from repro import recipe
from repro.graph import Node
from repro.recipe.request import Request

LISTED = "msmarco-passage/train/hard-negatives"


def trained(request: Request, encoder: Node) -> Node:
    """Ten epochs of about a thousand queries with one negative each, at 1e-5 (§4.2; reading:
    beir-training-text)."""
    ask, representation = request.reading, Representation(request)
    sizes, text = ask("beir-batch"), ask("beir-training-text")
    documents = passages(request) if text["titles"] else recipe.corpus("msmarco-passage")
    return representation.finetune(
        encoder,
        _negatives(request, encoder),
        distillation=None,
        queries_per_batch=sizes["queries"],
        passages_per_query=sizes["passages"],
        epochs=10,
        learning_rate=1e-5,
        documents=documents,
        passage_length=text["length"],
        warmup_ratio=ask("fine-tuning-warmup"),
        warmup_steps=0,
        schedule="linear",
        weight_decay=ask("fine-tuning-weight-decay"),
        max_grad_norm=1.0,
        precision=ask("fine-tuning-precision"),
        seed=request.seed_or(ask("fine-tuning-seed")),
    )


def run(request: Request, model: Node) -> Node:
    """The ranking of one collection, at the lengths and with the identical ids of the readings."""
    ask = request.reading
    lengths = ask("beir-lengths")
    request.score_with(ignore_identical_ids=ask("dense-identical-ids"))
    return Representation(request).search(
        model,
        recipe.corpus(request.collection),
        request.dataset,
        passage_length=lengths["passage"],
        query_length=lengths["query"],
    )


def _negatives(request: Request, encoder: Node) -> Node:
    """reading: beir-negatives. The public file, or negatives mined here."""
    how = request.reading("beir-negatives")
    if how["source"] == "mined":
        marco = Marco.second_version(request, Representation(request))
        return marco.mined(marco.stage_one(encoder))
    return recipe.listed_negatives(LISTED, margin=how["margin"], per_system=how["per_system"])
