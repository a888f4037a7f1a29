"""Fine-tuning on MS MARCO by the scripts released with COSTA (its §4.5.2). CPDAE fine-tunes in the same way
(its §4.1.3, reading shared-rows).

Passages: BM25 negatives, then static hard negatives mined once. Documents: two rounds of mining, from the
passage model. Few queries: a sample of the training queries.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from papers.baselines.two_stage import Dense, TwoStage, cls_texts, marco_passages
from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe import Objective, Optimisation
from repro.retrieval.recipe.request import Request

CONTRASTIVE = Objective(
    "contrastive",
    1,
    "repro.retrieval.nn.bi_encoder:BiEncoderContrastive",
    "similarity=dot|cosine negatives=in-batch|own|pairwise projector=nonlinear|linear|none "
    "projector_start=pre-trained|new",
)
PASSAGES, DOCUMENTS = "msmarco-passage/train/judged", "msmarco-document/train"
OFFICIAL_NEGATIVES = "msmarco-passage/train/triples-v2"
NO_PROJECTOR = {"projector": "none", "projector_start": "new"}
LEARNING_RATE = 5e-6  # COSTA §4.5.2
DEPTH = 1000


@dataclass(frozen=True)
class FineTuning:
    """Fine-tuning and search of a pre-trained encoder, by the request's readings.

    Attributes:
        lengths: maximum numbers of tokens of a query, a passage and a document.
        warm_up_epochs: the number of epochs on BM25 negatives.
        head: the options ``projector`` and ``projector_start`` of the fine-tuning objective.
    """

    request: Request
    lengths: Mapping[str, int]
    warm_up_epochs: int
    head: Mapping[str, str] = field(default_factory=lambda: NO_PROJECTOR)

    def warm_up(self, encoder: Node) -> Node:
        """Fine-tune ``encoder`` for passages on BM25 negatives (COSTA §4.5.2)."""
        how = self._optimisation(epochs=self.warm_up_epochs)
        return self.passages().tuned(encoder, self._bm25_negatives(), how)

    def passage_model(self, encoder: Node) -> Node:
        """Return a model for passages, fine-tuned on hard negatives mined once with the warm-up model, which
        is trained first (COSTA §4.5.2). Readings choose its start, and whether BM25 negatives are added."""
        ask, first = self.request.reading, self.warm_up(encoder)
        start = first if ask("hard-negative-start") == "warm-up" else encoder
        negatives = self._mined(first, self.passages())
        if ask("hard-negative-pool") == "both":
            negatives = recipe.union(negatives, self._bm25_negatives())
        return self.passages().tuned(start, negatives, self._optimisation(epochs=ask("hard-negative-epochs")))

    def document_model(self, encoder: Node, *, iteration: int) -> Node:
        """Return a model for documents after one or two rounds (``iteration``) of mining and one epoch. The
        passage model mines first and is the start, unless reading document-start chooses ``encoder`` (COSTA
        §4.5.2)."""
        ask, stages = self.request.reading, self._documents()
        miner = self.passage_model(encoder)
        start = miner if ask("document-start") == "passage" else encoder
        for _ in range(iteration):
            negatives = self._mined(miner, stages.with_passages_of(ask("document-mining-length")))
            start = miner = stages.tuned(start, negatives, self._optimisation(epochs=1))
        return miner

    def few_passages(
        self,
        encoder: Node,
        *,
        queries: int,
        sample: int,
        batch: int | None = None,
        learning_rate: float = LEARNING_RATE,
    ) -> Node:
        """Fine-tune for passages on the ``sample``-th sample of ``queries`` training queries, with BM25
        negatives (reading: low-resource-training). ``batch`` is by default that of reading
        fine-tuning-batch."""
        negatives = self._sample(self._bm25_negatives(), queries, sample)
        epochs = self.request.reading("low-resource-training")["epochs"]
        how = self._optimisation(epochs=epochs, batch=batch, learning_rate=learning_rate)
        return self.passages().tuned(encoder, negatives, how)

    def few_documents(self, encoder: Node, *, queries: int, sample: int) -> Node:
        """Fine-tune for documents on the ``sample``-th sample of ``queries`` training queries, with BM25
        negatives. Reading low-resource-documents chooses the start."""
        ask = self.request.reading
        start = {
            "pre-trained": lambda: encoder,
            "passage-few": lambda: self.few_passages(encoder, queries=queries, sample=sample),
            "passage": lambda: self.passage_model(encoder),
        }[ask("low-resource-documents")]()
        documents, kept = recipe.corpus("msmarco-document"), ask("hard-negative-depth")
        tuned = ask("bm25-document-parameters")["dev"]
        run = recipe.bm25(documents, recipe.queries(DOCUMENTS), **tuned, depth=kept["depth"])
        negatives = recipe.mine(run, recipe.qrels(DOCUMENTS), **kept, seed=self._seed())
        how = self._optimisation(epochs=ask("low-resource-training")["epochs"])
        return self._documents().tuned(start, self._sample(negatives, queries, sample), how)

    def run(self, model: Node) -> Node:
        """Return the model's ranking of the request's queries. Readings set how its recall is measured."""
        score_as_read(self.request)
        stages = self._documents() if self.request.collection == "msmarco-document" else self.passages()
        return stages.search(model, self.request.dataset, depth=DEPTH)

    def passages(self) -> TwoStage:
        """Return the trainings and rankings on passages, by default RocketQA's passages with titles (reading:
        passage-titles)."""
        ask, corpus = self.request.reading, marco_passages(self.request)
        length = self.lengths["passage"] + ask("length-special-tokens")
        separator = "pair" if ask("token-type-ids") else ask("title-separator")
        return self._stages(corpus, PASSAGES, length, separator)

    def _documents(self) -> TwoStage:
        """Return the trainings and rankings on documents, with title, url and body as one text (reading:
        document-text)."""
        read = self.request.reading("document-text")
        corpus = recipe.corpus("msmarco-document", text=read["text"], untitled=read["untitled"])
        return self._stages(corpus, DOCUMENTS, self.lengths["document"], read["separator"])

    def _stages(self, corpus: Node, train: str, length: int, separator: str) -> TwoStage:
        """Return both stages of listwise contrastive fine-tuning with in-batch negatives (reading:
        fine-tuning-loss), with [CLS] vectors and without temperature, as in the released scripts."""
        ask = self.request.reading
        similarity = ask("retrieval-similarity")
        query = self.lengths["query"] + ask("length-special-tokens")
        options = {"temperature": 1.0, "similarity": similarity, "negatives": ask("fine-tuning-loss")}
        return TwoStage(
            train=train,
            texts=cls_texts(corpus, train, query=query, passage=length, separator=separator),
            representation=Dense(
                normalize=similarity == "cosine",
                precision=ask("encoding-precision"),
                numbers=ask("stored-vectors"),
            ),
            objective=CONTRASTIVE,
            options={**options, **self.head},
            passages_per_query=ask("fine-tuning-batch")["passages"],
            negative_choice=ask("negatives-of-an-epoch"),
        )

    def _optimisation(
        self, *, epochs: int, batch: int | None = None, learning_rate: float = LEARNING_RATE
    ) -> Optimisation:
        """Return Adam at 5e-6 with warm-up over a tenth of the steps (COSTA §4.5.2), and the weight decay of
        the released scripts."""
        ask = self.request.reading
        return Optimisation(
            batch_size=batch or ask("fine-tuning-batch")["queries"],
            epochs=epochs,
            learning_rate=learning_rate,
            warmup_ratio=0.1,
            schedule="linear",
            **ask("fine-tuning-optimizer"),
            precision=ask("fine-tuning-precision"),
            seed=self._seed(),
        )

    def _bm25_negatives(self) -> Node:
        ask = self.request.reading
        judged = recipe.qrels(PASSAGES) if ask("bm25-negatives-positives") == "judged" else None
        return recipe.official_negatives(
            OFFICIAL_NEGATIVES, per_query=ask("bm25-negatives-sample"), seed=self._seed(), judgements=judged
        )

    def _mined(self, model: Node, stages: TwoStage) -> Node:
        return stages.mined(model, **self.request.reading("hard-negative-depth"), seed=self._seed())

    def _sample(self, training_set: Node, queries: int, sample: int) -> Node:
        how = self.request.reading("low-resource-sample")
        return recipe.sample(training_set, queries=queries, sample=sample, **how)

    def _seed(self) -> int:
        return self.request.seed_or(self.request.reading("fine-tuning-seed"))


def score_as_read(request: Request) -> None:
    """Set the measure of columns headed recall by the readings dev-recall (dev sets) or trec-recall-grade
    (TREC)."""
    if "/dev" in request.dataset:
        name = request.reading("dev-recall")
        for cutoff in (100, 1000):
            request.measure_as(f"R@{cutoff}", f"{name}@{cutoff}")
        return
    kind = "document" if request.collection == "msmarco-document" else "passage"
    grade = request.reading("trec-recall-grade")[kind]
    level = f"(rel={grade})" if grade > 1 else ""
    for cutoff in (100, 1000):
        for printed in (f"R@{cutoff}", f"R(rel=2)@{cutoff}"):
            request.measure_as(printed, f"R{level}@{cutoff}")


def of_set(request: Request, value: Mapping[str, Any]) -> Any:
    """Return the entry of a reading's value that applies to the request's queries, ``dev`` or ``trec``."""
    return value["trec" if "trec" in request.dataset else "dev"]


def recall_as_read(request: Request, reading: str) -> None:
    """Set the measure of columns of recall at 50 or 1,000 to the value of ``reading``, R or Success. A
    reading without a value keeps the manifest's measure."""
    name = request.reading(reading)
    for cutoff in (50, 1000) if name else ():
        for printed in (f"Success@{cutoff}", f"R@{cutoff}"):
            request.measure_as(printed, f"{name}@{cutoff}")


def score_columns(request: Request, recall: str | None) -> None:
    """Set the measures of a baseline's columns of recall, and its matching of answers, by the paper's
    readings. ``recall`` is the id of the row's own reading, e.g. "dpr-recall"."""
    if {"dev-recall", "trec-recall-grade"} <= set(request.choices.readings):
        score_as_read(request)
    if recall is not None:
        recall_as_read(request, recall)
    if "answers-without-a-token" in request.choices.readings:
        request.match_answers(tokenless=request.reading("answers-without-a-token"))
