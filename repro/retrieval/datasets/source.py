"""The place of a piece of a collection, as a value that can be written to JSON and read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repro.errors import BlockedError


@dataclass(frozen=True)
class Source:
    """One piece of one collection, located.

    Attributes:
        dataset: id in the catalogue; for documents, of the corpus.
        piece: "documents", "queries", "qrels", "triples" or "negatives" (listed by retriever).
        kind: "embedded" (generated), "folder" (``files`` under the data folder), "home" (``files`` in the
            home of ir_datasets, some of them in archives), "library" (to be downloaded), "parts" (other
            sources, one after the other) or "absent" (an answer-judged set has no qrels).
        format: how ``files`` are read ("jsonl", "beir", "trec", "answers", "triples" or "negatives"; in a
            home also as homes.yaml says), or the library.
        files: for queries also the qrels that say which of them belong to the split, behind the queries.
        version: of the collection, as the catalogue states it.
    """

    dataset: str
    piece: str
    kind: str
    format: str = ""
    files: tuple[Path, ...] = ()
    parts: tuple[Source, ...] = ()
    version: str = "1"

    def to_json(self) -> dict[str, Any]:
        """Plain values, from which ``from_json`` makes an equal Source."""
        files, parts = [str(path) for path in self.files], [part.to_json() for part in self.parts]
        return {**vars(self), "files": files, "parts": parts}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Source:
        """The Source that ``to_json`` wrote."""
        files = tuple(Path(path) for path in raw["files"])
        parts = tuple(cls.from_json(part) for part in raw["parts"])
        return cls(raw["dataset"], raw["piece"], raw["kind"], raw["format"], files, parts, raw["version"])


@dataclass(frozen=True)
class MissingPiece:
    """A piece that is nowhere, in two half-sentences: what is missing, and what to do (an imperative).

    Attributes:
        fetch: the ids with which `repro data fetch` gets it, or some of it.
        otherwise: what to do about the rest; empty where fetching gives all of it.
    """

    dataset: str
    piece: str
    cause: str
    remedy: str
    fetch: tuple[str, ...] = ()
    otherwise: str = ""

    def error(self) -> BlockedError:
        """The error to raise where the piece cannot be done without."""
        return BlockedError(self.cause, self.remedy)
