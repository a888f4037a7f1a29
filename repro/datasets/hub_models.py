"""Fetches released checkpoints into the data folder, for machines without a network too."""

import re
from collections.abc import Iterable
from pathlib import Path

from repro.datasets.fetching import Offer
from repro.errors import BlockedError, UsageError
from repro.progress import Progress

_NAME = re.compile(r"(\w[\w.-]*/)?\w[\w.-]*")
PICKLE = "pytorch_model.bin"  # where nothing else is; read as tensors alone
SUFFIXES = (".json", ".txt", ".safetensors", ".model")


def offer(name: str, *, revision: str = "main") -> Offer:
    """The model ``name`` of the hub, to be put into ``models/<name>`` of the data folder.

    Raises UsageError for what cannot be a model's name. Loading raises BlockedError when the hub cannot be
    reached or does not have it.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be a model of the hub: those are named NAME or OWNER/NAME")

    def load(data_root: Path, progress: Progress) -> list[Path]:
        from huggingface_hub import HfApi, snapshot_download

        folder = data_root / "models" / name
        try:
            files = wanted(HfApi().list_repo_files(name, revision=revision))
            snapshot_download(name, revision=revision, local_dir=folder, allow_patterns=files)
        except Exception as error:  # the hub's errors share no class with its network library's
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            remedy = f"try again with a network, or put the model's files into {folder}"
            raise BlockedError(f"the model {name} could not be fetched ({reason})", remedy) from error
        return [folder]

    what = "weights and tokenizer from the model hub; the licence is on its page"
    return Offer(f"{name} at {revision}: {what}", load)


def wanted(files: Iterable[str]) -> list[str]:
    """Those of a model's files that are needed: settings, vocabulary and weights.

    Pickled weights are needed only in a folder (the model's own or a module's) that has no others.
    """
    names = sorted(files)
    safe = {_folder(name) for name in names if name.endswith(".safetensors")}
    return [
        name
        for name in names
        if name.endswith(SUFFIXES) or (name.rpartition("/")[2] == PICKLE and _folder(name) not in safe)
    ]


def has_weights(folder: Path) -> bool:
    """Whether a model's folder, or one of its modules', holds weights."""
    return any(any(folder.rglob(kind)) for kind in ("*.safetensors", "pytorch_model*.bin"))


def _folder(name: str) -> str:
    return name.rpartition("/")[0]
