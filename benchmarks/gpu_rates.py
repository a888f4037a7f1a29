"""The common parts of the rates of ``gpu.py``: a median, a share of the peak, one tool's memory at a time.

Tokens that a text has are counted, never the padding beside them, and so are the operations behind MFU, so
that ways that pad and ways that do not can be held against each other.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
import time
import traceback
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

import torch
from pretraining import GPU, data_sheet, device

from repro.retrieval.nn.batches import is_out_of_memory, release_memory
from repro.retrieval.training.process_group import OutOfMemory

HALF = "bf16" if GPU else "fp32"
Tools = Mapping[str, Callable[[], dict]]
T = TypeVar("T")


def seconds(run: Callable[[], object], *, rounds: int) -> float:
    """The median of the rounds after one that warms up."""
    taken = []
    for _ in range(rounds + 1):
        started = time.perf_counter()
        run()
        if GPU:
            torch.cuda.synchronize()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken[1:])


def mfu(operations: float) -> str:
    """So many operations a second as a share of what the data sheet of this GPU has."""
    sheet = data_sheet(device())
    return "–" if sheet is None else f"{operations / sheet:.1%}"


def weights(model: torch.nn.Module) -> int:
    """The parameters outside the embeddings, through which every token passes."""
    return sum(p.numel() for name, p in model.named_parameters() if "embedding" not in name)


def rate(tokens: float, operations: float, taken: float, **more: object) -> dict:
    """The columns of a rate: so many tokens and operations in so many seconds."""
    return {"tokens a second": f"{tokens / taken:,.0f}", "MFU (data sheet)": mfu(operations / taken)} | more


def measured(work: str, tools: Tools, chosen: Namespace, *, precision: str = HALF) -> Iterator[dict]:
    """A row for each tool that has none yet, or why there is none; each has the GPU's memory to itself.

    Those whose names begin with "ours" have ``failed`` then. What fails for another is a remark, and no
    reason to measure again.
    """
    for tool, measure in tools.items():
        if (work, tool) in chosen.kept:
            continue
        row = {"work": work, "tool": tool, "precision": precision}
        with alone() as held:
            try:
                row |= measure()
            except Exception as error:
                traceback.print_exc()
                row["failed" if tool.startswith("ours") else "remark"] = reason(error)
        yield row | {"peak memory": f"{held['peak'] / 1e9:.1f} GB" if "peak" in held else "–"}


@contextlib.contextmanager
def alone() -> Iterator[dict[str, int]]:
    """Without what others left on the GPU; ``peak`` at the end, the bytes beyond what they still hold."""
    release_memory()
    held: dict[str, int] = {}
    if GPU:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    yield held
    if GPU:
        held["peak"] = torch.cuda.max_memory_allocated() - before


def reason(error: BaseException) -> str:
    """The kind of an error and the first line of what it says."""
    first = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {first[:200]}"


def largest_that_runs(attempt: Callable[[int], T], size: int) -> tuple[int, T]:
    """``size``, or what is left of it once it was halved until memory suffices; and what the attempt gave."""
    while True:
        try:
            return size, attempt(size)
        except (RuntimeError, OutOfMemory) as error:
            if size == 1 or not ran_out(error):
                raise
        release_memory()
        size //= 2


def most_that_fits(attempt: Callable[[int], object], *, limit: int) -> tuple[int, bool]:
    """The greatest power of two, up to ``limit``, with which ``attempt`` does not run out of a GPU's memory;
    and whether it is the limit that stopped it."""
    size = 1
    while size <= limit:
        try:
            attempt(size)
        except (RuntimeError, OutOfMemory) as error:
            if not ran_out(error):
                raise
            break
        finally:
            release_memory()
        size *= 2
    return size // 2, size > limit


def fits(step: Callable[[Sequence[T]], object], examples: Sequence[T], label: str) -> dict:
    """The column of the most examples, a power of two, with which a step does not run out of memory."""
    most, limited = most_that_fits(lambda size: step(examples[:size]), limit=len(examples))
    return {"that fit": f"{'≥ ' * limited}{most:,} {label}"}


def ran_out(error: Exception) -> bool:
    """Whether memory ran out, as torch or as the suite says it."""
    return isinstance(error, OutOfMemory) or is_out_of_memory(error)


def parts(rows: Sequence[T], size: int) -> list[Sequence[T]]:
    """Rows, so many at a time."""
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def version(module: str) -> str:
    """The name and version of a module that was imported."""
    return f"{module.replace('_', '-')} {sys.modules[module].__version__}"
