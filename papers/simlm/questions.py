"""The pipeline on Natural Questions (§4.1, App. B, and the released scripts for it)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from papers.baselines.two_stage import TwoStage
from papers.simlm import fine_tuning
from papers.simlm.encoders import electra
from repro import recipe
from repro.graph import Node
from repro.recipe.request import Request

CORPUS, TRAIN = "dpr-w100", "dpr-w100/natural-questions/train"
MINED = 100  # App. B: the top 100 passages without the answer
DEPTH = 100  # the deepest answer-judged measure


@dataclass(frozen=True)
class Questions:
    """The stages of one request; every open value is read from its readings."""

    request: Request

    def retriever(self, encoder: Node) -> Node:
        """Fine-tune twice: on DPR's own negatives, then with mined ones beside them (Table 10)."""
        first = self._retriever(encoder, self._original())
        return self._retriever(encoder, self.training_set(first))

    def pipeline(self, encoder: Node) -> Node:
        """The distilled retriever of Table 4."""
        negatives = self.training_set(self.retriever(encoder))
        teacher = self.reranker(electra(self.request), negatives)
        return self.distilled(encoder, negatives=negatives, teacher=teacher)

    def training_set(self, retriever: Node) -> Node:
        """What a retriever ranks high without the answer, and DPR's examples (reading: nq-training-data)."""
        how = self.request.reading("nq-training-data")
        mined = recipe.mine_answers(
            self._searched(retriever, TRAIN, depth=MINED),
            recipe.qrels(TRAIN),
            documents=recipe.corpus(CORPUS),
            topics=recipe.queries(TRAIN),
            depth=MINED,
            per_query=MINED,
            seed=self._seed("nq-retriever"),
            extra_positives=how["extra_positives"],
        )
        return recipe.union(self._original(), mined) if "original" in how["files"] else mined

    def reranker(self, encoder: Node, negatives: Node) -> Node:
        """The teacher (reading: nq-reranker)."""
        read = self.request.reading("nq-reranker")
        how = fine_tuning.optimisation(
            self.request,
            queries=self._queries(read),
            epochs=read["epochs"],
            max_steps=read["steps"],
            learning_rate=read["learning_rate"],
            seed=self.request.seed_or(read["seed"]),
        )
        sizes = {name: read[name] for name in ("length", "scored", "trained")}
        return fine_tuning.reranker(self.request, self._stages(), encoder, negatives, **sizes, how=how)

    def distilled(self, encoder: Node, *, negatives: Node, teacher: Node) -> Node:
        """A retriever taught by the re-ranker (reading: nq-distillation)."""
        read = self.request.reading("nq-distillation")
        how = fine_tuning.optimisation(
            self.request,
            queries=self.request.reading("nq-batch")["queries"],
            epochs=read["epochs"],
            learning_rate=read["learning_rate"],
            seed=self._seed("nq-distilled"),
        )
        return fine_tuning.distilled(
            self.request,
            self._stages(),
            encoder,
            teacher=teacher,
            negatives=negatives,
            length=self.request.reading("nq-reranker")["length"],
            per_query=MINED,
            passages=read["passages"],
            weight=read["alpha"] * self._loss_scale(),
            how=how,
        )

    def run(self, retriever: Node) -> Node:
        """The ranking of the request's questions; what answers them is matched on texts without titles."""
        return self._searched(retriever, self.request.dataset, depth=DEPTH)

    def _original(self) -> Node:
        """DPR's own examples (reading: nq-original-negatives)."""
        grade = self.request.reading("nq-original-negatives")
        return recipe.judged_examples(recipe.qrels(TRAIN), dataset=TRAIN, negative_grade=grade)

    def _retriever(self, encoder: Node, training_set: Node) -> Node:
        """20k steps (App. B; reading: nq-learning-rate)."""
        how = fine_tuning.optimisation(
            self.request,
            queries=self.request.reading("nq-batch")["queries"],
            max_steps=20000,
            learning_rate=self.request.reading("nq-learning-rate"),
            seed=self._seed("nq-retriever"),
        )
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

    def _searched(self, retriever: Node, dataset: str, *, depth: int) -> Node:
        encoding = self._stages().reading(passage_length=self.request.reading("nq-lengths")["encoding"])
        return encoding.search(retriever, dataset, depth=depth)

    def _queries(self, read: dict[str, Any]) -> int:
        """Queries of a re-ranker's batch: so many on each device of nq-batch, or on all together."""
        return read.get("queries") or read["queries_per_device"] * self.request.reading("nq-batch")["devices"]

    def _loss_scale(self) -> float:
        """reading: nq-loss-scale. One over the devices, or 1."""
        ask = self.request.reading
        return 1 / ask("nq-batch")["devices"] if ask("nq-loss-scale") == "per-device" else 1.0

    def _seed(self, stage: str) -> int:
        return self.request.seed_or(self.request.reading("fine-tuning-seed")[stage])
