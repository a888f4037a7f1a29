"""The masked-language head and the dropout that a pre-training starts with."""

from torch import nn

from repro.errors import UsageError, check_known

HEADS = ("checkpoint", "new")


def with_head(model: nn.Module, head: str) -> nn.Module:
    """The model with its own masked-language head (``checkpoint``) or one drawn anew (``new``).

    What the head shares with the embeddings stays as it is: BERT's output matrix is not drawn again, its
    dense layer, LayerNorm and bias are. From torch's generator.
    """
    check_known("start of the masked-language head", head, valid=HEADS)
    if head == "new":
        shared_ids = {id(parameter) for parameter in model.base_model.parameters()}
        for module in model.cls.modules():
            _draw(module, shared_ids, model.config.initializer_range)
    return model


def _draw(module: nn.Module, shared_ids: set[int], spread: float) -> None:
    if isinstance(module, nn.LayerNorm):
        module.reset_parameters()
        return
    for name, parameter in module.named_parameters(recurse=False):
        if id(parameter) not in shared_ids:
            nn.init.zeros_(parameter) if name == "bias" else nn.init.normal_(parameter, std=spread)


def set_dropout(model: nn.Module, rate: float) -> None:
    """Every dropout of a model, attention's too, at ``rate`` from now on; its config stays as it is.

    transformers' attention takes the rate from its Dropout module whichever implementation computes it.
    Raises UsageError where the rate is no probability below 1.
    """
    if not 0 <= rate < 1:
        raise UsageError(f"a dropout of {rate!r} is impossible; give a rate from 0 to below 1")
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate
