"""How the rows of the tables are made (§4.5, and the authors' released fine-tuning scripts)."""

from __future__ import annotations

from typing import Any

from repro import recipe
from repro.graph import Node
from repro.recipe import Objective, Request

COSTA = Objective("costa", 1, "papers.costa.contrastive_spans:ContrastiveSpans")
CONTRASTIVE = Objective("contrastive", 1, "repro.nn.bi_encoder:BiEncoderContrastive")

TRAIN = "msmarco-passage/train/judged"
OFFICIAL_NEGATIVES = "msmarco-passage/train/triples-v2"
SPANS = {"word": 5, "phrase": 5, "sentence": 5, "paragraph": 5}  # §4.5.1: 5 spans for each granularity


def passage_row(request: Request, *, encoder: str, strategy: str) -> Node:
    """Passage ranking: BM25 negatives, then static hard negatives mined once (§4.5.2, Tables 1 and 3).

    Args:
        encoder: bert (the checkpoint itself) or costa (pre-trained from it).
        strategy: bm25_negatives or static_hard_negatives.
    """
    pretrained = {"bert": _bert, "costa": _costa}[encoder](request)
    head = _projector(request, encoder)
    warm_up = _finetuned(request, pretrained, _bm25_negatives(request), head=head, epochs=3)
    if strategy == "bm25_negatives":
        return _dense_run(request, warm_up, request.dataset, depth=1000)
    start = warm_up if request.reading("hard-negative-start") == "warm-up" else pretrained
    epochs = request.reading("hard-negative-epochs")
    retriever = _finetuned(request, start, _mined(request, warm_up), head=head, epochs=epochs)
    return _dense_run(request, retriever, request.dataset, depth=1000)


def _bert(request: Request) -> Node:
    return recipe.backbone(request.reading("backbone-checkpoint"), revision="main")


def _costa(request: Request) -> Node:
    """Pre-training (§3.2-3.3, §4.5.1): chunks of 512 tokens of Wikipedia, 6 epochs from BERT's weights."""
    released = request.reading("encoder-source")
    if released is not None:
        return recipe.backbone(released, revision="main")
    bert = _bert(request)
    length = 512
    chunks = recipe.tokenize(
        recipe.corpus("wikipedia"), model=bert, length=length, policy=request.reading("chunking"),
        titles=request.reading("wikipedia-titles"), separator=" ",  # BERT reads a line's end as a space
    )  # fmt: skip
    return recipe.pretrain(
        bert, chunks, objective=COSTA, options=_costa_options(request),
        texts_per_batch=request.reading("pretraining-batch"),
        epochs=6, max_steps=None, learning_rate=5e-5, warmup_ratio=0.1, warmup_steps=0,
        schedule=request.reading("pretraining-schedule"), **request.reading("pretraining-optimizer"),
        precision=request.reading("pretraining-precision"), length=length,
        seed=request.reading("pretraining-seed"),
    )  # fmt: skip


def _costa_options(request: Request) -> dict[str, Any]:
    return {
        "temperature": 0.1,  # τ of Eq. 8, §4.5.1
        "weight": 0.1 * request.reading("contrastive-loss-scale"),  # λ of the total loss, §4.5.1
        "spans": SPANS,
        "span_tokens": {"phrase": [4, 16], "sentence": [16, 64], "paragraph": [64, 128]},
        "beta": [4, 2],
        "rounding": request.reading("span-length-rounding"),
        "spans_reach_sep": request.reading("span-special-tokens"),
        "projector": "nonlinear",  # Eq. 5
        "contrastive_input": request.reading("contrastive-input"),
        "resample": request.reading("span-resampling"),
        "start": request.reading("span-start"),
        "short_text": request.reading("short-text"),
        "similarity": request.reading("span-similarity"),
        "reduction": request.reading("loss-reduction"),
        "masking": request.reading("mlm-masking"),
        "stop_words": _stop_words(request),
    }


