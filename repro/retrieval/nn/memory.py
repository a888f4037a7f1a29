"""Memory that runs out: how that is told from other failures, and batches that are halved until they fit."""

import gc
from collections.abc import Callable

import torch

from repro.errors import StageError
from repro.retrieval.nn.precision import device

Inputs = dict[str, torch.Tensor]
Output = torch.Tensor | dict[str, torch.Tensor]
# torch's own class is of GPUs; its allocator on a CPU, CUDA's calls and its libraries raise a RuntimeError
WORDS = ("can't allocate memory", "out of memory", "STATUS_ALLOC_FAILED")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a GPU, or the allocator of a CPU, had no memory left."""
    return isinstance(error, RuntimeError) and any(words in str(error) for words in WORDS)


def first_line(error: BaseException) -> str:
    """The first sentence of an error, without the advice that follows it."""
    return str(error).strip().partition("\n")[0].partition(" GPU ")[0]


def free_memory() -> None:
    """Give back what a failed attempt left behind."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def gpu_memory() -> int | None:
    """Bytes of this process' GPU; None without one."""
    processor = device()
    return torch.cuda.get_device_properties(processor).total_memory if processor.type == "cuda" else None


class HalvingEncoder:
    """Encodes batches of texts; from the first that does not fit memory on, with half as many tokens at once.

    Args:
        encode: model inputs, (n, l) each, to (n, …), or to several such by name; what it makes of a text
            depends on no other.

    Attributes:
        tokens: of a batch, with padding, that are encoded at a time; None while every batch fits.
    """

    def __init__(self, encode: Callable[[Inputs], Output]):
        self.encode, self.tokens = encode, None

    def __call__(self, inputs: Inputs) -> Output:
        """The rows of ``inputs``, ``attention_mask`` (N, L) among them, encoded in as few pieces as fit.

        Raises:
            StageError: memory does not suffice for a single text.
        """
        count, length = inputs["attention_mask"].shape
        parts, first = [], 0
        while first < count:
            size = count - first
            if self.tokens is not None:
                size = min(size, max(1, self.tokens // length))
            piece = {name: rows[first : first + size] for name, rows in inputs.items()}
            part = self._attempt(piece, size, length)
            if part is not None:
                parts.append(part)
                first += size
        return _concatenate(parts)

    def facts(self) -> dict[str, int]:
        """``tokens_at_once``, what memory turned out to hold; empty while every batch fits."""
        return {} if self.tokens is None else {"tokens_at_once": self.tokens}

    def _attempt(self, inputs: Inputs, size: int, length: int) -> Output | None:
        """Encode so many texts; None where they do not fit, and fewer shall be tried."""
        try:
            return self.encode(inputs)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            words = first_line(error)
        # outside of the handler, since the error's traceback holds what was computed
        free_memory()
        if size == 1:
            remedy = "run it where more memory is free"
            raise StageError(f"memory does not suffice for one text of {length} tokens ({words}); {remedy}")
        self.tokens = (size + 1) // 2 * length
        return None


def _concatenate(parts: list[Output]) -> Output:
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], dict):
        return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
    return torch.cat(parts)
