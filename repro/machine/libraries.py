"""List the libraries with numerical effects, the stages that use them, and the installed versions.

Libraries that only store or fetch are left out, e.g. pyarrow, datasets, safetensors, ir_datasets and beir.
The digests of data and weights say more than their versions.
"""

import functools
import os
import platform
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from repro.machine import versions

LUCENE = frozenset({"lucene_index", "bm25"})
SEARCHES = frozenset({"search", "search_views"})
ENCODINGS = frozenset({"encode", "encode_views", "encode_by_library", "weigh_terms", "score_pairs", "rerank"})
MODELS = ENCODINGS | {"initialise", "backbone", "released", "pretrain", "finetune"}
DRAWS = frozenset({"sample", "mine", "mine_answers", "official_negatives", "term_statistics"})
SCORES = frozenset({"evaluate", "compare"})
SUMMING = MODELS | SEARCHES  # the stages whose sums depend on kernels of the processor


class Library(NamedTuple):
    """A library with numerical effects, e.g. torch.

    Attributes:
        why: the affected results.
        stages: the stages that use it. None means all.
        parts: number of leading parts of a version that are compared, e.g. 1 of 21.0.8. None means all.
    """

    why: str
    stages: frozenset[str] | None
    parts: int | None = None


LIBRARIES: dict[str, Library] = {
    # 3.11 to 3.13 are supported with one constraints.txt. They differ in the last bits of a mean alone, as
    # sum() of floats compensates rounding since 3.12. That changes no rank and no printed digit.
    "python": Library("sums of floats, and Unicode tables", None, parts=1),
    # an update of one Java, e.g. 21.0.8, brings fixes only
    "java": Library("Unicode tables and arithmetic of Lucene", LUCENE, parts=1),
    "torch": Library("sums, random numbers and initial weights", MODELS | SEARCHES),
    "transformers": Library("architectures, initial weights and learning rates", MODELS | {"tokenize"}),
    "tokenizers": Library("tokens", MODELS | {"tokenize", "vocabulary"}),
    "sentence-transformers": Library("pooling and prompts of an encoder", frozenset({"encode_by_library"})),
    "numpy": Library("random draws, sums and the order of ties", MODELS | SEARCHES | DRAWS | {"tokenize"}),
    "scipy": Library("products of sparse rows, p-values", SEARCHES | {"compare"}),
    "faiss-cpu": Library("candidates of a search", SEARCHES),
    "faiss-gpu": Library("candidates of a search", SEARCHES),
    "pyserini": Library("the Lucene inside, its analysis and BM25", LUCENE),
    "ir_measures": Library("definitions of measures", SCORES),
    "pytrec_eval-terrier": Library("values of measures, the order of ties", SCORES),
    "ranx": Library("p-values", frozenset({"compare"})),
}


def used_by(stages: Iterable[str]) -> list[str]:
    """Return the libraries that affect these stages, e.g. python and pyserini for ``bm25``."""
    stages = set(stages)
    return [name for name, one in LIBRARIES.items() if one.stages is None or one.stages & stages]


def here(stage: str) -> dict[str, str]:
    """Return the installed versions of a stage's libraries, without absent ones."""
    by_name = {name: installed(name) for name in used_by([stage])}
    return {name: version for name, version in by_name.items() if version is not None}


def joined(several: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Merge the versions of several artefacts, e.g. "1.0.0 and 2.13.0" if they differ."""
    by_name: dict[str, dict[str, None]] = {}
    for each in several:
        for name, version in each.items():
            if name in LIBRARIES:
                by_name.setdefault(name, {})[version] = None
    return {name: " and ".join(sorted(every)) for name, every in by_name.items()}


def comparable(recorded: Mapping[str, str]) -> list[str]:
    """Return the listed libraries that are both recorded and installed."""
    return [name for name in LIBRARIES if name in recorded and installed(name) is not None]


def differing(recorded: Mapping[str, str]) -> dict[str, str]:
    """Return the libraries with another version than installed, e.g. {"torch": "torch 1.0.0 (here
    2.13.0)"}."""
    by_name = {name: str(installed(name)) for name in comparable(recorded)}
    return {
        name: f"{name} {recorded[name]} (here {version})"
        for name, version in by_name.items()
        if {_compared(name, one) for one in str(recorded[name]).split(" and ")} != {_compared(name, version)}
    }


def unlike_here(environment: Mapping[str, Any]) -> set[str]:
    """Return a record's differing libraries, and its kernels that are not the pinned ones."""
    from repro.machine import kernels

    others = kernels.unlike_pinned(environment.get("kernels") or {}, needed=False)
    return {*differing(environment.get("software") or {}), *others}


def _compared(name: str, version: str) -> str:
    """Return the compared part of a version, e.g. 2.13.0 of 2.13.0+cpu: a label only names a build."""
    return ".".join(version.partition("+")[0].split(".")[: LIBRARIES[name].parts])


def installed(name: str) -> str | None:
    """Return the installed version of a library, of "python" or of "java". None if it is absent."""
    if name == "java":
        from repro.machine import jvm

        return _java_version(*map(os.environ.get, jvm.NAMED_BY))
    return platform.python_version() if name == "python" else _installed_version(name)


@functools.cache
def _installed_version(distribution: str) -> str | None:
    return versions.version(distribution)


@functools.cache  # by the variables that choose it, which are set and unset within one process
def _java_version(*_: str | None) -> str | None:
    from repro.machine import jvm

    java = jvm.runtime()
    return java.version if java else None
