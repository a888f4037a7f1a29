"""All layers of an encoder as one function, compiled by torch in a training that asks for it.

A step is then a few calls of the host in place of one for each operation, forward and backward. What it
computes stays the same but for rounding, and for where dropout falls.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

from repro.errors import BlockedError
from repro.retrieval.nn.padding_free import Layout, all_layers, by_kernel, has_kernel, switch

VARIABLE = "REPRO_COMPILE"
BACKEND = "inductor"
LENGTHS = [8] * 60 + [29]  # of the texts that kernels are made for: 61 and 509 are no other size of a model
GRAPHS = 64  # kinds of encoders, with and without gradient; torch itself stops at 8


def is_asked_for(environment: Mapping[str, str]) -> bool:
    """Return whether REPRO_COMPILE asks for compiled layers.

    Raises UsageError where it is neither 0 nor 1.
    """
    return switch(environment, VARIABLE, "1 for compiled layers") or False


class GraphLayout(Layout):
    """Texts of any lengths, which a graph knows by tensors alone; without a kernel attention is padded."""

    def __init__(self, bounds: torch.Tensor, tokens: int, longest: int, kernel: bool):
        self.bounds, self.longest, self.kernel = bounds, longest, kernel
        how: dict[str, Any] = {"dtype": torch.int32, "device": bounds.device}
        self.firsts, token = torch.arange(len(bounds), **how), torch.arange(tokens, **how)
        text = torch.searchsorted(bounds, token, right=True) - 1  # (T,)
        self.places = text * longest + token - bounds.index_select(0, text)  # (T,), among n x longest
        self.mask = torch.arange(longest, **how) < bounds.diff().view(-1, 1, 1, 1)

    def attend(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, dropout: float
    ) -> torch.Tensor:
        """Return attention within each text, by the kernel or as a batch that is padded."""
        if self.kernel:
            return by_kernel(query, key, value, self, dropout)
        is_whole = len(query) == len(key)
        q = self._padded(query) if is_whole else query.unsqueeze(2)
        k, v = self._padded(key), self._padded(value)
        context = scaled_dot_product_attention(q, k, v, attn_mask=self.mask, dropout_p=dropout)
        rows = context.transpose(1, 2).flatten(0, 1)
        return rows.index_select(0, self.places) if is_whole else rows

    def _padded(self, rows: torch.Tensor) -> torch.Tensor:
        shape = ((len(self.bounds) - 1) * self.longest, *rows.shape[1:])
        padded = rows.new_zeros(shape).index_copy(0, self.places, rows)
        return padded.unflatten(0, (-1, self.longest)).transpose(1, 2)  # (n, heads, longest, h)


def _layers(
    layers: Sequence[Any],
    hidden: torch.Tensor,
    bounds: torch.Tensor,
    longest: int,
    firsts: bool,
    kernel: bool,
) -> torch.Tensor:
    layout = GraphLayout(bounds, len(hidden), longest, kernel)
    return all_layers(layers, hidden, layout, firsts=firsts)


class CompiledLayers:
    """Compiles the layers of an encoder when they are first called, for any number of texts and tokens.

    Attributes:
        used: whether any call was compiled.
    """

    def __init__(self, compiled: Callable[..., torch.Tensor] | None = None) -> None:
        self.used, self._compiled = False, compiled
        self._kinds: set[tuple] = set()

    def __call__(
        self, layers: Sequence[Any], hidden: torch.Tensor, layout: Layout, *, firsts: bool
    ) -> torch.Tensor:
        """Return what ``all_layers`` does, by it where nothing is to be compiled.

        A single text and texts of one token, which torch would compile anew, and steps whose operations are
        counted, which it does not compile, are computed as without.

        Raises:
            BlockedError: torch lacks what it compiles with.
        """
        counted = is_in_torch_dispatch_mode(include_infra_modes=False)
        if self._compiled is None or min(len(layout.lengths), layout.longest) < 2 or counted:
            return all_layers(layers, hidden, layout, firsts=firsts)
        self.used, processor, attention = True, hidden.device.type, layers[0].attention.self
        half = torch.is_autocast_enabled(processor) and torch.get_autocast_dtype(processor)
        sizes = (0, attention.num_attention_heads, attention.attention_head_size)
        kernel = has_kernel(hidden.new_empty(sizes, dtype=half or hidden.dtype))
        how = (half, hidden.dtype, hidden.requires_grad, torch.is_grad_enabled(), attention.training)
        if (layers, firsts, *how) not in self._kinds:  # kernels, and last bits, are those of one size
            with _told():
                rows = hidden.new_zeros(sum(LENGTHS), hidden.shape[1]).requires_grad_(hidden.requires_grad)
                others = Layout(LENGTHS, hidden.device)
                self._compiled(layers, rows, others.bounds, others.longest, firsts, kernel)
            self._kinds.add((layers, firsts, *how))
        return self._compiled(layers, hidden, layout.bounds, layout.longest, firsts, kernel)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Leave random numbers as they are, and say in a sentence what torch lacks."""
    try:
        with torch.random.fork_rng():
            yield
    except torch._dynamo.exc.BackendCompilerFailed as error:
        fault = str(error.inner_exception).strip().partition("\n")[0]
        obstacle = f"{VARIABLE} is 1, and torch cannot compile here ({fault})"
        raise BlockedError(obstacle, f"install what it names, or unset {VARIABLE}") from error


@contextlib.contextmanager
def compiled_layers(wanted: bool) -> Iterator[CompiledLayers]:
    """Compile layers here, if that is wanted; what was compiled is forgotten at the end."""
    if not wanted:
        yield CompiledLayers()
        return
    compiled = torch.compile(_layers, dynamic=True, fullgraph=True, backend=BACKEND)
    # the share that is dropped out is no input: else torch takes it for one, and begins again
    traced = torch._dynamo.config.patch(recompile_limit=GRAPHS, specialize_float=True)
    try:
        with traced, torch._inductor.config.patch(size_asserts=False):  # a tenth of the host's time
            yield CompiledLayers(compiled)
    finally:
        torch.compiler.reset()
