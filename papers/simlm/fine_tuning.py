"""The fine-tuning that both pipelines share, on MS MARCO and on Natural Questions (§3.2, Table 13)."""

from dataclasses import replace

from papers.baselines.two_stage import Dense, TwoStage, cls_texts
from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe import Objective, Optimisation, Texts
from repro.retrieval.recipe.request import Request

CONTRASTIVE = Objective(
    "cosine-contrastive",
    1,
    "repro.retrieval.nn.bi_encoder:CosineBiEncoder",
    "terms=four-blocks|query|printed",
)
DISTILLATION = Objective(
    "distillation", 1, "repro.retrieval.nn.bi_encoder:DistilledBiEncoder", "terms=four-blocks|query|printed"
)
# Eq. 3 as printed is in this folder. A fingerprint contains the terms, not the class
AS_PRINTED = {
    CONTRASTIVE: replace(CONTRASTIVE, path="papers.simlm.printed_contrast:PrintedContrast"),
    DISTILLATION: replace(DISTILLATION, path="papers.simlm.printed_contrast:PrintedDistillation"),
}
QUERY = 32  # tokens, Table 13


def optimisation(request: Request, stage: str, *, queries: int) -> Optimisation:
    """Return the optimisation of retrievers on MS MARCO: three epochs at 2e-5 with 1,000 steps of warm-up
    (Table 13). ``stage`` is a key of reading fine-tuning-seed, ``queries`` the number of queries in a
    batch."""
    ask = request.reading
    return Optimisation(
        batch_size=queries,
        epochs=3,
        learning_rate=2e-5,
        warmup_steps=1000,
        schedule=ask("warm-up-shape"),
        **ask("optimiser"),
        precision=ask("fine-tuning-precision"),
        seed=request.seed_or(ask("fine-tuning-seed")[stage]),
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
    """Return the trainings of retrievers 1 and 2, which compare [CLS] vectors by cosine / 0.02 (Table 13).

    Args:
        documents: the passages to rank.
        train: the dataset of the training queries, e.g. "msmarco-passage/train/judged".
        length: the maximum number of tokens of a passage.
        passages: the number of passages per query in a batch.
        temperature_warmup, shares, weight: options of the contrastive loss.
        positives: the ``positive_choice`` of ``recipe.finetune``, e.g. "all".
    """
    ask = request.reading
    separator = ask("title-joining")["retriever"]
    return TwoStage(
        train=train,
        texts=cls_texts(documents, train, query=QUERY, passage=length, separator=separator),
        representation=Dense(
            normalize=True, precision=ask("encoding-precision"), numbers=ask("stored-vectors")
        ),
        objective=_with_terms(CONTRASTIVE, ask("contrastive-terms")),
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


def reranking(request: Request, stages: TwoStage, *, length: int, scored: int, trained: int) -> TwoStage:
    """Return ``stages`` changed to the training of a re-ranker, which scores ``scored`` passages of a query
    and trains on the best ``trained`` (Eq. 4). ``length`` is the maximum number of tokens of a pair."""
    ask = request.reading
    how = {"separator": ask("title-joining")["reranker"], "regulariser": ask("reranker-regulariser")}
    return stages.reranking(length=length, passages=scored, trained=trained, **how)


def distillation(request: Request, stages: TwoStage, *, passages: int, weight: float) -> TwoStage:
    """Return ``stages`` changed to the training of a distilled retriever on ``passages`` per query, with
    ``weight`` α on the contrastive loss (Eq. 5)."""
    scores = request.reading("teacher-scores")
    temperatures = {name: scores[name] for name in ("teacher_temperature", "student_temperature")}
    options = {**stages.options, "weight": weight, **temperatures}
    objective = _with_terms(DISTILLATION, options["terms"])
    return replace(stages, objective=objective, options=options, passages_per_query=passages)


def scored(request: Request, teacher: Node, negatives: Node, *, texts: Texts, per_query: int) -> Node:
    """Return the ``negatives`` with the scores of the re-ranker ``teacher``, for distillation."""
    ask = request.reading
    how = {"decimals": ask("teacher-scores")["decimals"], "precision": ask("encoding-precision")["passages"]}
    return recipe.score_pairs(teacher, negatives, texts=texts, per_query=per_query, **how)


def _with_terms(objective: Objective, terms: str) -> Objective:
    """Return the objective, or the one with Eq. 3 as printed if ``terms`` is "printed" (reading:
    contrastive-terms)."""
    return AS_PRINTED[objective] if terms == "printed" else objective
