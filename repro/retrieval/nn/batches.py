"""Batches of texts for an encoder, sorted by length."""

import contextlib
import gc
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from repro.errors import StageError
from repro.retrieval.nn.precision import Tensors, device
from repro.retrieval.nn.tokens import TokenRows

T = TypeVar("T")
Output = TypeVar("Output", Tensor, Tensors)
WORDS = ("can't allocate memory", "out of memory", "STATUS_ALLOC_FAILED")


def is_out_of_memory(error: BaseException) -> bool:
    return isinstance(error, RuntimeError) and any(words in str(error) for words in WORDS)


def attempted(work: Callable[[], T]) -> tuple[T | None, str]:
    """Return (``work()``, ""), or (None, reason) if memory ran out. Other errors are raised."""
    try:
        return work(), ""
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        return None, str(error).strip().partition("\n")[0].partition(" GPU ")[0]


def release_memory() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


class HalvingEncoder(Generic[Output]):
    """Encodes batches, in pieces of half the size each time that memory runs out.

    ``encode`` maps model inputs, (n, l) each, to (n, …), or to several such arrays by name.
    """

    def __init__(self, encode: Callable[[Tensors], Output]):
        self.encode: Callable[[Tensors], Output] = encode
        self.tokens: int | None = None

    def __call__(self, inputs: Tensors) -> Output:
        """Encode ``inputs``, (N, L). Raises StageError if one text does not fit."""
        count, length = inputs["attention_mask"].shape
        parts: list[Output] = []
        first = 0
        while first < count:
            size = count - first
            if self.tokens is not None:
                size = min(size, max(1, self.tokens // length))
            piece = {name: rows[first : first + size] for name, rows in inputs.items()}
            part, problem = attempted(partial(self.encode, piece))
            if part is not None:
                parts.append(part)
                first += size
                continue
            release_memory()
            if size == 1:
                fault = f"memory does not suffice for one text of {length} tokens ({problem})"
                raise StageError(f"{fault}. Run the command where more memory is free")
            self.tokens = (size + 1) // 2 * length
        if len(parts) == 1:
            return parts[0]
        if isinstance(parts[0], Tensor):
            return torch.cat(parts)
        return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}

    def facts(self) -> dict[str, int]:
        return {} if self.tokens is None else {"tokens_at_once": self.tokens}


def side_inputs(batch: Tensors, prefix: str) -> Tensors:
    """Return the arrays named with ``prefix``, e.g. ``query_``, under their names without it."""
    return {name.removeprefix(prefix): rows for name, rows in batch.items() if name.startswith(prefix)}


TOGETHER = 2_000
TOKENS = {"cpu": 32 * 128, "cuda": 512 * 128}


def tokenised_together(texts: Sequence[Sequence[str]]) -> Iterator[list[int]]:
    """Yield groups of up to 2,000 indices of (title, text) pairs, the longest pairs first."""
    by_length = sorted(range(len(texts)), key=lambda row: sum(map(len, texts[row])), reverse=True)
    return (by_length[start : start + TOGETHER] for start in range(0, len(by_length), TOGETHER))


def token_batches(rows: TokenRows) -> Iterator[tuple[list[int], Tensors]]:
    """Yield (indices of texts, model inputs, (n, l) each) per batch, the longest texts first."""
    order, start = np.argsort(-rows.lengths, kind="stable"), 0
    while start < len(order):
        longest = max(1, int(rows.lengths[order[start]]))
        places = order[start : start + max(1, TOKENS[device().type] // longest)]
        yield places.tolist(), rows.inputs(places)
        start += len(places)


@contextlib.contextmanager
def in_background(items: Iterable[T], *, ahead: int) -> Iterator[Iterator[T]]:
    """Yield an iterator over ``items`` that a thread prepares, at most ``ahead`` of them in advance."""
    iterator = iter(items)

    def next_items() -> list[T]:
        return list(islice(iterator, 1))

    def results() -> Iterator[T]:
        while items := futures.popleft().result():
            futures.append(thread.submit(next_items))
            yield from items

    with contextlib.ExitStack() as stack:
        stack.callback(getattr(iterator, "close", lambda: None))
        thread = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="prepares"))
        stack.callback(thread.shutdown, cancel_futures=True)
        futures = deque(thread.submit(next_items) for _ in range(ahead))
        yield results()
