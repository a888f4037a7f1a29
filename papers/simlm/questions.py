"""The pipeline on Natural Questions (§4.1, App. B, and the released scripts for it)."""

from dataclasses import dataclass, replace
from typing import Any

from papers.baselines.two_stage import TwoStage
from papers.simlm import fine_tuning
from papers.simlm.encoders import electra
from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe import Optimisation
from repro.retrieval.recipe.request import Request

CORPUS, TRAIN = "dpr-w100", "dpr-w100/natural-questions/train"
MINED = 100  # App. B: the top 100 passages without the answer
DEPTH = 100  # the deepest answer-judged measure


@dataclass(frozen=True)
class Questions:
    """The trainings and rankings on Natural Questions for one request, by its readings."""

    request: Request

    def retriever(self, encoder: Node) -> Node:
        """Return a retriever fine-tuned on mined negatives and DPR's own (Table 10, see ``training_set``). A
        retriever fine-tuned on DPR's negatives is trained first and mines them. Reading retriever-two decides
        whether the second training starts from it."""
        first = self._retriever(encoder, self._original())
        start = encoder if self.request.reading("retriever-two") == "pre-trained" else first
        return self._retriever(start, self.training_set(first))

    def pipeline(self, encoder: Node) -> Node:
        """Return the distilled retriever of Table 4, after all stages from a pre-trained encoder."""
        negatives = self.training_set(self.retriever(encoder))
        teacher = self.reranker(electra(self.request), negatives)
        return self.distilled(encoder, negatives=negatives, teacher=teacher)

    def training_set(self, retriever: Node) -> Node:
        """Return a training set with highly ranked passages of ``retriever`` that lack the answer as
        negatives, and optionally DPR's own examples (reading: nq-training-data)."""
        ask = self.request.reading
        how, decimals = ask("nq-training-data"), ask("nq-mined-score-decimals")
        run, seed = self._searched(retriever, TRAIN, depth=MINED), self._optimisation("nq-retriever").seed
        mined = recipe.mine_answers(
            run,
            recipe.qrels(TRAIN),
            documents=recipe.corpus(CORPUS),
            topics=recipe.queries(TRAIN),
            depth=MINED,
            per_query=MINED,
            seed=seed,
            extra_positives=how["extra_positives"],
            score_decimals=decimals,
            tokenless_answers=ask("answers-without-a-token"),
        )
        return recipe.union(self._original(), mined) if "original" in how["files"] else mined

    def reranker(self, encoder: Node, negatives: Node) -> Node:
        """Fine-tune ``encoder`` as a cross-encoder, the teacher, on ``negatives`` (reading: nq-reranker)."""
        read = self.request.reading("nq-reranker")
        how = replace(
            self._optimisation("nq-retriever"),
            batch_size=self._queries(read),
            epochs=read["epochs"],
            max_steps=read["steps"],
            learning_rate=read["learning_rate"],
            seed=self.request.seed_or(read["seed"]),
        )
        return self._reranking().tuned(encoder, negatives, how)

    def distilled(self, encoder: Node, *, negatives: Node, teacher: Node) -> Node:
        """Fine-tune ``encoder`` to rank ``negatives`` as the re-ranker ``teacher`` does (reading:
        nq-distillation)."""
        read, texts = self.request.reading("nq-distillation"), self._reranking().texts
        scored = fine_tuning.scored(self.request, teacher, negatives, texts=texts, per_query=MINED)
        weight = read["alpha"] * self._loss_scale()
        stages = fine_tuning.distillation(
            self.request, self._stages(), passages=read["passages"], weight=weight
        )
        schedule = {"epochs": read["epochs"], "max_steps": read["steps"]}
        how = replace(self._optimisation("nq-distilled"), **schedule, learning_rate=read["learning_rate"])
        return stages.tuned(encoder, scored, how)

    def run(self, retriever: Node) -> Node:
        """Return the ranking of the request's questions. Answers are matched in texts without titles."""
        self.request.match_answers(tokenless=self.request.reading("answers-without-a-token"))
        return self._searched(retriever, self.request.dataset, depth=DEPTH)

    def _original(self) -> Node:
        """Return DPR's own training examples (reading: nq-original-negatives)."""
        grade = self.request.reading("nq-original-negatives")
        return recipe.judged_examples(recipe.qrels(TRAIN), dataset=TRAIN, negative_grade=grade)

    def _retriever(self, encoder: Node, training_set: Node) -> Node:
        """Fine-tune ``encoder`` for 20k steps, in either stage (App. B, reading: nq-learning-rate)."""
        rate = self.request.reading("nq-learning-rate")
        how = replace(self._optimisation("nq-retriever"), epochs=None, max_steps=20_000, learning_rate=rate)
        return self._stages().tuned(encoder, training_set, how)

    def _stages(self) -> TwoStage:
        ask = self.request.reading
        return fine_tuning.retrievers(
            self.request,
            documents=recipe.corpus(CORPUS),
            train=TRAIN,
            length=ask("nq-lengths")["fine-tuning"],
            passages=ask("nq-batch")["passages"],
            temperature_warmup=ask("nq-temperature-warmup"),
            shares=1,
            weight=self._loss_scale(),
            positives="confident" if ask("nq-training-data")["extra_positives"] else "all",
        )

    def _reranking(self) -> TwoStage:
        read = self.request.reading("nq-reranker")
        sizes = {name: read[name] for name in ("length", "scored", "trained")}
        return fine_tuning.reranking(self.request, self._stages(), **sizes)

    def _searched(self, retriever: Node, dataset: str, *, depth: int) -> Node:
        encoding = self._stages().with_passages_of(self.request.reading("nq-lengths")["encoding"])
        return encoding.search(retriever, dataset, depth=depth)

    def _optimisation(self, stage: str) -> Optimisation:
        queries = self.request.reading("nq-batch")["queries"]
        return fine_tuning.optimisation(self.request, stage, queries=queries)

    def _queries(self, read: dict[str, Any]) -> int:
        return read.get("queries") or read["queries_per_device"] * self.request.reading("nq-batch")["devices"]

    def _loss_scale(self) -> float:
        """Return one over the number of devices, or 1 (reading: nq-loss-scale)."""
        ask = self.request.reading
        return 1 / ask("nq-batch")["devices"] if ask("nq-loss-scale") == "per-device" else 1.0
