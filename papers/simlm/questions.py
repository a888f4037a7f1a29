"""The pipeline on Natural Questions (§4.1, App. B, and the released scripts for it)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from papers.simlm.encoders import electra
from papers.simlm.marco import CONTRASTIVE, DISTILLATION, QUERY, RERANKER
from repro import recipe
from repro.graph import Node
from repro.recipe import Objective
from repro.recipe.request import Request

CORPUS, TRAIN = "dpr-w100", "dpr-w100/natural-questions/train"
MINED = 100  # App. B: the top 100 passages without the answer
DEPTH = 100  # the deepest answer-judged measure


@dataclass(frozen=True)
class Questions:
    """The stages of one request; every open value is read from its readings."""

    request: Request

    def retriever(self, encoder: Node) -> Node:
        """On mined negatives beside DPR's own: what Table 10 measures."""
        first = self._retriever(encoder, self._original())
        return self._retriever(encoder, self.training_set(first))

    def pipeline(self, encoder: Node) -> Node:
        """The distilled retriever of Table 4."""
        negatives = self.training_set(self.retriever(encoder))
        teacher = self.reranker(electra(self.request), negatives)
        return self.distilled(encoder, negatives=negatives, teacher=teacher)

    def training_set(self, retriever: Node) -> Node:
        """What a retriever finds without the answer, and DPR's examples (reading: nq-training-data)."""
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
        ask = self.request.reading
        how = ask("nq-reranker")
        options = {"trained_passages": how["trained"], "regulariser": ask("reranker-regulariser")}
        return recipe.finetune_pairs(
            encoder,
            negatives,
            documents=recipe.corpus(CORPUS),
            topics=recipe.queries(TRAIN),
            objective=RERANKER,
            options=options,
            queries_per_batch=self._together(how),
            passages_per_query=how["scored"],
            epochs=how["epochs"],
            max_steps=how["steps"],
            learning_rate=how["learning_rate"],
            warmup_ratio=0.0,
            warmup_steps=1000,
            schedule=ask("warm-up-shape"),
            **ask("optimiser"),
            passage_length=how["length"],
            separator=ask("title-joining")["reranker"],
            negative_choice=self._choice(),
            positive_choice=self._positives(),
            seed=self.request.seed_or(how["seed"]),
        )

    def distilled(self, encoder: Node, *, negatives: Node, teacher: Node) -> Node:
        """A retriever taught by the re-ranker (reading: nq-distillation)."""
        ask = self.request.reading
        how, scores = ask("nq-distillation"), ask("teacher-scores")
        scored = recipe.score_pairs(
            teacher,
            negatives,
            documents=recipe.corpus(CORPUS),
            topics=recipe.queries(TRAIN),
            per_query=MINED,
            length=ask("nq-reranker")["length"],
            separator=ask("title-joining")["reranker"],
            decimals=scores["decimals"],
            precision=ask("encoding-precision")["passages"],
        )
        options = self._contrastive() | {
            "weight": how["alpha"] * self._loss_scale(),
            "teacher_temperature": scores["teacher_temperature"],
            "student_temperature": scores["student_temperature"],
        }
        return self._finetuned(
            encoder,
            scored,
            DISTILLATION,
            options,
            passages=how["passages"],
            epochs=how["epochs"],
            steps=None,
            learning_rate=how["learning_rate"],
            seed="nq-distilled",
        )

    def run(self, retriever: Node) -> Node:
        """The ranking of the request's questions; what answers them is matched on texts without titles."""
        return self._searched(retriever, self.request.dataset, depth=DEPTH)

    def _original(self) -> Node:
        """DPR's own examples (reading: nq-original-negatives)."""
        grade = self.request.reading("nq-original-negatives")
        return recipe.judged_examples(recipe.qrels(TRAIN), dataset=TRAIN, negative_grade=grade)

    def _retriever(self, encoder: Node, training_set: Node) -> Node:
        """20k steps (App. B; readings: nq-learning-rate, nq-loss-scale)."""
        ask = self.request.reading
        options = self._contrastive() | {"weight": self._loss_scale()}
        return self._finetuned(
            encoder,
            training_set,
            CONTRASTIVE,
            options,
            passages=ask("nq-batch")["passages"],
            epochs=None,
            steps=20000,
            learning_rate=ask("nq-learning-rate"),
            seed="nq-retriever",
        )

    def _finetuned(
        self,
        encoder: Node,
        training_set: Node,
        objective: Objective,
        options: dict[str, Any],
        *,
        passages: int,
        epochs: int | None,
        steps: int | None,
        learning_rate: float,
        seed: str,
    ) -> Node:
        ask = self.request.reading
        return recipe.finetune(
            encoder,
            training_set,
            documents=recipe.corpus(CORPUS),
            topics=recipe.queries(TRAIN),
            objective=objective,
            options=options,
            queries_per_batch=ask("nq-batch")["queries"],
            passages_per_query=passages,
            epochs=epochs,
            max_steps=steps,
            learning_rate=learning_rate,
            warmup_ratio=0.0,
            warmup_steps=1000,
            schedule=ask("warm-up-shape"),
            **ask("optimiser"),
            query_length=QUERY,
            passage_length=ask("nq-lengths")["fine-tuning"],
            separator=ask("title-joining")["retriever"],
            pooling="cls",
            seed=self._seed(seed),
            negative_choice=self._choice(),
            positive_choice=self._positives(),
        )

    def _contrastive(self) -> dict[str, Any]:
        ask = self.request.reading
        return {
            "temperature": 0.02,
            "temperature_warmup": ask("nq-temperature-warmup"),
            "terms": ask("contrastive-terms"),
            "shares": 1,
        }

    def _searched(self, retriever: Node, dataset: str, *, depth: int) -> Node:
        ask = self.request.reading
        how = {"separator": ask("title-joining")["retriever"], "pooling": "cls", "normalize": True}
        passages = recipe.encode(
            retriever,
            recipe.corpus(CORPUS),
            kind="passages",
            length=ask("nq-lengths")["encoding"],
            precision=ask("encoding-precision")["passages"],
            **how,
        )
        topics = recipe.encode(
            retriever,
            recipe.queries(dataset),
            kind="queries",
            length=QUERY,
            precision=ask("encoding-precision")["queries"],
            **how,
        )
        return recipe.search(passages, topics, depth=depth)

    def _together(self, how: dict[str, Any]) -> int:
        """Queries of a re-ranker's batch: so many on each device of nq-batch, or on all together."""
        return how.get("queries") or how["queries_per_device"] * self.request.reading("nq-batch")["devices"]

    def _loss_scale(self) -> float:
        """reading: nq-loss-scale. One over the devices, or 1."""
        ask = self.request.reading
        return 1 / ask("nq-batch")["devices"] if ask("nq-loss-scale") == "per-device" else 1.0

    def _choice(self) -> str:
        return self.request.reading("negative-lists")["order"]

    def _positives(self) -> str:
        return "confident" if self.request.reading("nq-training-data")["extra_positives"] else "all"

    def _seed(self, stage: str) -> int:
        return self.request.seed_or(self.request.reading("fine-tuning-seed")[stage])
