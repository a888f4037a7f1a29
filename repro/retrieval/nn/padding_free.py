"""Models that read each batch end to end, without padding, with the same states, losses and gradients.

Only what is drawn at random falls otherwise: dropout leaves out other places of as many numbers.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import nn
from transformers.modeling_outputs import BaseModelOutputWithPooling

from repro.errors import UsageError
from repro.retrieval.nn.encoder import Encoder
from repro.retrieval.nn.packed_layers import (
    HALVES,
    KERNEL_FROM,
    Layout,
    by_kernel,
    can_be_packed,
    embed,
    has_size,
    layer_output,
    text_by_text,
)
from repro.retrieval.nn.precision import device

VARIABLE = "REPRO_PADDING_FREE"
DATACLASS = ("return_dict", True)  # an argument by which the library's own heads ask for what is given here


@dataclass
class PaddingFree:
    """Whether any batch has been read end to end."""

    used: bool = False


@contextlib.contextmanager
def padding_free(objective: nn.Module, wanted: bool) -> Iterator[PaddingFree]:
    """Have the models in an objective that ``can_be_packed`` read texts end to end here, if that is wanted.

    A call that asks for more than the last layer's states, and one without padding, is left to the library.
    The model of an ``Encoder`` of [CLS] computes its last layer for the first tokens alone, padding or not.
    """
    packing, modules = PaddingFree(), list(objective.modules()) if wanted else []
    cls_models = {part.model for part in modules if isinstance(part, Encoder) and part.pooling == "cls"}
    with contextlib.ExitStack() as stack:
        for model in filter(can_be_packed, modules):
            stack.enter_context(_packed_model(model, packing, firsts=model in cls_models))
        yield packing


@contextlib.contextmanager
def _packed_model(model: nn.Module, packing: PaddingFree, *, firsts: bool) -> Iterator[None]:
    library = model.forward

    def forward(input_ids=None, attention_mask=None, token_type_ids=None, **arguments):
        asks_more = any(value is not None for name, value in arguments.items() if (name, value) != DATACLASS)
        if input_ids is None or attention_mask is None or attention_mask.dim() != 2 or asks_more:
            return library(input_ids, attention_mask, token_type_ids, **arguments)
        if not firsts and attention_mask.all():
            return library(input_ids, attention_mask, token_type_ids)
        packing.used = True
        return _states(model, input_ids, attention_mask, token_type_ids, firsts=firsts)

    model.forward = forward
    try:
        yield
    finally:
        del model.forward  # the class's is found again


def _states(
    model: nn.Module, ids: torch.Tensor, mask: torch.Tensor, kinds: torch.Tensor | None, *, firsts: bool
) -> BaseModelOutputWithPooling:
    """The last layer's states, (N, L, H), which are 0 at padding; texts of one length lie beside each other.

    Args:
        ids, mask, kinds: (N, L) each; kinds may be of one row for all texts, or None.
        firsts: whether only the first token of a text is read, so that the other states may be 0 too.
    """
    lengths = mask.sum(dim=1)  # (N,)
    order = lengths.argsort(stable=True)
    numbers = torch.arange(mask.numel(), device=mask.device).view(mask.shape)
    places = numbers[order][mask[order].bool()]  # (T,)
    inputs = {"input_ids": ids}
    if kinds is not None:
        inputs["token_type_ids"] = kinds.expand_as(ids)
    hidden, layout = embed(model, inputs, places), Layout(lengths[order].tolist(), mask.device)
    *layers, last = model.encoder.layer
    for layer in layers:
        hidden = layer_output(layer, hidden, hidden, layout)
    query_places = layout.bounds[:-1].long() if firsts else slice(None)
    hidden, places = layer_output(last, hidden[query_places], hidden, layout), places[query_places]
    padded = hidden.new_zeros(mask.numel(), hidden.shape[1]).index_copy(0, places, hidden)
    states = padded.view(*mask.shape, -1)
    pooler = getattr(model, "pooler", None)
    return BaseModelOutputWithPooling(
        last_hidden_state=states, pooler_output=None if pooler is None else pooler(states)
    )


def is_asked_for(environment: Mapping[str, str]) -> bool:
    """Whether REPRO_PADDING_FREE asks for texts end to end; a UsageError where it is anything but 1."""
    text = environment.get(VARIABLE)
    if text not in (None, "1"):
        raise UsageError(f"{VARIABLE} is {text!r}; set it to 1 for texts without padding, or unset it")
    return text is not None


def packs(model: nn.Module, *, wanted: bool, precision: str, say: Callable[[str], None]) -> bool:
    """Whether a GPU is to encode texts end to end, by one kernel; ``say`` hears why not, where it is wanted.

    Without a GPU nothing is said, and ``repro.retrieval.nn.packed_texts`` has a rule of its own.
    """
    processor = device()
    if not wanted or processor.type == "cpu":
        return False
    obstacle = _obstacle(model, precision, processor)
    if obstacle:
        say(f"texts are encoded with padding, though {VARIABLE} asks for none: {obstacle}")
    return not obstacle


def _obstacle(model: nn.Module, precision: str, processor: torch.device) -> str:
    """Return the reason, in words, why the kernel cannot encode; empty where it computes what it should."""
    models = [part for part in model.modules() if can_be_packed(part)]
    if not models:
        return "the model is not built as BERT"
    if precision == "fp32":
        return "torch's kernel for texts of several lengths computes in fp16 and bf16, not in fp32"
    if torch.cuda.get_device_capability(processor) < KERNEL_FROM:
        return f"the GPU's compute capability is below {KERNEL_FROM[0]}.{KERNEL_FROM[1]}"
    config = models[0].config
    heads = config.num_attention_heads
    size = config.hidden_size // heads
    if not has_size(size):
        return f"the kernel takes heads of a multiple of 8 up to 256 numbers, and the model's have {size}"
    return _fault(processor, HALVES[precision == "bf16"], (heads, size))


def _fault(processor: torch.device, dtype: torch.dtype, shape: tuple[int, int]) -> str:
    """Return the kernel's fault, as attention text by text shows it on a few numbers; empty for none."""
    layout = Layout([5, 3, 3, 1], processor)
    numbers = torch.linspace(-1, 1, sum(layout.lengths) * shape[0] * shape[1], device=processor).sin()
    vectors = numbers.view(-1, *shape).to(dtype)
    try:
        outputs = [by_kernel(query, vectors, vectors, layout) for query in (vectors, vectors[:4])]
    except (ImportError, RuntimeError, ValueError, TypeError) as error:
        return f"torch's kernel cannot be used ({str(error).strip().partition(chr(10))[0]})"
    expected = [text_by_text(query, vectors, vectors, layout) for query in (vectors, vectors[:4])]
    close = all(torch.allclose(*pair, atol=0.02) for pair in zip(outputs, expected, strict=True))
    return "" if close else "torch's kernel computes another attention than text by text"
