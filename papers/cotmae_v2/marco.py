"""The pipeline on MS MARCO (§3.3, §4.2, Figure 2): two retrievers and a distilled one, of this paper's
version and of the first version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from papers.baselines.ms_marco import PASSAGES, recall_as_read
from papers.baselines.two_stage import TwoStage, marco_passages
from papers.cotmae_v2.views import Views
from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe import Optimisation
from repro.retrieval.recipe.request import Request

MINED_DEPTH = 200  # §4.2
DEPTH = 1000


@dataclass(frozen=True)
class Marco:
    """The trainings and rankings of one request, with retrievers that represent texts as ``views``.

    Attributes:
        epochs: the number of epochs of each stage.
        negatives: the negatives of stage two: ``mined``, or ``both`` the mined and the official BM25 ones.
        kept: the numbers of negatives kept per query, of ``mined`` and of ``bm25``.
        weight_decay: the weight decay of all stages.
        passage_lengths: maximum numbers of tokens in training on ``bm25`` and ``mined`` negatives, and in
            ``search``.
    """

    request: Request
    views: Views
    epochs: tuple[int, int]
    negatives: str
    kept: Mapping[str, int]
    weight_decay: float
    passage_lengths: Mapping[str, int]

    @classmethod
    def second_version(cls, request: Request, views: Views) -> Marco:
        """Return the pipeline of this paper's version (§4.2, readings: stage-two, passage-cut)."""
        second, decay = request.reading("stage-two"), request.reading("fine-tuning-weight-decay")
        rest = {"weight_decay": decay, "passage_lengths": request.reading("passage-cut")}
        return cls(request, views, (3, second["epochs"]), second["negatives"], second["kept"], **rest)

    @classmethod
    def first_version(cls, request: Request) -> Marco:
        """Return the pipeline of the first version (reading: first-version-fine-tuning)."""
        read = dict(request.reading("first-version-fine-tuning"))
        lengths = dict.fromkeys(("bm25", "mined", "search"), read.pop("passage_length"))
        read |= {"epochs": tuple(read["epochs"]), "passage_lengths": lengths}
        return cls(request, Views(request, views=("dense",)), **read)

    def stage_one(self, encoder: Node) -> Node:
        """Fine-tune ``encoder`` on the official BM25 negatives (stage 1 of Figure 2)."""
        how = self._optimisation(self.epochs[0])
        return self._stages("bm25").tuned(encoder, self._bm25_negatives(), how)

    def stage_two(self, encoder: Node) -> Node:
        """Return the retriever of stage two, which the tables' rows without distillation measure. The
        retriever of stage one is trained first and mines the negatives, and ``both`` adds BM25's. Reading
        stage-two-start decides whether the training starts from ``encoder`` or from stage one."""
        ask, first = self.request.reading, self.stage_one(encoder)
        negatives = self.mined(first)
        if self.negatives == "both":
            negatives = recipe.union(negatives, self._bm25_negatives())
        start = encoder if ask("stage-two-start") == "pre-trained" else first
        return self._stages("mined").tuned(start, negatives, self._optimisation(self.epochs[1]))

    def distilled(self, encoder: Node, *, teacher: Node) -> Node:
        """Return a retriever fine-tuned to rank mined negatives as the re-ranker ``teacher`` does (Eq. 16).
        Stages one and two from ``encoder`` are trained first."""
        ask, second = self.request.reading, self.stage_two(encoder)
        how, stages = ask("distillation-training"), self._stages("mined")
        miner = second if ask("distillation-negatives") == "stage-two" else self.stage_one(encoder)
        scoring = {"per_query": self.kept["mined"], "precision": ask("fine-tuning-precision")}
        texts = self._reranking().texts
        scored = recipe.score_pairs(teacher, self.mined(miner), texts=texts, decimals=None, **scoring)
        distillation = {
            "direction": ask("distillation-direction"),
            "contrastive_weight": ask("distillation-weight"),
            "teacher_temperature": how["teacher_temperature"],
        }
        start = encoder if ask("distillation-start") == "pre-trained" else second
        options = {**stages.options, "distillation": distillation}
        student = replace(stages, options=options, passages_per_query=how["passages"])
        schedule = self._optimisation(how["epochs"], learning_rate=how["learning_rate"])
        return student.tuned(start, scored, schedule)

    def reranker(self, encoder: Node, *, regulariser: str | None = None) -> Node:
        """Fine-tune ``encoder`` as a cross-encoder on negatives mined with stage two, which is trained first
        from ``encoder`` (reading: reranker-training). ``regulariser`` replaces that of the reading."""
        read, negatives = self.request.reading("reranker-training"), self.mined(self.stage_two(encoder))
        how = self._optimisation(read["epochs"], learning_rate=read["learning_rate"], queries=read["queries"])
        return self._reranking(regulariser).tuned(encoder, negatives, how)

    def run(self, model: Node) -> Node:
        """Return the model's ranking of the request's queries, and set its recall by a reading."""
        recall_as_read(self.request, "recall-definition")
        return self._stages("search").search(model, self.request.dataset, depth=DEPTH)

    def mined(self, model: Node) -> Node:
        """Return hard negatives from the top 200 of a model's ranking of the training queries (§4.2)."""
        how = {"depth": MINED_DEPTH, "per_query": self.kept["mined"], "seed": seed(self.request)}
        return self._stages("search").mined(model, **how)

    def _bm25_negatives(self) -> Node:
        ask, judged = self.request.reading, recipe.qrels(PASSAGES)
        drawn = {"per_query": self.kept["bm25"], "seed": seed(self.request)}
        return recipe.official_negatives(ask("official-negatives"), judgements=judged, **drawn)

    def _stages(self, use: str) -> TwoStage:
        passages = self.request.reading("fine-tuning-batch")["passages"]
        documents, length = marco_passages(self.request), self.passage_lengths[use]
        return self.views.stages(documents, length=length, passages=passages)

    def _reranking(self, regulariser: str | None = None) -> TwoStage:
        read, stages = self.request.reading("reranker-training"), self._stages("mined")
        return stages.reranking(
            length=read["length"],
            separator=stages.texts.separator,
            passages=read["passages"],
            trained=read["passages"],
            regulariser=regulariser or read["regulariser"],
        )

    def _optimisation(
        self, epochs: int, *, learning_rate: float = 2e-5, queries: int | None = None
    ) -> Optimisation:
        return optimisation(
            self.request,
            queries=queries or self.request.reading("fine-tuning-batch")["queries"],
            epochs=epochs,
            learning_rate=learning_rate,
            weight_decay=self.weight_decay,
        )


def optimisation(
    request: Request, *, queries: int, epochs: int, learning_rate: float, weight_decay: float
) -> Optimisation:
    """Return the optimisation of a fine-tuning: AdamW with a linear schedule, as in the first version's
    script (§4.2). ``queries`` is the number of queries in a batch."""
    ask = request.reading
    return Optimisation(
        batch_size=queries,
        epochs=epochs,
        learning_rate=learning_rate,
        warmup_ratio=ask("fine-tuning-warmup"),
        schedule="linear",
        weight_decay=weight_decay,
        max_grad_norm=1.0,
        precision=ask("fine-tuning-precision"),
        seed=seed(request),
    )


def seed(request: Request) -> int:
    """Return the seed of fine-tuning and its draws."""
    return request.seed_or(request.reading("fine-tuning-seed"))
