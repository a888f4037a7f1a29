"""Pre-training of both versions (§3.2, §4.1, and the first version's script)."""

from collections.abc import Sequence
from typing import Any

from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe import Objective, Optimisation
from repro.retrieval.recipe.request import Request

OBJECTIVE = Objective(
    "contextual-autoencoder",
    2,
    "papers.cotmae_v2.multi_view_autoencoder:MultiViewAutoEncoder",
    "windows=shared|apart decoder_contexts=independent|same encoded_texts=anchor|both "
    "view_losses=sum|mean bottleneck_slot=replace|prepend vocabulary_head=transform|plain "
    "detached_embeddings=projection|everywhere token_loss_reduction=sum|mean "
    "bottleneck_input=masked|clean",
    passes={"encoders": 1, "layers": 4, "heads": 4.5},
)
VIEWS, DECODERS = ("dense", "sparse"), ("auto_encoding", "auto_regressive")
NO_SECOND_VIEW = {  # options without effect on one view and one decoder
    "decoder_contexts": "independent",
    "view_losses": "sum",
    "decoder_sharing": True,
    "autoregressive_window": 0,
    "causal_targets": True,
    "sparse_positions": {"cls": False, "sep": False},
    "vocabulary_head": "transform",
    "detached_embeddings": "projection",
}
LENGTHS = {"msmarco-document": 144, "wikipedia-and-bookcorpus": 512}  # §4.1


def bert(request: Request) -> Node:
    """Return BERT_base, the start of every training (§4.1)."""
    return recipe.backbone(request.reading("backbone-checkpoint"), revision="main")


def second_version(
    request: Request,
    *,
    benchmark: str = "msmarco",
    views: Sequence[str] = VIEWS,
    decoders: Sequence[str] = DECODERS,
    seed: int | None = None,
) -> Node:
    """Pre-train with two views and two decoders (§3.2): 50k steps of 16k texts at 4e-4.

    Args:
        benchmark: msmarco or beir, with different pre-training corpora (reading: pretraining-corpus).
        views, decoders: the views and decoders that are trained, see Table 4.
        seed: a seed other than that of §4.1 (Figure 3).
    """
    ask = request.reading
    options = _shared(request) | {
        "views": list(views),
        "decoders": list(decoders),
        "encoded_texts": ask("encoded-texts"),
        "decoder_contexts": ask("decoder-contexts"),
        "masking_rates": ask("masking-rates"),
        "view_losses": ask("view-losses"),
        "decoder_sharing": ask("decoder-sharing"),
        "decoder_layers": ask("decoder-layers"),
        "autoregressive_window": ask("autoregressive-window"),
        "causal_targets": ask("causal-targets"),
        "sparse_positions": ask("sparse-pooling-positions"),
        "vocabulary_head": ask("vocabulary-head"),
        "detached_embeddings": ask("detached-embeddings"),
        "windows": "shared",
    }
    corpus = ask("pretraining-corpus")[benchmark]
    how = {"texts_per_batch": ask("pretraining-batch"), "steps": 50_000, "learning_rate": 4e-4}
    how["examples"] = ask("pretraining-examples")
    return _pretrained(request, options, corpus=corpus, length=LENGTHS[corpus], seed=seed, **how)


def first_version(
    request: Request, *, seed: int | None = None, reading: str = "first-version-pretraining"
) -> Node:
    """Pre-train with one view and one decoder, with both texts encoded (CoT-MAE's first version). A document
    gives two spans to encode, so a batch of documents is half as large.

    Args:
        seed: a seed other than the reading's (Figure 3). The encoder is then always trained here, and the
            released one is not used.
        reading: id of the reading with steps and batch size. If its choice is null, those of
            first-version-pretraining are used.
    """
    ask = request.reading
    how = dict(ask(reading) or ask("first-version-pretraining"))
    options = _shared(request) | NO_SECOND_VIEW
    options |= {"views": ["dense"], "decoders": ["auto_encoding"], "encoded_texts": "both"}
    options["masking_rates"] = ask("first-version-masks")
    options["windows"] = ask("first-version-windows")
    kinds = dict.fromkeys(DECODERS, "bert")
    options["decoder_layers"] = {**kinds, "layers": how.pop("layers")}
    how["texts_per_batch"] //= 2
    own = _pretrained(request, options, corpus="msmarco-document", seed=seed, **how)
    return recipe.released_or(own, ask("first-version-encoder") if seed is None else None)


def _shared(request: Request) -> dict[str, Any]:
    ask = request.reading
    return {
        "context_kinds": ask("context-selection"),
        "truncation": ask("span-truncation"),
        "masking_unit": ask("masking-unit"),
        "bottleneck_slot": ask("bottleneck-slot"),
        "token_loss_reduction": ask("token-loss-reduction"),
        **ask("bottleneck-input"),
    }


def _pretrained(
    request: Request,
    options: dict[str, Any],
    *,
    corpus: str,
    length: int,
    texts_per_batch: int,
    steps: int,
    learning_rate: float,
    seed: int | None,
    examples: str = "rows",
) -> Node:
    """Return BERT trained further, with a linear schedule and warm-up over a tenth of the steps (§4.1)."""
    ask = request.reading
    spans = recipe.tokenize_spans(
        _documents(request, corpus),
        model=bert(request),
        length=length,
        splitter=_splitter(request),
        packing=ask("span-packing"),
        fields=ask("document-fields"),
        seed=ask("pretraining-seed"),
    )
    return recipe.pretrain(
        spans,
        objective=OBJECTIVE,
        options=options,
        optimisation=Optimisation(
            batch_size=texts_per_batch,
            max_steps=steps,
            learning_rate=learning_rate,
            warmup_ratio=0.1,
            schedule="linear",
            **ask("pretraining-weight-decay"),
            precision=ask("pretraining-precision"),
            seed=ask("pretraining-seed") if seed is None else seed,
        ),
        examples=examples,
    )


def _documents(request: Request, corpus: str) -> Node:
    """Return the corpus of reading pretraining-corpus, with or without BookCorpus (reading: bookcorpus)."""
    if corpus == "wikipedia-and-bookcorpus":
        corpus = {"bookcorpus": "wikipedia-bookcorpus", "none": "wikipedia"}[request.reading("bookcorpus")]
    return recipe.corpus(corpus)


def _splitter(request: Request) -> str:
    """Return the name of the sentence splitter: Punkt's, which needs a separate model file, or rules
    (reading: sentence-splitter)."""
    wanted = request.reading("sentence-splitter")
    model = "nltk_data/tokenizers/punkt_tab/english"
    how = {"otherwise": "rule-based", "known_as": "nltk"}
    if wanted == "nltk" and not request.choices.original("sentence-splitter", model, **how):
        return "rules"
    return wanted
