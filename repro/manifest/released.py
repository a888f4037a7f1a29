"""The shape of released.yaml: checkpoints that others released, and how they want to be used."""

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from repro.manifest import yaml_file
from repro.manifest.yaml_file import StrictMapping

Pooling = Literal["cls", "mean", "sentence-transformers"]


class Weights(StrictMapping):
    """A checkpoint of the hub."""

    model: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    revision: str


class Lengths(StrictMapping):
    """Tokens of a text, special ones counted, at which it is cut."""

    query: int = Field(gt=0, strict=True)
    passage: int = Field(gt=0, strict=True)


class ReleasedModel(StrictMapping):
    """One released encoder.

    Attributes:
        queries: the encoder of queries where it is another one; None means ``passages``.
        pooling: None for a sparse encoder, whose vectors come from its vocabulary head.
        separator: joins title and text; ``pair`` makes two segments of them, None leaves the title out.
        source: address of the document that states these conventions.
        differs: what is known to part the checkpoint from the printed system.
    """

    label: str
    kind: Literal["dense", "splade", "splade-sum"]
    passages: Weights
    queries: Weights | None
    pooling: Pooling | None
    similarity: Literal["dot", "cosine"]
    query_prefix: str = ""
    passage_prefix: str = ""
    lengths: Lengths
    separator: str | None
    source: str = Field(pattern=r"^https://[^\s/]+/\S+$")
    differs: str = ""

    @model_validator(mode="after")
    def _pooling_fits(self):
        if (self.pooling is None) != self.kind.startswith("splade"):
            raise ValueError("a dense encoder states its pooling, a splade one has none (null)")
        return self


def released_models(path: Path) -> dict[str, ReleasedModel]:
    """The entries of a released.yaml by system. Raises ManifestError with file and line."""
    return yaml_file.read_shared(path, dict[str, ReleasedModel])
