"""Fine-tuning for BEIR and its zero-shot evaluation (§4.2, Table 3)."""

from papers.baselines.two_stage import marco_passages
from papers.cotmae_v2.marco import DEPTH, Marco, optimisation
from papers.cotmae_v2.views import Views
from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe import Texts
from repro.retrieval.recipe.request import Request

LISTED = "msmarco-passage/train/hard-negatives"


def trained(request: Request, encoder: Node) -> Node:
    """Fine-tune ``encoder`` on MS MARCO for ten epochs at 1e-5, with one negative per query (§4.2).

    readings: beir-batch, beir-training-text.
    """
    ask = request.reading
    sizes, text = ask("beir-batch"), ask("beir-training-text")
    documents = marco_passages(request) if text["titles"] else recipe.corpus("msmarco-passage")
    stages = Views(request).stages(documents, length=text["length"], passages=sizes["passages"])
    decay, queries = ask("fine-tuning-weight-decay"), sizes["queries"]
    how = optimisation(request, queries=queries, epochs=10, learning_rate=1e-5, weight_decay=decay)
    return stages.tuned(encoder, _negatives(request, encoder), how)


def run(request: Request, model: Node) -> Node:
    """Return the model's ranking of the request's queries. Readings determine lengths, the use of identical
    ids and the joining of titles."""
    ask = request.reading
    lengths = ask("beir-lengths")
    request.score_with(ignore_identical_ids=ask("dense-identical-ids"))
    texts = Texts(
        documents=recipe.corpus(request.collection),
        topics=recipe.queries(request.dataset),
        query_length=lengths["query"],
        passage_length=lengths["passage"],
        separator=ask("beir-title-separator"),
    )
    return Views(request).search(model, texts, depth=DEPTH)


def _negatives(request: Request, encoder: Node) -> Node:
    """Return negatives from a public file, or negatives mined with a model that is first fine-tuned from
    ``encoder`` on MS MARCO, stage one (reading: beir-negatives)."""
    how = request.reading("beir-negatives")
    if how["source"] == "mined":
        marco = Marco.second_version(request, Views(request))
        return marco.mined(marco.stage_one(encoder))
    return recipe.listed_negatives(LISTED, margin=how["margin"], per_system=how["per_system"])
