"""Fine-tuning and ranking on MS MARCO, Natural Questions and BEIR (§4.1)."""

from dataclasses import dataclass, replace
from typing import Any

from papers.baselines.ms_marco import CONTRASTIVE, NO_PROJECTOR, OFFICIAL_NEGATIVES, PASSAGES
from papers.baselines.two_stage import MULTI_VIEW, Dense, TwoStage, cls_texts, marco_passages
from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe import Optimisation
from repro.retrieval.recipe.request import Request

ONE_DENSE_VIEW = {  # of an objective that could also have sparse vectors
    "views": ["dense"],
    "top_k": None,
    "sparse_truncation": {"after": "saturation", "queries": False, "passages": False},
    "sparse_positions": {"cls": False, "sep": False},
    "vocabulary_head": "transform",
    "dense_reduction": None,
    "hybrid_similarity": ["dense"],
    "view_objective": "sum",
    "contrastive_denominator": "softmax",
    "in_batch_negatives": "batch",
    "flops_weight": {"queries": 0.0, "passages": 0.0, "ramp_steps": 0},
    "flops_vectors": "before",
}
QUESTIONS, WIKIPEDIA = "dpr-w100/natural-questions/train", "dpr-w100"
LISTED = "msmarco-passage/train/hard-negatives"
DEPTHS = {"msmarco-passage": 1000, "dpr-w100": 100}  # the deepest column of Tables 2 to 6
SIMILARITY = {"temperature": 1.0, "similarity": "dot"}


