"""Pin kernels that libraries choose by processor, so that every x86-64 CPU with AVX2 gives equal bits."""

import os
import platform
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from repro.machine import system
from repro.progress import SILENT, Progress

# no other branch of MKL is known to give equal bits on all processors
_TORCH = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_CBWR": "COMPATIBLE"}
_FAISS = {"FAISS_SIMD_LEVEL": "AVX2", "FAISS_OPT_LEVEL": "AVX2"}  # newer and older faiss
_NUMPY = {"OPENBLAS_CORETYPE": "Haswell"}
# numpy warns of levels without this flag
_NUMPY_LEVELS = {"X86_V4": "avx512vl", "AVX512_ICL": "avx512_vbmi2", "AVX512_SPR": "avx512_fp16"}
NEEDED = ("avx2", "fma")
THREADS = 4  # of a large model, as threads divide sums
DIFFER = "may differ in their last bits, and in more after mining,"

_PINNED = {**_TORCH, **_NUMPY, **_FAISS}  # on every machine

_in_force: dict[str, str] | None = None


def pins() -> dict[str, str]:
    """Return variables that pin kernels, e.g. {"MKL_CBWR": "COMPATIBLE"}, or {} without AVX2."""
    flags = system.cpu_flags()
    if not flags.issuperset(NEEDED):  # naming an absent level ends the process
        return {}
    levels = [level for level, flag in _NUMPY_LEVELS.items() if flag in flags]
    disabled = {"NPY_DISABLE_CPU_FEATURES": " ".join(levels)} if levels else {}
    return {**_PINNED, **disabled}


def pin(progress: Progress = SILENT) -> None:
    """Set variables that pin kernels of libraries not yet loaded, also in children. The user's own stay.

    Warns of libraries already loaded. ``progress`` notes other reasons for different results.
    """
    global _in_force
    if is_pinned():
        return
    wanted = pins()
    missing = {name: value for name, value in wanted.items() if name not in os.environ}
    late = {name: _library(name) for name in missing if _library(name) in sys.modules}
    os.environ.update(missing)
    _in_force = {name: os.environ[name] for name in wanted if name not in late}
    if late:
        message = f"{' and '.join(dict.fromkeys(late.values()))} had been loaded before kernels were pinned"
        remedy = f"so that results {DIFFER} from those of other processors; import it after the first run"
        warnings.warn(f"{message}, {remedy}", stacklevel=2)
    for sentence in _reservations(wanted):
        progress.note(sentence)


def is_pinned() -> bool:
    return _in_force is not None


def _library(variable: str) -> str:
    by_library = {"torch": _TORCH, "faiss": _FAISS}
    return next((library for library, names in by_library.items() if variable in names), "numpy")


def _reservations(wanted: dict[str, str]) -> Iterator[str]:
    others = [f"{name}={os.environ[name]}" for name, value in wanted.items() if os.environ[name] != value]
    if others:
        yield f"{', '.join(others)} is set in the environment: results {DIFFER} from those on record"
    if not wanted:
        processor = f"{platform.machine()} with {system.instruction_set()}"
        yield f"kernels are pinned only on x86-64 with AVX2: results {DIFFER} on this {processor}"


def facts() -> dict[str, object]:
    torch = sys.modules.get("torch")
    return {
        "cpu": system.cpu(),
        "instructions": system.instruction_set(),
        "threads": system.stated_threads() or system.cores(),
        **({"torch": torch.backends.cpu.get_cpu_capability()} if torch else {}),
        "pins": _in_force if is_pinned() else {n: os.environ[n] for n in pins() if n in os.environ},
    }


def unlike_pinned(facts: Mapping[str, object], *, needed: bool) -> list[str]:
    """Return kernels that are not the pinned ones, e.g. ["MKL_CBWR AVX2 (pinned: COMPATIBLE)"].

    If ``needed``, libraries without a record of pinning are included.
    """
    pins = facts.get("pins", _PINNED)
    others, missing = [], set()
    for each, (name, value) in product(pins if isinstance(pins, list) else [pins], _PINNED.items()):
        if isinstance(each, Mapping) and name not in each:
            missing.add(_library(name))
        elif isinstance(each, Mapping) and each[name] != value:
            others.append(f"{name} {each[name]} (pinned: {value})")
    libraries = sorted(missing) if needed else ()
    return others + [f"kernels of {library} that were not pinned" for library in libraries]


def merged(several: Iterable[Mapping[str, object]]) -> dict[str, object]:
    """Merge facts of several artefacts. Different values of a name become a list."""
    by_name: dict[str, list] = {}
    for values in several:
        for name, value in values.items():
            if value not in by_name.setdefault(name, []):
                by_name[name].append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in by_name.items()}
