"""Fine-tuning on MS MARCO as the scripts released with COSTA do it (its §4.5.2); CPDAE's runs are of one kind
with them (its §4.1.3, readings.yaml shared-rows).

Passages: BM25 negatives, then static hard negatives mined once. Documents: two rounds of mining, from the
passage model. Few queries: a sample of the training queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from repro import recipe
from repro.graph import Node
from repro.recipe import Objective
from repro.recipe.request import Request

CONTRASTIVE = Objective("contrastive", 1, "repro.nn.bi_encoder:BiEncoderContrastive")
PASSAGES, DOCUMENTS = "msmarco-passage/train/judged", "msmarco-document/train"
OFFICIAL_NEGATIVES = "msmarco-passage/train/triples-v2"
NO_PROJECTOR = {"projector": "none", "projector_start": "new"}
DEPTH = 1000


@dataclass(frozen=True)
class Texts:
    """What is ranked: a corpus, the queries that train on it, and how its texts are read."""

    corpus: Node
    train: str
    length: int
    separator: str


@dataclass(frozen=True)
class FineTuning:
    """From a pre-trained encoder to a run, with every open value read from the request's readings.

    Attributes:
        lengths: tokens of a query, passage and document.
        warm_up_epochs: on BM25 negatives.
        head: projector and projector_start of the fine-tuning objective.
    """

    request: Request
    lengths: Mapping[str, int]
    warm_up_epochs: int
    head: Mapping[str, str] = field(default_factory=lambda: NO_PROJECTOR)

    def warm_up(self, encoder: Node) -> Node:
        """The passage model on BM25 negatives."""
        return self._tuned(encoder, self.bm25_negatives(), self.passages(), epochs=self.warm_up_epochs)

    def passage_model(self, encoder: Node) -> Node:
        """The passage model on hard negatives mined once with the warm-up model."""
        ask, first, texts = self.request.reading, self.warm_up(encoder), self.passages()
        start = first if ask("hard-negative-start") == "warm-up" else encoder
        negatives = self._mined(first, texts, length=texts.length)
        if ask("hard-negative-pool") == "both":
            negatives = recipe.union(negatives, self.bm25_negatives())
        return self._tuned(start, negatives, texts, epochs=ask("hard-negative-epochs"))

    def document_model(self, encoder: Node, *, iteration: int) -> Node:
        """The document model after one or two rounds of mining, one epoch each (COSTA §4.5.2)."""
        ask, texts = self.request.reading, self.documents()
        miner = self.passage_model(encoder)
        start = miner if ask("document-start") == "passage" else encoder
        for _ in range(iteration):
            negatives = self._mined(miner, texts, length=ask("document-mining-length"))
            start = miner = self._tuned(start, negatives, texts, epochs=1)
        return miner

    def few_passages(
        self,
        encoder: Node,
        *,
        queries: int,
        sample: int,
        batch: int | None = None,
        learning_rate: float = 5e-6,
    ) -> Node:
        """The passage model of a sample of the training queries (reading: low-resource-training)."""
        kept = self._sample(self.bm25_negatives(), queries, sample)
        epochs = self.request.reading("low-resource-training")["epochs"]
        how = {"epochs": epochs, "batch": batch, "learning_rate": learning_rate}
        return self._tuned(encoder, kept, self.passages(), **how)

    def few_documents(self, encoder: Node, *, queries: int, sample: int) -> Node:
        """The document model of a sample of the training queries, on negatives by BM25."""
        ask = self.request.reading
        start = {
            "pre-trained": lambda: encoder,
            "passage-few": lambda: self.few_passages(encoder, queries=queries, sample=sample),
            "passage": lambda: self.passage_model(encoder),
        }[ask("low-resource-documents")]()
        documents, kept = recipe.corpus("msmarco-document"), ask("hard-negative-depth")
        run = recipe.bm25(
            documents, recipe.queries(DOCUMENTS), **ask("bm25-document-parameters"), depth=kept["depth"]
        )
        negatives = recipe.mine(run, recipe.qrels(DOCUMENTS), **kept, seed=self._seed())
        epochs = ask("low-resource-training")["epochs"]
        return self._tuned(start, self._sample(negatives, queries, sample), self.documents(), epochs=epochs)

    def run(self, model: Node) -> Node:
        """The model's ranking of the request's queries; the columns scored as the readings say."""
        documents = self.request.collection == "msmarco-document"
        score_as_read(self.request, documents=documents)
        texts = self.documents() if documents else self.passages()
        return recipe.search(*self.encoded(model, texts, self.request.dataset), depth=DEPTH)

    def encoded(
        self, model: Node, texts: Texts, dataset: str, *, length: int | None = None
    ) -> tuple[Node, Node]:
        """Vectors of all texts and of a dataset's queries."""
        how = {
            "separator": texts.separator,
            "pooling": "cls",
            "normalize": self.request.reading("retrieval-similarity") == "cosine",
            "precision": self.request.reading("encoding-precision"),
        }
        passages = recipe.encode(model, texts.corpus, kind="passages", length=length or texts.length, **how)
        topics = recipe.queries(dataset)
        return passages, recipe.encode(model, topics, kind="queries", length=self._query_length(), **how)

    def passages(self) -> Texts:
        """reading: passage-titles. The released scripts rank the titled passages given out with RocketQA."""
        ask, corpus = self.request.reading, "msmarco-passage"
        titled = f"{corpus}/rocketqa"
        if ask("passage-titles") == "rocketqa" and self.request.choices.original(
            "passage-titles", f"{titled}/corpus.jsonl", otherwise="none"
        ):
            corpus = titled
        length = self.lengths["passage"] + ask("length-special-tokens")
        separator = "pair" if ask("token-type-ids") else ask("title-separator")
        return Texts(recipe.corpus(corpus), PASSAGES, length, separator)

    def documents(self) -> Texts:
        """reading: document-text. Title, url and body as one text, cut to BERT's 512 positions."""
        read = self.request.reading("document-text")
        corpus = recipe.corpus("msmarco-document", text=read["text"], untitled=read["untitled"])
        return Texts(corpus, DOCUMENTS, self.lengths["document"], read["separator"])

    def bm25_negatives(self) -> Node:
        """The official BM25 negatives (COSTA §4.5.2), sampled per query."""
        ask = self.request.reading
        judged = recipe.qrels(PASSAGES) if ask("bm25-negatives-positives") == "judged" else None
        return recipe.official_negatives(
            OFFICIAL_NEGATIVES, per_query=ask("bm25-negatives-sample"), seed=self._seed(), judgements=judged
        )

    def _mined(self, model: Node, texts: Texts, *, length: int) -> Node:
        """The top of a model's run for the training queries, positives removed."""
        kept = self.request.reading("hard-negative-depth")
        vectors = self.encoded(model, texts, texts.train, length=length)
        run = recipe.search(*vectors, depth=kept["depth"])
        return recipe.mine(run, recipe.qrels(texts.train), **kept, seed=self._seed())

    def _sample(self, training_set: Node, queries: int, sample: int) -> Node:
        how = self.request.reading("low-resource-sample")
        return recipe.sample(training_set, queries=queries, sample=sample, **how)

    def _tuned(
        self,
        model: Node,
        training_set: Node,
        texts: Texts,
        *,
        epochs: int,
        batch: int | None = None,
        learning_rate: float = 5e-6,
    ) -> Node:
        """Listwise contrastive fine-tuning with in-batch negatives (reading: fine-tuning-loss).

        Not in print but in the released scripts and the defaults they keep: [CLS] vectors, no temperature,
        linear decay to zero.
        """
        ask = self.request.reading
        sizes = ask("fine-tuning-batch")
        options = {
            "temperature": 1.0,
            "similarity": ask("retrieval-similarity"),
            "negatives": ask("fine-tuning-loss"),
            **self.head,
        }
        return recipe.finetune(
            model,
            training_set,
            documents=texts.corpus,
            topics=recipe.queries(texts.train),
            objective=CONTRASTIVE,
            options=options,
            queries_per_batch=batch or sizes["queries"],
            passages_per_query=sizes["passages"],
            epochs=epochs,
            max_steps=None,
            learning_rate=learning_rate,
            warmup_ratio=0.1,
            warmup_steps=0,
            schedule="linear",
            **ask("fine-tuning-optimizer"),
            precision=ask("fine-tuning-precision"),
            query_length=self._query_length(),
            passage_length=texts.length,
            separator=texts.separator,
            pooling="cls",
            seed=self._seed(),
        )

    def _query_length(self) -> int:
        return self.lengths["query"] + self.request.reading("length-special-tokens")

    def _seed(self) -> int:
        return self.request.seed_or(self.request.reading("fine-tuning-seed"))


def score_as_read(request: Request, *, documents: bool) -> None:
    """readings: dev-recall, trec-recall-grade. Which measure a column headed recall stands for."""
    if "/dev" in request.dataset:
        name = request.reading("dev-recall")
        for cutoff in (100, 1000):
            request.measure_as(f"R@{cutoff}", f"{name}@{cutoff}")
        return
    grade = request.reading("trec-recall-grade")["document" if documents else "passage"]
    level = f"(rel={grade})" if grade > 1 else ""
    for cutoff in (100, 1000):
        for printed in (f"R@{cutoff}", f"R(rel=2)@{cutoff}"):
            request.measure_as(printed, f"R{level}@{cutoff}")


def recall_as_read(request: Request, reading: str) -> None:
    """Which measure a column of recall at 50 or 1,000 stands for in this row: the name before its @."""
    name = request.reading(reading)
    for cutoff in (50, 1000):
        for printed in (f"Success@{cutoff}", f"R@{cutoff}"):
            request.measure_as(printed, f"{name}@{cutoff}")
