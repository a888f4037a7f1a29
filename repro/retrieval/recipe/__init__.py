"""Functions for recipes. Each returns a node of the graph and runs nothing.

A recipe is a function ``recipe(request, *, option=…) -> Node`` in a paper's ``recipes.py``, e.g. one that
ends in ``return recipe.search(passages, topics, depth=1000)``. It returns a run over ``request.dataset``, or
several as ``Runs``. Values that a paper leaves open come from ``request.reading(id)``. Hyper-parameters have
no defaults here, and scales are applied later.
"""

from repro.retrieval.recipe.ranking import (
    bm25,
    encode,
    encode_views,
    index_size,
    inspect_text,
    judged_examples,
    mine,
    mine_answers,
    project,
    released_encoder,
    released_reranker_or,
    rerank,
    score_pairs,
    search,
    search_views,
    top_passages,
    union,
    weigh_terms,
)
from repro.retrieval.recipe.request import full_only, only_at
from repro.retrieval.recipe.training import (
    MLM,
    NEIGHBOURS,
    Texts,
    backbone,
    corpus,
    finetune,
    initialise,
    listed_negatives,
    official_negatives,
    pretrain,
    pretrained_like,
    qrels,
    queries,
    random_weights,
    released_or,
    sample,
    term_statistics,
    tokenize,
    tokenize_spans,
)
from repro.retrieval.training.declaration import Objective, Optimisation
