"""Two folders of one artefact, held against each other: equal to the bit, to a tolerance, or not."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from repro.store.disk import BLOCKS, RECORD, sha256

# what tells of the work and not of its result: a log of Java, and names that `datasets` draws anew
OF_THE_WORK = ("lucene.log", "state.json", "dataset_info.json")
ROWS = 1 << 16  # of an array that are compared at a time


@dataclass(frozen=True)
class Agreement:
    """The extent to which two folders hold the same.

    Attributes:
        name: ``bits``, ``tolerance`` or ``none``.
        difference: the greatest one of two numbers, over the greatest magnitude in their file; 0.0 where only
            bytes differ, or none do, and None where more than numbers does.
        why: a sentence about the first file that does not agree; empty where all do.
    """

    name: str
    difference: float | None = 0.0
    why: str = ""


def agreement(stored: Path, again: Path, *, tolerance: float) -> Agreement:
    """Compare every file of two folders; ``tolerance`` is relative to the greatest magnitude in a file."""
    names = _names(stored)
    if names != _names(again):
        missing = ", ".join(sorted(names ^ _names(again)))
        return Agreement("none", None, f"only one of them has {missing}")
    farthest, differing_names = 0.0, [n for n in sorted(names) if sha256(stored / n) != sha256(again / n)]
    for name in differing_names:
        difference, why = _difference(stored / name, again / name)
        if difference is None or difference > tolerance:
            return Agreement("none", difference, f"{name}: {why}")
        farthest = max(farthest, difference)
    return Agreement("tolerance" if differing_names else "bits", farthest)


def _names(folder: Path) -> set[str]:
    files = (path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir())
    paths = (p for p in files if p.parts[0] not in (RECORD, BLOCKS) and p.name not in OF_THE_WORK)
    return {path.as_posix() for path in paths}


def _difference(stored_file: Path, new_file: Path) -> tuple[float | None, str]:
    """The greatest difference of two numbers over the greatest magnitude, and both in words.

    The difference is None where the files differ in more than numbers with a fraction.
    """
    try:
        (structure, numbers), (other_structure, other_numbers) = content(stored_file), content(new_file)
    except Exception:  # whatever a library says of a file that it cannot read
        return None, _describe_difference(stored_file, new_file)
    if structure != other_structure or numbers.shape != other_numbers.shape:
        return None, _describe_difference(stored_file, new_file)
    count, farthest, magnitude = 0, np.float64(0), np.float64(0)
    for first in range(0, len(numbers), ROWS):
        one, other = (np.asarray(a[first : first + ROWS], np.float64) for a in (numbers, other_numbers))
        mask = one != other
        count += int(mask.sum())
        farthest = np.maximum(farthest, np.abs(one - other)[mask].max(initial=0.0))  # NaN stays
        magnitude = np.maximum(magnitude, np.abs(one).max(initial=0.0))
    sentence = f"{count} of {numbers.size} numbers differ, the most by {farthest:.3g}"
    if not np.isfinite([farthest, magnitude]).all():
        return None, sentence
    return float(farthest / magnitude if magnitude else farthest), sentence


def content(path: Path) -> tuple[object, np.ndarray]:
    """All of a file but its numbers with a fraction, and these (N,); bytes where its kind is not known."""
    if path.suffix == ".npy":
        array = np.load(path, mmap_mode="r")
        if array.dtype.kind == "f":
            return (str(array.dtype), array.shape), array
    elif path.suffix == ".safetensors":
        from safetensors.numpy import load_file

        arrays = load_file(path)
        return {name: a.shape for name, a in arrays.items()}, np.concatenate(
            [a.ravel() for a in arrays.values()]
        )
    elif rows := _rows(path):
        numbers: list[float] = []
        return [_without_numbers(row, numbers) for row in rows], np.array(numbers)
    return path.read_bytes(), np.empty(0)


def _rows(path: Path) -> Iterator | None:
    """The values that a file lists; None where its kind is not known."""
    if path.suffix == ".arrow":
        import pyarrow as pa

        with pa.memory_map(str(path)) as stream:
            return iter(pa.ipc.open_stream(stream).read_all().to_pylist())
    if path.suffix == ".json":
        return iter([json.loads(path.read_bytes())])
    lines = path.read_bytes().splitlines()
    if path.suffix == ".trec":
        fields = (line.split() for line in lines)
        return ([*f[:4], float(f[4]), *f[5:]] if len(f) == 6 else f for f in fields)
    return map(json.loads, lines) if path.suffix == ".jsonl" else None


def _without_numbers(value, numbers: list[float]):
    if isinstance(value, float):
        numbers.append(value)
        return None
    if isinstance(value, dict):
        return {key: _without_numbers(item, numbers) for key, item in value.items()}
    return [_without_numbers(item, numbers) for item in value] if isinstance(value, list) else value


def _describe_difference(stored_file: Path, new_file: Path) -> str:
    if stored_file.suffix in (".npy", ".safetensors", ".arrow"):
        return "its content differs, not in numbers alone"
    one, other = stored_file.read_bytes().splitlines(), new_file.read_bytes().splitlines()
    count = sum(a != b for a, b in itertools.zip_longest(one, other))
    return f"{count} of {max(len(one), len(other))} lines differ, not in numbers alone"
