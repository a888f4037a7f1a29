"""Known facts of checkpoints: architecture, how to come by them, and how their makers want them used."""

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from repro.errors import BlockedError
from repro.manifest import yaml_file
from repro.manifest.papers import kept_with_papers, load, papers
from repro.manifest.yaml_file import StrictMapping

Pooling = Literal["cls", "mean", "sentence-transformers"]


class Checkpoint(StrictMapping):
    """A checkpoint that recipes name.

    Attributes:
        model_type: the architecture that its config.json names.
        how: how to come by it, an imperative; empty where `repro data fetch` does it.
    """

    model_type: str
    how: str = ""


@kept_with_papers
def known_checkpoints() -> dict[str, Checkpoint]:
    """Return the checkpoints of every paper's checkpoints.yaml by name. Raises ManifestError with file and
    line."""
    packages = {package for source in papers().values() for package in source.manifest.readings_of}
    folders = [Path(load(f"{package}:__file__")).parent for package in sorted(packages)]
    checkpoints: dict[str, Checkpoint] = {}
    for folder in [*folders, *(source.folder for source in papers().values())]:
        if (file := folder / "checkpoints.yaml").exists():
            checkpoints |= yaml_file.read(file, dict[str, Checkpoint])
    return checkpoints


def by_hand(name: str) -> str:
    """Say how to come by a checkpoint that no hub has, and where to put it; empty for all others."""
    entry = known_checkpoints().get(name)
    return f"{entry.how} into models/{name} of the data folder" if entry and entry.how else ""


def check_on_hub(name: str) -> None:
    """Raise BlockedError for a checkpoint that has to be got by hand."""
    if how := by_hand(name):
        raise BlockedError(f"the model {name} is not on the hub", how)


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
    """Return the entries of a released.yaml by system. Raises ManifestError with file and line."""
    return yaml_file.read_shared(path, dict[str, ReleasedModel])
