"""Texts as dense and sparse vectors in fine-tuning, encoding and search (§3.1, §3.3, §4.2)."""

from dataclasses import dataclass, replace
from typing import Any

from papers.baselines.ms_marco import PASSAGES
from papers.baselines.two_stage import MULTI_VIEW, TwoStage, cls_texts
from papers.cotmae_v2.encoders import VIEWS
from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe import Texts
from repro.retrieval.recipe.request import Request

# Eq. 15 as printed is in this folder. A fingerprint contains the denominator, not the class
AS_PRINTED = replace(MULTI_VIEW, path="papers.cotmae_v2.printed_denominator:PrintedDenominator")
QUERY = 32  # tokens, §4.2
FULL_DIMENSION = TOP_K = 768  # §4.2


@dataclass(frozen=True)
class Views:
    """A text's representation: its views and their sizes (Tables 4 and 5).

    Attributes:
        views: one or both of dense and sparse.
        dimension: the size of the dense vector. 768 keeps all of it.
        top_k: the number of values kept of the sparse vector.
    """

    request: Request
    views: tuple[str, ...] = VIEWS
    dimension: int = FULL_DIMENSION
    top_k: int = TOP_K

    def stages(self, documents: Node, *, length: int, passages: int) -> TwoStage:
        """Return the trainings of a retriever by the sum of its views' similarities (Eqs. 7, 15, 16), with
        ``passages`` per query in a batch, each of at most ``length`` tokens."""
        ask = self.request.reading
        separator = ask("title-separator")
        return TwoStage(
            train=PASSAGES,
            texts=cls_texts(documents, PASSAGES, query=QUERY, passage=length, separator=separator),
            representation=self,
            objective=AS_PRINTED if ask("contrastive-denominator") == "printed" else MULTI_VIEW,
            options=self._options() | {"distillation": None},
            passages_per_query=passages,
            negative_choice=ask("negatives-of-an-epoch"),
        )

    def search(self, model: Node, texts: Texts, *, depth: int) -> Node:
        """Return the ranking with ``depth`` passages per query, by the sum of the views' similarities
        (reading: hybrid-search)."""
        ask = self.request.reading
        made = self._encoding()
        encoded = recipe.encode_views(
            model,
            texts,
            views=made["views"],
            normalize=ask("similarity") == "cosine",
            top_k={kind: self._kept(kind) for kind in ("passages", "queries")},
            positions=made["sparse_positions"],
            head=made["vocabulary_head"],
            precision=ask("fine-tuning-precision"),
        )
        both = ask("hybrid-search") if len(self.views) > 1 else {"mode": "exact", "list_depth": None}
        return recipe.search_views(*encoded, depth=depth, terms=self._terms(), **both)

    def _options(self) -> dict[str, Any]:
        ask, sparse = self.request.reading, "sparse" in self.views
        reduced = "dense" in self.views and self.dimension < FULL_DIMENSION
        no_penalty = {"queries": 0.0, "passages": 0.0, "ramp_steps": 0}
        uncut = {"after": "saturation", "queries": False, "passages": False}
        reduction = {"to": self.dimension, "by": ask("dense-reduction")} if reduced else None
        return self._encoding() | {
            "top_k": self.top_k if sparse else None,
            "sparse_truncation": ask("sparse-truncation") if sparse else uncut,
            "flops_weight": self._penalty() if sparse else no_penalty,
            "flops_vectors": ask("flops-vectors") if sparse else "before",
            "dense_reduction": reduction,
            "hybrid_similarity": self._terms(),
            "similarity": ask("similarity"),
            "view_objective": ask("view-objective") if len(self.views) > 1 else "sum",
            "contrastive_denominator": ask("contrastive-denominator"),
            "in_batch_negatives": ask("in-batch-negatives"),
            "temperature": 1.0,
        }

    def _encoding(self) -> dict[str, Any]:
        ask, sparse = self.request.reading, "sparse" in self.views
        return {
            "views": list(self.views),
            "sparse_positions": ask("sparse-pooling-positions") if sparse else {"cls": False, "sep": False},
            "vocabulary_head": ask("vocabulary-head") if sparse else "transform",
        }

    def _penalty(self) -> dict[str, float]:
        """Return the weight of the FLOPS regulariser (readings: flops-weight, flops-scope)."""
        weight, shares = self.request.reading("flops-weight"), self.request.reading("flops-scope")
        return weight if shares == 1 else weight | {"shares": shares}

    def _kept(self, kind: str) -> int | None:
        cut = "sparse" in self.views and self.request.reading("sparse-truncation")[kind]
        return self.top_k if cut else None

    def _terms(self) -> list[str]:
        """Return the views that contribute to the similarity (Eq. 7, reading: hybrid-similarity)."""
        return self.request.reading("hybrid-similarity") if len(self.views) > 1 else list(self.views)
