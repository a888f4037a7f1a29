"""Fine-tuning as both pipelines do it, on MS MARCO and on Natural Questions (§3.2, Table 13)."""

from __future__ import annotations

from dataclasses import replace

from papers.baselines.two_stage import Dense, TwoStage
from repro import recipe
from repro.graph import Node
from repro.recipe import Objective, Optimisation, Texts
from repro.recipe.request import Request

CONTRASTIVE = Objective("cosine-contrastive", 1, "repro.nn.cosine_bi_encoder:CosineBiEncoder")
DISTILLATION = Objective("distillation", 1, "repro.nn.distilled_bi_encoder:DistilledBiEncoder")
RERANKER = Objective("cross-encoder", 2, "repro.nn.cross_encoder:CrossEncoder")
QUERY = 32  # tokens, Table 13


def optimisation(
    request: Request,
    *,
    queries: int,
    learning_rate: float,
    seed: int,
    epochs: int | None = None,
    max_steps: int | None = None,
) -> Optimisation:
    """AdamW with 1,000 steps of warm-up (Table 13; readings: optimiser, warm-up-shape)."""
    return Optimisation(
        batch_size=queries,
        epochs=epochs,
        max_steps=max_steps,
        learning_rate=learning_rate,
        warmup_steps=1000,
        schedule=request.reading("warm-up-shape"),
        **request.reading("optimiser"),
        seed=seed,
    )


def retrievers(
    request: Request,
    *,
    documents: Node,
    train: str,
    length: int,
    passages: int,
    temperature_warmup: bool,
    shares: int,
    weight: float,
    positives: str = "all",
) -> TwoStage:
    """The two stages of a retriever: [CLS] vectors, cosines divided by 0.02 (Table 13).

    Args:
        length: tokens of a passage.
        passages: per query in a batch.
        temperature_warmup, shares, weight: options of the contrastive loss.
        positives: which of a query's positives an epoch takes.
    """
    ask = request.reading
    return TwoStage(
        train=train,
        texts=Texts(
            documents=documents,
            topics=recipe.queries(train),
            query_length=QUERY,
            passage_length=length,
            separator=ask("title-joining")["retriever"],
            pooling="cls",
        ),
        representation=Dense(normalize=True, precision=ask("encoding-precision")),
        objective=CONTRASTIVE,
        options={
            "temperature": 0.02,
            "temperature_warmup": temperature_warmup,
            "terms": ask("contrastive-terms"),
            "shares": shares,
            "weight": weight,
        },
        passages_per_query=passages,
        negative_choice=ask("negative-lists")["order"],
        positive_choice=positives,
    )


def pairs(request: Request, texts: Texts, *, length: int) -> Texts:
    """The texts as a cross-encoder reads them: a query and a passage together, in ``length`` tokens."""
    separator = request.reading("title-joining")["reranker"]
    return replace(texts, query_length=None, passage_length=length, separator=separator, pooling=None)


def reranker(
    request: Request,
    stages: TwoStage,
    encoder: Node,
    negatives: Node,
    *,
    length: int,
    scored: int,
    trained: int,
    how: Optimisation,
) -> Node:
    """A cross-encoder (Eq. 4) that scores so many passages of a query and is trained on the best of them."""
    return recipe.finetune(
        encoder,
        negatives,
        texts=pairs(request, stages.texts, length=length),
        objective=RERANKER,
        options={"trained_passages": trained, "regulariser": request.reading("reranker-regulariser")},
        passages_per_query=scored,
        optimisation=how,
        negative_choice=stages.negative_choice,
        positive_choice=stages.positive_choice,
    )


def distilled(
    request: Request,
    stages: TwoStage,
    encoder: Node,
    *,
    teacher: Node,
    negatives: Node,
    length: int,
    per_query: int,
    passages: int,
    weight: float,
    how: Optimisation,
) -> Node:
    """A retriever taught by the re-ranker ``teacher`` on its scores of ``per_query`` mined negatives (Eq. 5).

    Args:
        length: tokens of a query and a passage together, as the teacher reads them.
        passages: per query in a batch of the student's.
        weight: α of the contrastive loss.
    """
    scores = request.reading("teacher-scores")
    training_set = recipe.score_pairs(
        teacher,
        negatives,
        texts=pairs(request, stages.texts, length=length),
        per_query=per_query,
        decimals=scores["decimals"],
        precision=request.reading("encoding-precision")["passages"],
    )
    temperatures = {name: scores[name] for name in ("teacher_temperature", "student_temperature")}
    options = {**stages.options, "weight": weight, **temperatures}
    student = replace(stages, objective=DISTILLATION, options=options, passages_per_query=passages)
    return student.tuned(encoder, training_set, how)
