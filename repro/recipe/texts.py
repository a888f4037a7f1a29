"""The texts of a training or a search, and the lengths in which a model reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from repro.graph import Node


@dataclass(frozen=True, kw_only=True)
class Texts:
    """Passages and queries, and how a model reads them.

    Attributes:
        documents, topics: the corpus and the queries.
        query_length, passage_length: tokens, special ones included. A cross-encoder has no ``query_length``:
            it reads a query and a passage together, in ``passage_length`` tokens.
        separator: between title and text.
        pooling: of an encoder's token vectors to one; a cross-encoder has none.
    """

    documents: Node
    topics: Node
    passage_length: int
    separator: str
    query_length: int | None = None
    pooling: str | None = None

    def as_params(self) -> dict[str, Any]:
        """Parameters of a fine-tuning that reads these texts."""
        names = ("query_length", "passage_length", "separator", "pooling")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def as_inputs(self) -> dict[str, Node]:
        """Inputs of a stage that reads both."""
        return {"corpus": self.documents, "queries": self.topics}
