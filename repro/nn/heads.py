"""The masked-language head a pre-training starts with."""

from __future__ import annotations

from torch import nn

from repro.errors import check_known

HEADS = ("checkpoint", "new")


def with_head(model: nn.Module, head: str) -> nn.Module:
    """The model with its own masked-language head (``checkpoint``) or one drawn anew (``new``).

    What the head shares with the embeddings stays as it is: BERT's output matrix is not drawn again, its
    dense layer, LayerNorm and bias are. From torch's generator.
    """
    check_known("start of the masked-language head", head, valid=HEADS)
    if head == "new":
        shared = {id(parameter) for parameter in model.base_model.parameters()}
        for module in model.cls.modules():
            _draw(module, shared, model.config.initializer_range)
    return model


def _draw(module: nn.Module, shared: set[int], spread: float) -> None:
    if isinstance(module, nn.LayerNorm):
        module.reset_parameters()
        return
    for name, parameter in module.named_parameters(recurse=False):
        if id(parameter) not in shared:
            nn.init.zeros_(parameter) if name == "bias" else nn.init.normal_(parameter, std=spread)
