"""The pipeline on MS MARCO (§3.3, §4.2, Figure 2): two retrievers, a distilled one; the first version's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from papers.baselines.ms_marco import recall_as_read
from papers.cotmae_v2.views import TRAIN, Representation, passages
from repro import recipe
from repro.graph import Node
from repro.recipe import Objective
from repro.recipe.request import Request

RERANKER = Objective("cross-encoder", 2, "repro.nn.cross_encoder:CrossEncoder")
MINED_DEPTH = 200  # §4.2


@dataclass(frozen=True)
class Settings:
    """What of fine-tuning differs between the versions: epochs of both stages, decay, tokens of a passage."""

    epochs: tuple[int, int]
    weight_decay: float
    passage_length: int


@dataclass(frozen=True)
class Marco:
    """The stages of one request for texts as ``representation`` has them."""

    request: Request
    representation: Representation
    settings: Settings

    @classmethod
    def second_version(cls, request: Request, representation: Representation) -> Marco:
        """§4.2."""
        settings = Settings(
            (3, request.reading("stage-two-epochs")), request.reading("fine-tuning-weight-decay"), 144
        )
        return cls(request, representation, settings)

    @classmethod
    def first_version(cls, request: Request) -> Marco:
        """reading: first-version-fine-tuning."""
        how = request.reading("first-version-fine-tuning")
        settings = Settings(tuple(how["epochs"]), how["weight_decay"], how["passage_length"])
        return cls(request, Representation(request, views=("dense",)), settings)

    def stage_one(self, encoder: Node) -> Node:
        """On official BM25 negatives."""
        return self._tuned(encoder, self._official(), epochs=self.settings.epochs[0])

    def stage_two(self, encoder: Node) -> Node:
        """On negatives mined with stage one: what is measured as not distilled."""
        ask, first = self.request.reading, self.stage_one(encoder)
        negatives = self.mined(first)
        if ask("stage-two-negatives") == "both":
            negatives = recipe.union(negatives, self._official())
        start = encoder if ask("stage-two-start") == "pre-trained" else first
        return self._tuned(start, negatives, epochs=self.settings.epochs[1])

    def distilled(self, encoder: Node, *, teacher: Node) -> Node:
        """Taught by the first version's re-ranker on mined negatives (Eq. 16)."""
        ask, second = self.request.reading, self.stage_two(encoder)
        how, reranker = ask("distillation-training"), ask("reranker-training")
        miner = second if ask("distillation-negatives") == "stage-two" else self.stage_one(encoder)
        scored = recipe.score_pairs(
            teacher,
            self.mined(miner),
            documents=passages(self.request),
            topics=recipe.queries(TRAIN),
            per_query=ask("negatives-kept")["mined"],
            length=reranker["length"],
            separator=ask("title-separator"),
            decimals=None,
            precision=ask("fine-tuning-precision"),
        )
        distillation = {
            "direction": ask("distillation-direction"),
            "contrastive_weight": ask("distillation-weight"),
            "teacher_temperature": how["teacher_temperature"],
        }
        start = encoder if ask("distillation-start") == "pre-trained" else second
        return self._tuned(
            start,
            scored,
            epochs=how["epochs"],
            distillation=distillation,
            group=how["passages"],
            learning_rate=how["learning_rate"],
        )

    def reranker(self, encoder: Node, *, regulariser: str | None = None) -> Node:
        """A cross-encoder on the negatives mined with stage two (reading: reranker-training)."""
        ask, how = self.request.reading, self.request.reading("reranker-training")
        return recipe.finetune_pairs(
            encoder,
            self.mined(self.stage_two(encoder)),
            documents=passages(self.request),
            topics=recipe.queries(TRAIN),
            objective=RERANKER,
            options={"trained_passages": how["passages"], "regulariser": regulariser or how["regulariser"]},
            queries_per_batch=how["queries"],
            passages_per_query=how["passages"],
            epochs=how["epochs"],
            max_steps=None,
            learning_rate=how["learning_rate"],
            **self._optimiser(),
            passage_length=how["length"],
            separator=ask("title-separator"),
            seed=self._seed(),
        )

    def run(self, model: Node) -> Node:
        """The model's ranking of the request's queries; recall as a reading says."""
        recall_as_read(self.request, "recall-definition")
        return self.representation.search(
            model, passages(self.request), self.request.dataset, passage_length=self.settings.passage_length
        )

    def mined(self, model: Node) -> Node:
        kept = self.request.reading("negatives-kept")["mined"]
        run = self.representation.search(
            model,
            passages(self.request),
            TRAIN,
            depth=MINED_DEPTH,
            passage_length=self.settings.passage_length,
        )
        return recipe.mine(run, recipe.qrels(TRAIN), depth=MINED_DEPTH, per_query=kept, seed=self._seed())

    def _official(self) -> Node:
        ask = self.request.reading
        return recipe.official_negatives(
            ask("official-negatives"),
            per_query=ask("negatives-kept")["bm25"],
            seed=self._seed(),
            judgements=recipe.qrels(TRAIN),
        )

    def _tuned(
        self,
        model: Node,
        training_set: Node,
        *,
        epochs: int,
        distillation: Mapping[str, Any] | None = None,
        group: int | None = None,
        learning_rate: float = 2e-5,
    ) -> Node:
        sizes = self.request.reading("fine-tuning-batch")
        return self.representation.finetune(
            model,
            training_set,
            documents=passages(self.request),
            distillation=distillation,
            queries_per_batch=sizes["queries"],
            passages_per_query=group or sizes["passages"],
            epochs=epochs,
            learning_rate=learning_rate,
            passage_length=self.settings.passage_length,
            seed=self._seed(),
            **self._optimiser(),
        )

    def _optimiser(self) -> dict[str, Any]:
        """§4.2 and the first version's script."""
        ask = self.request.reading
        return {
            "warmup_ratio": ask("fine-tuning-warmup"),
            "warmup_steps": 0,
            "schedule": "linear",
            "weight_decay": self.settings.weight_decay,
            "max_grad_norm": 1.0,
            "precision": ask("fine-tuning-precision"),
        }

    def _seed(self) -> int:
        return self.request.seed_or(self.request.reading("fine-tuning-seed"))
