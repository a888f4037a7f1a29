"""Known facts of checkpoints that are not here: their architecture, and where those lie that no hub has."""

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import yaml

CONVERTED = {"backbone": ("seed_encoder",)}  # stage -> architectures that the suite itself reads


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that recipes name.

    Attributes:
        model_type: the architecture that its config.json names.
        how: how to come by it, an imperative; empty where `repro data fetch` does it.
    """

    model_type: str
    how: str = ""


@cache
def known_checkpoints() -> dict[str, Checkpoint]:
    """The entries of checkpoints.yaml by the name that recipes give."""
    content = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return {name: Checkpoint(**facts) for name, facts in content.items()}


def by_hand(name: str) -> str:
    """How to come by a checkpoint that no hub has; empty for all others."""
    entry = known_checkpoints().get(name)
    return entry.how if entry else ""


@cache
def readable(model_type: str, stage: str) -> bool:
    """Whether a stage reads that architecture: one of transformers', or one that the suite converts."""
    if model_type in CONVERTED.get(stage, ()):
        return True
    [installed] = find_spec("transformers").submodule_search_locations
    if (Path(installed) / "models" / model_type.replace("-", "_")).is_dir():
        return True
    from transformers import CONFIG_MAPPING  # some architectures lie in another's folder

    return model_type in CONFIG_MAPPING
