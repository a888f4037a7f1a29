"""The pre-trained encoders that several papers compare with, by row, e.g. ``ict``. All start from BERT."""

from typing import Any

from papers.baselines.function_words import stop_words
from papers.baselines.wikipedia import bert, masking, pretrained
from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe import Objective
from repro.retrieval.recipe.request import Request

ICT = Objective(
    "ict",
    1,
    "papers.baselines.inverse_cloze:InverseCloze",
    "similarity=dot|cosine short_text=whole|drop mlm_on=context|text mlm_reduction=mean|sum "
    "resample=once|epoch",
    token_lengths=("query_tokens",),
)
PROP = Objective(
    "prop",
    2,
    "papers.baselines.representative_words:RepresentativeWords",
    "resample=once|epoch",
    token_lengths=("set_most_tokens", "skip_below"),
)
B_PROP = Objective(
    "b-prop",
    2,
    "papers.baselines.contrastive_term_words:ContrastiveTermWords",
    "resample=once|epoch pieces=first|sum contrast=cross-entropy|difference normalise_over=all|drawable",
    token_lengths=("set_most_tokens", "skip_below"),
)
SEED = Objective(
    "seed",
    1,
    "papers.baselines.weak_decoder:WeakDecoder",
    "decoder=cross-attention|slot encoder_input=masked|clean decoder_input=masked|clean "
    "embeddings=shared|own head=shared|own reduction=mean|sum",
)
CONDENSER = Objective(
    "condenser", 2, "papers.baselines.condenser:Condenser", "unit=whole-word|bernoulli quota=text|all"
)
SIMCSE = Objective("simcse", 1, "papers.baselines.dropout_contrast:DropoutContrast", "similarity=dot|cosine")


def ict(request: Request) -> Node:
    """Pre-train ICT: a sentence is matched with the rest of its text (COSTA §2.2, §4.3.2)."""
    ask = request.reading
    options = {
        "temperature": ask("ict-temperature"),
        "similarity": ask("ict-similarity"),
        "weight": ask("ict-weight"),
        "keep": ask("ict-pretraining"),
        "sentence_ends": ask("sentence-splitter"),
        "query_tokens": ask("ict-query-length"),
        "short_text": ask("ict-short-text"),
        "mlm_on": ask("ict-mlm"),
        "resample": ask("ict-resampling"),
        "mlm_reduction": ask("baseline-mlm-reduction"),
        "mlm_head": ask("mlm-head"),
        "masking": masking(request),
    }
    return pretrained(request, ICT, options, **ask("baseline-pretraining"))


def prop(request: Request) -> Node:
    """Pre-train PROP: prefer the word set that the text's language model finds likelier (COSTA §2.2)."""
    ask = request.reading
    options = _preference(request, "prop") | {
        "stop_words": stop_words(request),
        "smoothing": ask("prop-smoothing"),
        "collection": ask("prop-collection-model"),
        "candidate_words": ask("prop-candidates"),
        "subsampling": ask("prop-subsampling"),
    }
    own = pretrained(request, PROP, options, counts=True, **ask("baseline-pretraining"))
    return recipe.released_or(own, ask("prop-bi-encoder"))  # the checkpoint is a cross-encoder


def b_prop(request: Request) -> Node:
    """Pre-train B-PROP: PROP with word sets drawn by the attention of [CLS] (COSTA §4.3.2)."""
    ask = request.reading
    stopped = ask("b-prop-stop-words") == "stop-words"
    options = _preference(request, "b-prop") | {
        "stop_words": stop_words(request) if stopped else [],
        "normalise_over": ask("b-prop-normalisation"),
        "pieces": ask("b-prop-attention"),
        "saturation": ask("b-prop-saturation"),
        **ask("b-prop-contrast"),
        "collection": ask("b-prop-random-distribution"),
    }
    # no public checkpoint at all (reading: prop-bi-encoder)
    return pretrained(request, B_PROP, options, counts=True, **ask("baseline-pretraining"))


def seed(request: Request) -> Node:
    """Pre-train SEED: a weak auto-regressive decoder of three layers and span 2 (COSTA §2.2)."""
    ask = request.reading
    options = {
        "decoder": ask("seed-decoder"),
        "decoder_layers": 3,
        **ask("seed-span"),
        "encoder_input": ask("seed-encoder-input"),
        "decoder_input": ask("seed-decoder-input"),
        **ask("seed-sharing"),
        "weight": ask("seed-weight"),
        "reconstruct_sep": ask("seed-targets"),
        "reduction": ask("baseline-mlm-reduction"),
        "masking": masking(request),
        "mlm_head": ask("mlm-head"),
    }
    own = pretrained(request, SEED, options, **ask("baseline-pretraining"))
    return recipe.released_or(own, ask("seed-checkpoint"))


def simcse(request: Request) -> Node:
    """Pre-train SimCSE: a text under two dropout masks is its own positive (CPDAE §4.1.2)."""
    ask = request.reading
    options = {**ask("simcse-loss"), "projector": ask("simcse-projector"), "mlm": ask("simcse-mlm")}
    own = pretrained(request, SIMCSE, options, **ask("baseline-pretraining"))
    return recipe.released_or(own, ask("simcse-checkpoint"))


def _preference(request: Request, name: str) -> dict[str, Any]:
    ask = request.reading
    return {
        "pairs": ask("word-set-pairs"),
        "set_size_mean": 3.0,
        "set_size": ask("word-set-size"),
        "set_most_tokens": ask("word-set-length"),
        "repeats": ask("word-set-repeats")[name],
        "ties": ask("word-set-ties"),
        "set_words": ask("word-set-words"),
        **ask("short-text-skipping")[name],
        "resample": ask("word-set-resampling"),
        "word_counts": ask("word-counts-of-pieces"),
        "similarity": ask("preference-similarity"),
        "scores": ask("preference-scores"),
        "margin": 1.0,
        "weight": ask("preference-weight"),
        "contrastive_input": ask("preference-input"),
        "mlm_reduction": ask("baseline-mlm-reduction"),
        "masking": ask("preference-masking"),
    }


BASELINES = {"bert": bert, "ict": ict, "prop": prop, "b-prop": b_prop, "seed": seed, "simcse": simcse}
