"""Recipes of baseline rows that are not a reproduced paper's own method, e.g. ``bm25``."""

from papers.baselines.ms_marco import of_set, score_columns
from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe.request import Request

FULL_ONLY = "expanded passages and term weights exist at full scale only"
DEPTH = 1000  # every recall in the four papers' tables is at 1,000 or less


def bm25(
    request: Request,
    *,
    parameters: str = "bm25-parameters",
    document_parameters: str | None = None,
    identical_ids: str | None = None,
    recall: str | None = None,
) -> Node:
    """Rank by Lucene's BM25, with the k1, b and fields of the paper's own reading.

    Args:
        parameters: id of the reading with ``{k1, b, multifield}``, or with one such mapping each for ``dev``
            and ``trec``.
        document_parameters: the same for MS MARCO documents.
        recall: id of the reading for the definition of recall in this row.
        identical_ids: id of the reading that decides whether documents with the query's own id are ignored.
    """
    documents = recipe.corpus(request.collection)
    topics = recipe.queries(request.dataset)
    score_columns(request, recall)
    if identical_ids is not None:
        request.score_with(ignore_identical_ids=request.reading(identical_ids))
    of_documents = document_parameters if request.collection == "msmarco-document" else None
    used = request.reading(of_documents or parameters)
    used = of_set(request, used) if "dev" in used else used
    return recipe.bm25(documents, topics, **used, depth=DEPTH)


@recipe.full_only(FULL_ONLY)
def expanded_bm25(request: Request, *, corpus: str, recall: str | None = None) -> Node:
    """Rank by BM25 passages with appended predicted queries (docT5query's expansions).

    Args:
        corpus: id of the expanded collection.
        recall: id of the reading for the definition of recall in this row.
    """
    score_columns(request, recall)
    topics, settings = recipe.queries(request.dataset), request.reading("expanded-bm25-parameters")
    return recipe.bm25(recipe.corpus(corpus), topics, **settings, depth=DEPTH)


@recipe.full_only(FULL_ONLY)
def deepct(request: Request, *, recall: str | None = None) -> Node:
    """Rank by BM25 with DeepCT's weights as term frequencies. ``recall`` is the id of the reading for the
    definition of recall in this row."""
    score_columns(request, recall)
    ask = request.reading
    model = recipe.released_encoder(
        ask("deepct-checkpoint"), revision="main", kind="term-weights", pooling=None
    )
    weighed = recipe.weigh_terms(model, recipe.corpus(request.collection), **ask("deepct-weights"))
    topics = recipe.queries(request.dataset)
    return recipe.bm25(weighed, topics, **ask("deepct-bm25-parameters"), depth=DEPTH)
