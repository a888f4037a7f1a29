"""Recipes of the rows of tables and figures (§3.2, §4, §5, App. A-C, and the released scripts)."""

from papers.baselines import released
from papers.baselines.two_stage import marco_passages
from papers.simlm.encoders import ENCODERS, electra, mlm, simlm
from papers.simlm.marco import Marco
from papers.simlm.questions import Questions
from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe.request import Request


def retriever_row(request: Request, *, encoder: str) -> Node:
    """Rank with an encoder fine-tuned on BM25 negatives (Tables 1, 7 and 10)."""
    marco = Marco(request)
    return marco.run(marco.retriever_1(ENCODERS[encoder](request), is_electra=encoder == "electra"))


def stage_row(request: Request, *, stage: str, encoder: str = "simlm") -> Node:
    """Rank with the retriever of one stage of the pipeline (Tables 2, 4 and 6). Natural Questions always
    have the distilled retriever of SimLM.

    Args:
        stage: retriever-1, retriever-2 or retriever-distilled.
        encoder: simlm, or cocondenser for the released encoder (reading: cocondenser-distillation).
    """
    if request.collection == "dpr-w100":
        questions = Questions(request)
        return questions.run(questions.pipeline(simlm(request, corpus="wikipedia")))
    marco, start = Marco(request), _start(request, encoder)
    if stage == "retriever-1":
        return marco.run(marco.retriever_1(start))
    if stage == "retriever-2":
        return marco.run(marco.retriever_2(start))
    if encoder == "simlm":
        own, system = marco.pipeline(start), request.reading("distilled-retriever")
        return marco.run(own) if system is None else _released(request, system, stand_in=own)
    mined = marco.mined(marco.retriever_2(simlm(request)))
    teacher = marco.reranker(electra(request), mined)
    own = request.reading("cocondenser-negatives") == "own"
    negatives = marco.mined(marco.retriever_2(start)) if own else mined
    return marco.run(marco.distilled(start, negatives=negatives, teacher=teacher))


def reranker_row(request: Request, *, encoder: str) -> Node:
    """Return a retriever's ranking with its top re-ranked by a cross-encoder from ``encoder``, a key of
    ENCODERS (Tables 5 and 6). The retriever is retriever 2 of SimLM or, by reading reranker-candidates, of
    ``encoder``."""
    marco, own = Marco(request), ENCODERS[encoder](request)
    rate = 3e-5 if encoder == "electra" else request.reading("reranker-variants")
    second = marco.retriever_2(simlm(request))
    reranker = marco.reranker(own, marco.mined(second), learning_rate=rate)
    if encoder == "electra" and (theirs := request.reading("released-reranker")):
        run = _released(request, theirs["retriever"], stand_in=second)
        return marco.reordered(run, recipe.released_reranker_or(reranker, theirs["reranker"]))
    if request.reading("reranker-candidates") == "own":
        second = marco.retriever_2(own, is_electra=encoder == "electra")
    return marco.reranked(second, reranker)


def rates_row(request: Request, *, encoder_rate: float, decoder_rate: float) -> Node:
    """Rank after pre-training with other replace rates than those of Table 11 (Table 8)."""
    marco = Marco(request)
    return marco.run(marco.retriever_1(simlm(request, encoder_rate=encoder_rate, decoder_rate=decoder_rate)))


def corpus_row(request: Request, *, corpus: str | None) -> Node:
    """Rank after pre-training on ``corpus``, msmarco or wikipedia, or with None on no corpus (Table 10)."""
    start = ENCODERS["bert"](request) if corpus is None else simlm(request, corpus=corpus)
    if request.collection == "dpr-w100":
        questions = Questions(request)
        return questions.run(questions.retriever(start))
    marco = Marco(request)
    return marco.run(marco.retriever_1(start))


def generator_row(request: Request, *, training: str) -> Node:
    """Rank after pre-training with a generator that is frozen or trained too, a row of Table 12."""
    marco = Marco(request)
    return marco.run(marco.retriever_1(simlm(request, training=training)))


def steps_point(request: Request, *, objective: str, steps: int) -> Node:
    """Rank with a first retriever after this number of pre-training steps (Figure 3)."""
    start = {"simlm": simlm, "mlm": mlm}[objective](request, steps=steps)
    marco = Marco(request)
    return marco.run(marco.retriever_1(start))


def passages_shown(request: Request, *, encoder: str, queries: list[str]) -> Node:
    """Return the exhibit of the first passages that a retriever trained from ``encoder`` finds for
    ``queries`` (Tables 9 and 14)."""
    marco, start = Marco(request), ENCODERS[encoder](request)
    stages = {"retriever-1": marco.retriever_1, "distilled": marco.pipeline}
    model = stages[request.reading("case-retrievers")[encoder]](start)
    run, depth = marco.run(model), request.reading("shown-passages")
    return recipe.top_passages(run, marco_passages(request), request.dataset, wanted=queries, depth=depth)


def index_size(request: Request) -> Node:
    """Return the node with the size of the passages' vectors (Table 3, reading: index-size-unit)."""
    marco = Marco(request)
    run = marco.run(marco.retriever_1(simlm(request)))
    return recipe.index_size(run.input("passages"), **request.reading("index-size-unit"))


def _released(request: Request, system: str, *, stand_in: Node) -> Node:
    return released.retriever(request, system=system, recall="recall-definition", stand_in=stand_in)


def _start(request: Request, encoder: str) -> Node:
    if encoder == "simlm":
        return simlm(request)
    return recipe.backbone(request.reading("cocondenser-distillation"), revision="main")
