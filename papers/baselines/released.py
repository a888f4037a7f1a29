"""Rows of systems with a released encoder, which encodes and searches and is never trained."""

from dataclasses import replace
from pathlib import Path

from papers.baselines.ms_marco import of_set, score_columns
from papers.baselines.two_stage import marco_passages
from repro.errors import check_known
from repro.graph import Node
from repro.manifest.papers import ReleasedModel, released_models
from repro.retrieval import recipe
from repro.retrieval.recipe import Conventions, released_ranking
from repro.retrieval.recipe import released_encoder as checkpoint
from repro.retrieval.recipe.request import Request

FILE = Path(__file__).with_suffix(".yaml")
DEPTH = 1000  # every recall in the four papers' tables is at 1,000 or less


@recipe.full_only("a released checkpoint is measured at full scale only")
def retriever(
    request: Request,
    *,
    system: str,
    recall: str | None = None,
    read: str | None = None,
    stand_in: Node | None = None,
) -> Node:
    """Rank by a released checkpoint, used as documented (released.yaml).

    Args:
        system: an id of released.yaml.
        recall: id of the reading for the definition of recall in this row.
        read: id of the reading for the length of passages on ``dev`` and ``trec``, if it differs from the
            makers' length.
        stand_in: the retriever trained here that replaces the authors' checkpoint below full scale.

    Raises UsageError for an unknown system.
    """
    entries = released_models(FILE)
    check_known("released encoder", system, valid=entries)
    entry = entries[system]
    score_columns(request, recall)
    if request.collection.startswith("beir/") and "dense-identical-ids" in request.choices.readings:
        request.score_with(ignore_identical_ids=request.reading("dense-identical-ids"))
    used = _conventions(entry)
    if read is not None:
        used = replace(used, passage_length=of_set(request, request.reading(read))["length"])
    passages, queries = (
        checkpoint(
            weights.model, revision=weights.revision, kind=used.kind, pooling=used.pooling, stand_in=stand_in
        )
        for weights in (entry.passages, entry.queries or entry.passages)
    )
    topics = recipe.queries(request.dataset)
    return released_ranking(
        _documents(request, used), topics, models=(passages, queries), conventions=used, depth=DEPTH
    )


def _conventions(entry: ReleasedModel) -> Conventions:
    return Conventions(
        kind=entry.kind,
        pooling=entry.pooling or "cls",
        similarity=entry.similarity,
        query_length=entry.lengths.query,
        passage_length=entry.lengths.passage,
        separator=entry.separator,
        query_prefix=entry.query_prefix,
        passage_prefix=entry.passage_prefix,
    )


def _documents(request: Request, used: Conventions) -> Node:
    """Return the request's collection, MS MARCO with titles if the encoder reads them."""
    if request.collection != "msmarco-passage" or used.separator is None:
        return recipe.corpus(request.collection)
    return marco_passages(request)
