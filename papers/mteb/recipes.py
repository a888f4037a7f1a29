"""Recipes of the rows: released encoders, run as MTEB runs them."""

from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe import Conventions
from repro.retrieval.recipe.request import Request
from repro.stage_table import MODULES

DEPTH = 1000  # MTEB keeps the first 1,000 documents


@recipe.full_only("a released checkpoint is measured at full scale only")
def encoder(request: Request, *, model: str, revision: str, length: int) -> Node:
    """Rank a collection by cosine, with titles and texts joined by a space and without prompts.

    Args:
        model, revision: name and commit on the hub, e.g. of ``sentence-transformers/all-MiniLM-L6-v2``.
        length: the maximum number of tokens of a query or document, the model's own limit.

    readings: identical-ids.
    """
    without_own = request.reading("identical-ids")
    request.score_with(ignore_identical_ids=without_own is None or request.collection in without_own)
    conventions = Conventions(
        pooling=MODULES, similarity="cosine", query_length=length, passage_length=length, separator=" "
    )
    released = recipe.released_encoder(model, revision=revision, kind="dense", pooling=MODULES)
    documents, topics = recipe.corpus(request.collection), recipe.queries(request.dataset)
    return recipe.released_ranking(
        documents, topics, models=(released, released), conventions=conventions, depth=DEPTH
    )
