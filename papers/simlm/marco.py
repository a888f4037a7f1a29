"""The pipeline on MS MARCO (§3.2, Table 13): two retrievers, a re-ranker, a distilled retriever."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from papers.baselines.ms_marco import recall_as_read
from papers.simlm.encoders import electra, marco_passages
from repro import recipe
from repro.graph import Node
from repro.recipe import Objective
from repro.recipe.request import Request

CONTRASTIVE = Objective("cosine-contrastive", 1, "repro.nn.cosine_bi_encoder:CosineBiEncoder")
DISTILLATION = Objective("distillation", 1, "repro.nn.distilled_bi_encoder:DistilledBiEncoder")
RERANKER = Objective("cross-encoder", 2, "repro.nn.cross_encoder:CrossEncoder")
TRAIN, TRIPLES = "msmarco-passage/train/judged", "msmarco-passage/train/triples-v2"
QUERY, PASSAGE, PAIR = 32, 144, 192  # lengths, Table 13
DEPTH = 1000


@dataclass(frozen=True)
class Marco:
    """The stages of one request; every open value is read from its readings."""

    request: Request

    def retriever_1(self, encoder: Node, *, epochs: int = 3, learning_rate: float = 2e-5) -> Node:
        """On official BM25 negatives."""
        ask = self.request.reading
        negatives = recipe.official_negatives(
            TRIPLES,
            per_query=ask("official-negatives"),
            seed=self._seed("retriever"),
            judgements=recipe.qrels(TRAIN),
        )
        return self._retriever(encoder, negatives, epochs=epochs, learning_rate=learning_rate)

    def retriever_2(self, encoder: Node) -> Node:
        """On negatives mined with retriever 1."""
        first = self.retriever_1(encoder)
        start = encoder if self.request.reading("retriever-two") == "pre-trained" else first
        return self._retriever(start, self.mined(first))

    def reranker(self, encoder: Node, negatives: Node, *, learning_rate: float = 3e-5) -> Node:
        """A cross-encoder on the negatives mined with retriever 2."""
        ask = self.request.reading
        group = ask("reranker-group")
        options = {"trained_passages": group["trained"], "regulariser": ask("reranker-regulariser")}
        return recipe.finetune_pairs(
            encoder,
            negatives,
            documents=marco_passages(self.request),
            topics=recipe.queries(TRAIN),
            objective=RERANKER,
            options=options,
            queries_per_batch=64,
            passages_per_query=group["scored"],
            epochs=3,
            max_steps=None,
            learning_rate=learning_rate,
            warmup_ratio=0.0,
            warmup_steps=1000,
            schedule=ask("warm-up-shape"),
            **ask("optimiser"),
            passage_length=PAIR,
            separator=ask("title-joining")["reranker"],
            negative_choice=self._choice(),
            seed=self._seed("reranker"),
        )

    def distilled(self, encoder: Node, *, negatives: Node, teacher: Node) -> Node:
        """A retriever taught by the re-ranker on its scores of the mined negatives (Eq. 5)."""
        ask = self.request.reading
        scores, how = ask("teacher-scores"), ask("negative-lists")
        scored = recipe.score_pairs(
            teacher,
            negatives,
            documents=marco_passages(self.request),
            topics=recipe.queries(TRAIN),
            per_query=how["per_query"] + how["random_added"],
            length=PAIR,
            separator=ask("title-joining")["reranker"],
            decimals=scores["decimals"],
            precision=ask("encoding-precision")["passages"],
        )
        options = self._contrastive() | {
            "weight": ask("distillation-weight"),
            "teacher_temperature": scores["teacher_temperature"],
            "student_temperature": scores["student_temperature"],
        }
        return self._finetuned(
            encoder,
            scored,
            DISTILLATION,
            options,
            passages=24,
            epochs=6,
            learning_rate=3e-5,
            seed="distilled",
        )

    def pipeline(self, encoder: Node) -> Node:
        """From a pre-trained encoder to its distilled retriever; ELECTRA's re-ranker teaches."""
        mined = self.mined(self.retriever_2(encoder))
        teacher = self.reranker(electra(self.request), mined)
        return self.distilled(encoder, negatives=mined, teacher=teacher)

    def mined(self, retriever: Node) -> Node:
        """The top 200 of its ranking without the positives, and random passages (reading: negative-lists)."""
        how = self.request.reading("negative-lists")
        run = self._searched(retriever, TRAIN, depth=how["depth"])
        return recipe.mine(
            run,
            recipe.qrels(TRAIN),
            depth=how["depth"],
            per_query=how["per_query"],
            seed=self._seed("retriever"),
            random_added=how["random_added"],
            documents=marco_passages(self.request),
        )

    def run(self, retriever: Node) -> Node:
        """A retriever's ranking of the request's queries, measured as the readings say."""
        recall_as_read(self.request, "recall-definition")
        return self._searched(retriever, self.request.dataset, depth=DEPTH)

    def reranked(self, retriever: Node, reranker: Node) -> Node:
        """The top 200 of a retriever's ranking, scored anew (Table 13; reading: reranker-tail)."""
        ask = self.request.reading
        return recipe.rerank(
            reranker,
            self.run(retriever),
            documents=marco_passages(self.request),
            topics=recipe.queries(self.request.dataset),
            depth=200,
            keep=ask("reranker-tail"),
            length=PAIR,
            separator=ask("title-joining")["reranker"],
            decimals=None,
            precision=ask("encoding-precision")["passages"],
        )

    def _retriever(
        self, encoder: Node, negatives: Node, *, epochs: int = 3, learning_rate: float = 2e-5
    ) -> Node:
        sizes = self.request.reading("fine-tuning-batch")
        return self._finetuned(
            encoder,
            negatives,
            CONTRASTIVE,
            self._contrastive(),
            passages=sizes["passages"],
            epochs=epochs,
            learning_rate=learning_rate,
            seed="retriever",
        )

    def _finetuned(
        self,
        encoder: Node,
        training_set: Node,
        objective: Objective,
        options: dict[str, Any],
        *,
        passages: int,
        epochs: int,
        learning_rate: float,
        seed: str,
    ) -> Node:
        ask = self.request.reading
        return recipe.finetune(
            encoder,
            training_set,
            documents=marco_passages(self.request),
            topics=recipe.queries(TRAIN),
            objective=objective,
            options=options,
            queries_per_batch=ask("fine-tuning-batch")["queries"],
            passages_per_query=passages,
            epochs=epochs,
            max_steps=None,
            learning_rate=learning_rate,
            warmup_ratio=0.0,
            warmup_steps=1000,
            schedule=ask("warm-up-shape"),
            **ask("optimiser"),
            query_length=QUERY,
            passage_length=PASSAGE,
            separator=ask("title-joining")["retriever"],
            pooling="cls",
            seed=self._seed(seed),
            negative_choice=self._choice(),
        )

    def _contrastive(self) -> dict[str, Any]:
        ask = self.request.reading
        return {
            "temperature": 0.02,
            "temperature_warmup": False,
            "terms": ask("contrastive-terms"),
            "shares": ask("cross-device-negatives"),
            "weight": 1.0,
        }

    def _searched(self, retriever: Node, dataset: str, *, depth: int) -> Node:
        ask = self.request.reading
        how = {"separator": ask("title-joining")["retriever"], "pooling": "cls", "normalize": True}
        precision = ask("encoding-precision")
        passages = recipe.encode(
            retriever,
            marco_passages(self.request),
            kind="passages",
            length=PASSAGE,
            precision=precision["passages"],
            **how,
        )
        topics = recipe.encode(
            retriever,
            recipe.queries(dataset),
            kind="queries",
            length=QUERY,
            precision=precision["queries"],
            **how,
        )
        return recipe.search(passages, topics, depth=depth)

    def _choice(self) -> str:
        return self.request.reading("negative-lists")["order"]

    def _seed(self, stage: str) -> int:
        return self.request.seed_or(self.request.reading("fine-tuning-seed")[stage])
