"""The pipeline on MS MARCO (§3.2, Table 13): two retrievers, a re-ranker, a distilled retriever."""

from dataclasses import dataclass, replace

from papers.baselines.ms_marco import OFFICIAL_NEGATIVES, PASSAGES, recall_as_read
from papers.baselines.two_stage import TwoStage, marco_passages
from papers.simlm import fine_tuning
from papers.simlm.encoders import electra
from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe import Optimisation
from repro.retrieval.recipe.request import Request

PASSAGE, PAIR = 144, 192  # tokens, Table 13
DEPTH = 1000


@dataclass(frozen=True)
class Marco:
    """The trainings and rankings on MS MARCO for one request, by its readings."""

    request: Request

    def retriever_1(self, encoder: Node, *, is_electra: bool = False) -> Node:
        """Fine-tune ``encoder`` on the official BM25 negatives (stage 1 of Figure 2)."""
        how = self._retriever_optimisation(is_electra=is_electra)
        drawn = {"per_query": self.request.reading("official-negatives"), "seed": how.seed}
        negatives = recipe.official_negatives(OFFICIAL_NEGATIVES, judgements=recipe.qrels(PASSAGES), **drawn)
        return self._stages().tuned(encoder, negatives, how)

    def retriever_2(self, encoder: Node, *, is_electra: bool = False) -> Node:
        """Return retriever 2, fine-tuned on negatives mined with retriever 1, which is trained first (stage 2
        of Figure 2). Reading retriever-two decides whether it starts from ``encoder`` or from retriever 1."""
        first = self.retriever_1(encoder, is_electra=is_electra)
        start = encoder if self.request.reading("retriever-two") == "pre-trained" else first
        return self._stages().tuned(
            start, self.mined(first), self._retriever_optimisation(is_electra=is_electra)
        )

    def reranker(self, encoder: Node, negatives: Node, *, learning_rate: float = 3e-5) -> Node:
        """Fine-tune ``encoder`` as a cross-encoder on ``negatives``, those mined with retriever 2 (stage
        3)."""
        how = replace(self._optimisation("reranker"), batch_size=64, learning_rate=learning_rate)
        return self._reranking().tuned(encoder, negatives, how)

    def distilled(self, encoder: Node, *, negatives: Node, teacher: Node) -> Node:
        """Fine-tune ``encoder`` to rank ``negatives`` as the re-ranker ``teacher`` does (stage 4, Eq. 5)."""
        ask, texts = self.request.reading, self._reranking().texts
        per_query = ask("negative-lists")["per_query"] + ask("negative-lists")["random_added"]
        scored = fine_tuning.scored(self.request, teacher, negatives, texts=texts, per_query=per_query)
        weight = ask("distillation-weight")
        stages = fine_tuning.distillation(self.request, self._stages(), passages=24, weight=weight)
        how = replace(self._optimisation("distilled"), epochs=6, learning_rate=3e-5)
        return stages.tuned(encoder, scored, how)

    def pipeline(self, encoder: Node) -> Node:
        """Return the distilled retriever, after all four stages from a pre-trained encoder, with ELECTRA as
        teacher."""
        mined = self.mined(self.retriever_2(encoder))
        teacher = self.reranker(electra(self.request), mined)
        return self.distilled(encoder, negatives=mined, teacher=teacher)

    def mined(self, retriever: Node) -> Node:
        """Return hard negatives of the training queries: the top of the retriever's ranking without
        positives, and random passages. Reading ``negative-lists`` gives the depth and both numbers."""
        read = self.request.reading("negative-lists")
        kept = {name: read[name] for name in ("depth", "per_query", "random_added")}
        return self._stages().mined(retriever, **kept, seed=self._optimisation("retriever").seed)

    def run(self, retriever: Node) -> Node:
        """Return a retriever's ranking of the request's queries, and set its recall by the readings."""
        recall_as_read(self.request, "recall-definition")
        return self._stages().search(retriever, self.request.dataset, depth=DEPTH)

    def reranked(self, retriever: Node, reranker: Node) -> Node:
        """Return ``retriever``'s ranking of the request's queries with its top 200 re-ranked by a
        cross-encoder (Table 13), see ``reordered``."""
        return self.reordered(self.run(retriever), reranker)

    def reordered(self, run: Node, reranker: Node) -> Node:
        """Return a ranking with its top 200 re-ranked by a cross-encoder. Reading reranker-tail decides
        whether the documents below are kept."""
        ask = self.request.reading
        texts = replace(self._reranking().texts, topics=recipe.queries(self.request.dataset))
        how = {"keep": ask("reranker-tail"), "precision": ask("encoding-precision")["passages"]}
        return recipe.rerank(reranker, run, texts=texts, depth=200, decimals=None, **how)

    def _stages(self) -> TwoStage:
        ask = self.request.reading
        return fine_tuning.retrievers(
            self.request,
            documents=marco_passages(self.request),
            train=PASSAGES,
            length=PASSAGE,
            passages=ask("fine-tuning-batch")["passages"],
            temperature_warmup=False,
            shares=ask("cross-device-negatives"),
            weight=1.0,
        )

    def _reranking(self) -> TwoStage:
        group = self.request.reading("reranker-group")
        return fine_tuning.reranking(self.request, self._stages(), length=PAIR, **group)

    def _retriever_optimisation(self, *, is_electra: bool) -> Optimisation:
        """Return the optimisation of retrievers 1 and 2 (App. A: six epochs at 4e-5 for ELECTRA)."""
        how = self._optimisation("retriever")
        return replace(how, epochs=6, learning_rate=4e-5) if is_electra else how

    def _optimisation(self, stage: str) -> Optimisation:
        queries = self.request.reading("fine-tuning-batch")["queries"]
        return fine_tuning.optimisation(self.request, stage, queries=queries)
