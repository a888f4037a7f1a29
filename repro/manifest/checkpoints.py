"""Known facts of checkpoints that are not here: their architecture, and where those lie that no hub has."""

from pathlib import Path

from repro.errors import BlockedError
from repro.manifest import yaml_file
from repro.manifest.papers import kept_with_papers, load, papers
from repro.manifest.yaml_file import StrictMapping


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
    """The entries, by name, of the checkpoints.yaml beside the readings of every paper.

    Raises ManifestError with file and line.
    """
    checkpoints: dict[str, Checkpoint] = {}
    for folder in _folders():
        if (folder / "checkpoints.yaml").exists():
            checkpoints |= yaml_file.read(folder / "checkpoints.yaml", dict[str, Checkpoint])
    return checkpoints


def _folders() -> list[Path]:
    """Every paper's folder, and those of the packages whose readings papers share."""
    packages = {package for source in papers().values() for package in source.manifest.readings_of}
    return [Path(load(f"{package}:__file__")).parent for package in sorted(packages)] + [
        source.folder for source in papers().values()
    ]


def by_hand(name: str) -> str:
    """How to come by a checkpoint that no hub has, and where to put it; empty for all others."""
    entry = known_checkpoints().get(name)
    return f"{entry.how} into models/{name} of the data folder" if entry and entry.how else ""


def check_on_hub(name: str) -> None:
    """Raise BlockedError for a checkpoint that has to be got by hand."""
    if how := by_hand(name):
        raise BlockedError(f"the model {name} is not on the hub", how)
