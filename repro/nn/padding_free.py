"""Models of a training that read each batch end to end, without padding, with the same losses and gradients.

Only what is drawn at random falls otherwise: dropout leaves out other places of as many numbers.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn
from transformers.modeling_outputs import BaseModelOutputWithPooling

from repro.nn.packed_layers import can_be_packed, embedded, layer_output, stretches_of

DATACLASS = ("return_dict", True)  # an argument by which the library's own heads ask for what is given here


@dataclass
class PaddingFree:
    """Whether any batch has been read end to end."""

    used: bool = False


@contextlib.contextmanager
def padding_free(objective: nn.Module, wanted: bool) -> Iterator[PaddingFree]:
    """Have the models in an objective that ``can_be_packed`` read texts end to end here, if that is wanted.

    A call that asks for more than the last layer's states, and one without padding, is left to the library.
    """
    packed = PaddingFree()
    with contextlib.ExitStack() as stack:
        for model in objective.modules() if wanted else ():
            if can_be_packed(model):
                stack.enter_context(_packed(model, packed))
        yield packed


@contextlib.contextmanager
def _packed(model: nn.Module, packed: PaddingFree) -> Iterator[None]:
    library = model.forward

    def forward(input_ids=None, attention_mask=None, token_type_ids=None, **others):
        asked = any(value is not None for name, value in others.items() if (name, value) != DATACLASS)
        if input_ids is None or attention_mask is None or attention_mask.dim() != 2 or asked:
            return library(input_ids, attention_mask, token_type_ids, **others)
        if attention_mask.all():
            return library(input_ids, attention_mask, token_type_ids)
        packed.used = True
        return _states(model, input_ids, attention_mask, token_type_ids)

    model.forward = forward
    try:
        yield
    finally:
        del model.forward  # the class's is found again


def _states(
    model: nn.Module, ids: torch.Tensor, mask: torch.Tensor, kinds: torch.Tensor | None
) -> BaseModelOutputWithPooling:
    """The last layer's states, (N, L, H), which are 0 at padding; texts of one length lie beside each other.

    Args:
        ids, mask, kinds: (N, L) each; kinds may be of one row for all texts, or None.
    """
    lengths = mask.sum(dim=1)  # (N,)
    order = lengths.argsort(stable=True)
    numbers = torch.arange(mask.numel(), device=mask.device).view(mask.shape)
    places = numbers[order][mask[order].bool()]  # (T,)
    inputs = {"input_ids": ids}
    if kinds is not None:
        inputs["token_type_ids"] = kinds.expand_as(ids)
    hidden, stretches = embedded(model, inputs, places), stretches_of(lengths[order].tolist())
    for layer in model.encoder.layer:
        hidden = layer_output(layer, hidden, hidden, stretches)
    padded = hidden.new_zeros(mask.numel(), hidden.shape[1]).index_copy(0, places, hidden)
    states = padded.view(*mask.shape, -1)
    pooler = getattr(model, "pooler", None)
    return BaseModelOutputWithPooling(
        last_hidden_state=states, pooler_output=None if pooler is None else pooler(states)
    )
