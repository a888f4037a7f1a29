"""Fine-tuning in two stages: on given negatives, then on those mined with the first model. All
hyper-parameters are arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe import Objective, Optimisation, Texts
from repro.retrieval.recipe.request import Request

RERANKER = Objective(
    "cross-encoder", 2, "repro.retrieval.nn.cross_encoder:CrossEncoder", "regulariser=r-drop|none"
)
MULTI_VIEW = Objective(
    "multi-view-contrastive",
    1,
    "repro.retrieval.nn.multi_view_bi_encoder:MultiViewBiEncoder",
    "similarity=dot|cosine view_objective=sum|separate|both in_batch_negatives=batch|own "
    "flops_vectors=before|after",
    vector_widths=("top_k", "dense_reduction"),
)
TITLED = "msmarco-passage/rocketqa"


class Representation(Protocol):
    """How texts are encoded and compared."""

    def search(self, model: Node, texts: Texts, *, depth: int) -> Node:
        """Return the node of the model's ranking, with ``depth`` passages per query."""


@dataclass(frozen=True, kw_only=True)
class Dense:
    """One vector per text, compared by inner product. Other fields are those of ``recipe.encode``."""

    normalize: bool
    precision: str | Mapping[str, str]
    numbers: str = "float32"

    def search(self, model: Node, texts: Texts, *, depth: int) -> Node:
        """Encode all texts and search exactly. Return the ranking's node, with ``depth`` passages per
        query."""
        passages, queries = recipe.encode(
            model, texts, normalize=self.normalize, precision=self.precision, numbers=self.numbers
        )
        return recipe.search(passages, queries, depth=depth)


@dataclass(frozen=True, kw_only=True)
class TwoStage:
    """A retriever's trainings and rankings, by the values that both stages share.

    Attributes:
        train: the dataset of the training queries and their judgements.
        texts: its passages and queries, and how the retriever reads them.
        representation: how the retriever encodes and compares texts.
        objective, options, passages_per_query, negative_choice, positive_choice: arguments of
            ``recipe.finetune``.
    """

    train: str
    texts: Texts
    representation: Representation
    objective: Objective
    options: Mapping[str, Any]
    passages_per_query: int
    negative_choice: str = "window"
    positive_choice: str = "all"

    def tuned(self, model: Node, training_set: Node, optimisation: Optimisation) -> Node:
        """Return the node of ``model`` fine-tuned on a training set. Both stages call this."""
        return recipe.finetune(
            model,
            training_set,
            texts=self.texts,
            objective=self.objective,
            options=self.options,
            passages_per_query=self.passages_per_query,
            optimisation=optimisation,
            negative_choice=self.negative_choice,
            positive_choice=self.positive_choice,
        )

    def mined(self, retriever: Node, *, depth: int, per_query: int, seed: int, random_added: int = 0) -> Node:
        """Return hard negatives of the training queries from the top ``depth`` of a retriever's ranking,
        without the positives: ``per_query`` drawn by ``seed``, and ``random_added`` random passages."""
        run, judgements = self.search(retriever, self.train, depth=depth), recipe.qrels(self.train)
        how = {"depth": depth, "per_query": per_query, "seed": seed, "random_added": random_added}
        return recipe.mine(run, judgements, documents=self.texts.documents, **how)

    def search(self, retriever: Node, dataset: str, *, depth: int) -> Node:
        """Return a retriever's ranking of the passages for the queries of ``dataset``, with ``depth`` per
        query."""
        texts = replace(self.texts, topics=recipe.queries(dataset))
        return self.representation.search(retriever, texts, depth=depth)

    def with_passages_of(self, length: int) -> TwoStage:
        """Return a copy with passages of at most ``length`` tokens."""
        return replace(self, texts=replace(self.texts, passage_length=length))

    def reranking(
        self, *, length: int, separator: str | None, passages: int, trained: int, regulariser: str
    ) -> TwoStage:
        """Return a copy for a cross-encoder, which reads query and passage together in ``length`` tokens. It
        is trained on ``trained`` of ``passages`` per query: a positive and the hardest negatives."""
        texts = replace(
            self.texts, query_length=None, passage_length=length, separator=separator, pooling=None
        )
        options = {"trained_passages": trained, "regulariser": regulariser}
        return replace(self, texts=texts, objective=RERANKER, options=options, passages_per_query=passages)


def cls_texts(documents: Node, train: str, *, query: int, passage: int, separator: str) -> Texts:
    """Return ``Texts`` of passages and the queries of ``train``, cut to these lengths, for [CLS] vectors."""
    lengths = {"query_length": query, "passage_length": passage}
    topics = recipe.queries(train)
    return Texts(documents=documents, topics=topics, separator=separator, pooling="cls", **lengths)


def marco_passages(request: Request) -> Node:
    """Return MS MARCO's passages, by default with RocketQA's titles (reading: passage-titles). Reading
    ``untitled-passages`` can replace an empty title by a blank, which leaves the separator before the
    text."""
    untitled = request.reading("untitled-passages")
    wanted = request.reading("passage-titles") == "rocketqa"
    how = {"otherwise": "none", "known_as": TITLED}
    titled = wanted and request.choices.original("passage-titles", f"{TITLED}/corpus.jsonl", **how)
    return recipe.corpus(TITLED, untitled=untitled) if titled else recipe.corpus("msmarco-passage")
