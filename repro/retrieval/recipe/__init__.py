"""The verbs of recipes: each builds a node, none runs anything, none knows the scale.

A recipe is a function ``recipe(request, *, option=…) -> Node`` in a paper's ``recipes.py``. It returns the
node whose artefact is measured: a run over ``request.dataset`` (or several, as ``Runs``). Every value a paper
leaves open comes from ``request.reading(id)``; no verb has a default for a hyper-parameter.
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