@dataclass(frozen=True)
class FineTuning:
    """Fine-tuning and search of a pre-trained encoder, for one request and by its readings."""

    request: Request

    def tuned(self, encoder: Node, *, negatives: str) -> Node:
        """Fine-tune ``encoder`` on the request's training queries. ``bm25`` negatives are the given ones, for
        Natural Questions those of DPR. For ``mined`` ones, a first model is trained on the given ones and
        mines them. Reading second-stage-start decides whether the second training starts from this model."""
        first = self._on_given_negatives(encoder)
        if negatives == "bm25":
            return first
        start = encoder if self.request.reading("second-stage-start") == "pre-trained" else first
        stages, how = self._stages()
        return stages.tuned(start, self.mined(first), how)

    def mined(self, model: Node) -> Node:
        """Return hard negatives of the training queries: the top of ``model``'s ranking without the positives
        or, for Natural Questions, without passages that contain an answer (reading: ance-negatives)."""
        ask, (stages, how) = self.request.reading, self._stages()
        depth = ask("ance-negatives")["depth"]
        if self._collection != WIKIPEDIA:
            return stages.mined(model, depth=depth, per_query=depth, seed=how.seed)
        return recipe.mine_answers(
            stages.search(model, QUESTIONS, depth=depth),
            recipe.qrels(QUESTIONS),
            documents=recipe.corpus(WIKIPEDIA),
            topics=recipe.queries(QUESTIONS),
            depth=depth,
            per_query=depth,
            seed=how.seed,
            extra_positives=False,
            tokenless_answers=ask("answers-without-a-token"),
        )

    def distilled(self, encoder: Node) -> Node:
        """Return a retriever that is fine-tuned to rank mined negatives as a cross-encoder does (§4.1). The
        retriever that mines them (``tuned``) and the cross-encoder are trained first."""
        ask, (stages, how) = self.request.reading, self._stages()
        second, read = self.tuned(encoder, negatives="mined"), dict(ask("distillation-training"))
        negatives, reranking = self.mined(second), self._reranking(stages)
        scored = recipe.score_pairs(
            self._teacher(reranking, negatives, how),
            negatives,
            texts=reranking.texts,
            per_query=ask("ance-negatives")["depth"],
            decimals=None,
            precision=ask("precision"),
        )
        distillation = {
            "direction": "teacher-student",
            "teacher_temperature": 1.0,
            "contrastive_weight": ask("distillation-weight"),
        }
        options = ONE_DENSE_VIEW | SIMILARITY | {"distillation": distillation}
        start = encoder if read.pop("start") == "pre-trained" else second
        passages = read.pop("passages")
        student = replace(stages, objective=MULTI_VIEW, options=options, passages_per_query=passages)
        return student.tuned(start, scored, replace(how, **read))

    def beir(self, encoder: Node) -> Node:
        """Fine-tune ``encoder`` on MS MARCO with published hard negatives, for BEIR (reading:
        beir-fine-tuning)."""
        ask, read = self.request.reading, dict(self.request.reading("beir-fine-tuning"))
        lengths = {"query": 32, "passage": read.pop("passage_length")}
        documents, queries = recipe.corpus("msmarco-passage"), read.pop("queries")
        stages = self._two_stages(documents, PASSAGES, lengths, separator=" ", passages=2)
        how = replace(self._optimisation(batch_size=queries), **read)
        return stages.tuned(encoder, recipe.listed_negatives(LISTED, **ask("beir-negatives")), how)

    def run(self, model: Node) -> Node:
        """Return the model's ranking of the request's queries, and set its measures by the readings."""
        request = self.request
        if request.collection in DEPTHS:
            stages, _ = self._stages()
            if request.collection == WIKIPEDIA:
                request.match_answers(tokenless=request.reading("answers-without-a-token"))
            else:
                for cutoff in (10, 100, 1000):
                    request.measure_as(f"R@{cutoff}", f"{request.reading('recall-definition')}@{cutoff}")
            return stages.search(model, request.dataset, depth=DEPTHS[request.collection])
        request.score_with(ignore_identical_ids=request.reading("dense-identical-ids"))
        how = {"separator": request.reading("beir-title-separator"), "passages": 2}
        documents, lengths = recipe.corpus(request.collection), request.reading("beir-lengths")
        stages = self._two_stages(documents, PASSAGES, lengths, **how)
        return stages.search(model, request.dataset, depth=1000)

    @property
    def _collection(self) -> str:
        return self.request.collection

    def _on_given_negatives(self, encoder: Node) -> Node:
        ask, (stages, how) = self.request.reading, self._stages()
        if self._collection == WIKIPEDIA:
            given = recipe.judged_examples(recipe.qrels(QUESTIONS), dataset=QUESTIONS, negative_grade=0)
        else:
            drawn = {"per_query": ask("official-negatives"), "seed": how.seed}
            given = recipe.official_negatives(OFFICIAL_NEGATIVES, judgements=recipe.qrels(PASSAGES), **drawn)
        return stages.tuned(encoder, given, how)

    def _stages(self) -> tuple[TwoStage, Optimisation]:
        if self._collection == WIKIPEDIA:
            read = dict(self.request.reading("nq-fine-tuning"))
            length, passages = read.pop("length"), read.pop("passages")
            lengths, documents = {"query": length, "passage": length}, recipe.corpus(WIKIPEDIA)
            how = replace(self._optimisation(batch_size=read.pop("queries")), **read)
            return self._two_stages(documents, QUESTIONS, lengths, passages=passages), how
        read = self.request.reading("fine-tuning")
        lengths = {"query": 32, "passage": read["passage_length"]}
        stages = self._two_stages(marco_passages(self.request), PASSAGES, lengths, passages=read["passages"])
        rates = {name: read[name] for name in ("epochs", "learning_rate")}
        return stages, replace(self._optimisation(batch_size=read["queries"]), **rates)

    def _two_stages(
        self, documents: Node, train: str, lengths: dict[str, int], *, passages: int, separator: str = "[SEP]"
    ) -> TwoStage:
        ask = self.request.reading
        return TwoStage(
            train=train,
            texts=cls_texts(documents, train, **lengths, separator=separator),
            representation=Dense(normalize=False, precision=ask("precision")),
            objective=CONTRASTIVE,
            options=SIMILARITY | {"negatives": "in-batch"} | NO_PROJECTOR,
            passages_per_query=passages,
            negative_choice=ask("negatives-of-an-epoch"),
        )

    def _reranking(self, stages: TwoStage) -> TwoStage:
        read = self.request.reading("reranker-training")
        sizes: dict[str, Any] = {"length": read["length"], "passages": read["passages"]}
        return stages.reranking(separator="[SEP]", trained=read["passages"], regulariser="none", **sizes)

    def _teacher(self, reranking: TwoStage, negatives: Node, how: Optimisation) -> Node:
        """Return a BERT_base cross-encoder fine-tuned on the mined negatives (§4.1, reading:
        reranker-training)."""
        read = self.request.reading("reranker-training")
        names = ("epochs", "learning_rate", "warmup_steps", "weight_decay")
        how = replace(how, batch_size=read["queries"], **{name: read[name] for name in names})
        bert = recipe.backbone(self.request.reading("baseline-checkpoints")["bert"], revision="main")
        return reranking.tuned(bert, negatives, how)

    def _optimisation(self, *, batch_size: int) -> Optimisation:
        ask = self.request.reading
        return Optimisation(
            batch_size=batch_size,
            epochs=1,
            learning_rate=2e-5,
            warmup_steps=0,
            schedule="linear",
            weight_decay=0.0,
            max_grad_norm=1.0,
            precision=ask("precision"),
            seed=self.request.seed_or(ask("fine-tuning-seed")),
        )