def _stop_words(request: Request) -> list[str]:
    """reading: word-stop-list. The authors' union of two lists if the user has it, else function words."""
    from papers.costa.function_words import FUNCTION_WORDS

    if request.reading("word-stop-list") == "nltk-and-inquery":
        file = request.choices.original("word-stop-list", "lists/stopwords.txt", otherwise="function-words")
        if file is not None:
            return sorted({line.strip().lower() for line in file.read_text().splitlines() if line.strip()})
    return sorted(FUNCTION_WORDS)


def _passages(request: Request) -> Node:
    """reading: passage-titles. The released code ranks the titled passages of RocketQA."""
    titled = "msmarco-passage/rocketqa"
    if request.reading("passage-titles") == "rocketqa" and request.choices.original(
        "passage-titles", f"{titled}/corpus.jsonl", otherwise="none"
    ):
        return recipe.corpus(titled)
    return recipe.corpus("msmarco-passage")


def _seed(request: Request) -> int:
    return request.seed_or(request.reading("fine-tuning-seed"))


def _bm25_negatives(request: Request) -> Node:
    per_query = request.reading("bm25-negatives-sample")
    return recipe.official_negatives(OFFICIAL_NEGATIVES, per_query=per_query, seed=_seed(request))


def _mined(request: Request, retriever: Node) -> Node:
    """The top of the warm-up model's run for the training queries, positives removed (§4.5.2)."""
    kept = request.reading("hard-negative-depth")
    run = _dense_run(request, retriever, TRAIN, depth=kept["depth"])
    mined = recipe.mine(run, recipe.qrels(TRAIN), **kept, seed=_seed(request))
    if request.reading("hard-negative-pool") == "mined":
        return mined
    return recipe.union(mined, _bm25_negatives(request))


def _projector(request: Request, encoder: str) -> dict[str, str]:
    """reading: fine-tuning-projector. Only COSTA is pre-trained with a projector that could be kept."""
    kept = request.reading("fine-tuning-projector") if encoder == "costa" else "none"
    start = "new" if kept == "none" else request.reading("fine-tuning-projector-start")
    return {"projector": kept, "projector_start": start}


def _lengths(request: Request) -> tuple[int, int]:
    """Tokens of a query and of a passage, with [CLS] and [SEP] (§4.5.2; reading: length-special-tokens)."""
    more = request.reading("length-special-tokens")
    return 32 + more, 128 + more


def _finetuned(
    request: Request, model: Node, training_set: Node, *, head: dict[str, str], epochs: int
) -> Node:
    """Listwise contrastive fine-tuning with in-batch negatives (§4.5.2; reading: fine-tuning-loss).

    Not in print but in the released scripts and the defaults they keep: [CLS] vectors, no temperature, linear
    decay to zero.
    """
    batch = request.reading("fine-tuning-batch")
    query_length, passage_length = _lengths(request)
    return recipe.finetune(
        model, training_set, documents=_passages(request), topics=recipe.queries(TRAIN),
        objective=CONTRASTIVE,
        options={
            "temperature": 1.0,
            "similarity": request.reading("retrieval-similarity"),
            **head,
        },
        queries_per_batch=batch["queries"], passages_per_query=batch["passages"],
        epochs=epochs, max_steps=None, learning_rate=5e-6, warmup_ratio=0.1, warmup_steps=0,
        schedule="linear", **request.reading("fine-tuning-optimizer"),
        precision=request.reading("fine-tuning-precision"),
        query_length=query_length, passage_length=passage_length,
        separator=request.reading("title-separator"), pooling="cls", seed=_seed(request),
    )  # fmt: skip


def _dense_run(request: Request, model: Node, dataset: str, *, depth: int) -> Node:
    """Exact search over all passages by the similarity of [CLS] vectors."""
    how = {
        "separator": request.reading("title-separator"), "pooling": "cls",
        "normalize": request.reading("retrieval-similarity") == "cosine",
        "precision": request.reading("encoding-precision"),
    }  # fmt: skip
    query_length, passage_length = _lengths(request)
    passages = recipe.encode(model, _passages(request), kind="passages", length=passage_length, **how)
    topics = recipe.encode(model, recipe.queries(dataset), kind="queries", length=query_length, **how)
    return recipe.search(passages, topics, depth=depth)
