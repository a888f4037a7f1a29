"""Encoders made by others: the heads that sentence-transformers directories list, and SPLADE."""

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn

from repro.errors import DataError, check_known
from repro.nn.checkpoint import load, load_encoder, load_masked_lm, load_tokenizer
from repro.nn.encoder import pooled
from repro.nn.encoder_conventions import MODULES, Module, modules, pooling_of
from repro.nn.sparse_view import POSITIONS, max_log_saturated, sum_log_saturated

ACTIVATIONS = ("Tanh", "Identity", "GELU", "ReLU", "Sigmoid", "SiLU")  # of torch.nn


class ReleasedEncoder(nn.Module):
    """Token ids to one vector a text, through the heads that a released encoder has.

    Args:
        model: a transformers model whose output has ``last_hidden_state``.
        pooling: ``cls``, ``mean`` or ``pooler``.
        heads: applied in order to the pooled vectors; no last normalisation.
        normalizes: whether its vectors are to be brought to length 1 in the end.

    Attributes:
        size: numbers of a vector.
    """

    def __init__(self, model: nn.Module, *, pooling: str, heads: list[nn.Module], normalizes: bool):
        super().__init__()
        self.model, self.pooling, self.heads = model, pooling, nn.Sequential(*heads)
        self.normalizes = normalizes
        widths = [part.out_features for part in self.heads.modules() if isinstance(part, nn.Linear)]
        self.size = widths[-1] if widths else model.config.hidden_size

    def forward(self, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        """Model inputs, (N, L) each, to (N, ``size``)."""
        output = self.model(**inputs)
        if self.pooling == "pooler":
            return self.finished(output.pooler_output)
        mask = inputs["attention_mask"]
        return self.finished(pooled(output.last_hidden_state, mask, pooling=self.pooling))

    def finished(self, vectors: torch.Tensor) -> torch.Tensor:
        """Pooled vectors, (N, H), through the heads, to (N, ``size``)."""
        return self.heads(vectors)


class _UnitLength(nn.Module):
    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        return nn.functional.normalize(vectors, dim=-1)


def load_released_encoder(folder: Path, *, pooling: str) -> ReleasedEncoder:
    """The encoder in a model directory, with BERT's ``pooler``, or with the modules that it lists.

    Raises:
        DataError: the directory is not a model, or a module of it cannot be followed.
    """
    if pooling != MODULES:
        return ReleasedEncoder(_with_pooler(folder), pooling=pooling, heads=[], normalizes=False)
    _, pooling_module, *head_modules = modules(folder)
    heads = [_head(module) for module in head_modules]
    normalizes = bool(heads) and isinstance(heads[-1], _UnitLength)
    model, heads = load_encoder(folder), heads[:-1] if normalizes else heads
    return ReleasedEncoder(model, pooling=pooling_of(pooling_module), heads=heads, normalizes=normalizes)


def _with_pooler(folder: Path) -> nn.Module:
    from transformers import AutoModel

    model = load(AutoModel, folder, dtype="float32")
    if getattr(model, "pooler", None) is None:
        raise DataError(f"{folder}: the model has no pooler; choose pooling cls or mean")
    return model


def _head(module: Module) -> nn.Module:
    """A module of sentence-transformers as the layers it is."""
    if module.kind == "Normalize":
        return _UnitLength()
    weights = _weights(module.folder)
    if module.kind == "LayerNorm":
        layer = nn.LayerNorm(len(weights["norm.weight"]))
        layer.load_state_dict({name.removeprefix("norm."): value for name, value in weights.items()})
        return layer
    name = module.config.get("activation_function", "torch.nn.modules.activation.Tanh").rpartition(".")[2]
    if name not in ACTIVATIONS or module.config.get("use_residual"):
        raise DataError(
            f"{module.folder}: a dense layer with {name}, or with a residual, is not known here; "
            f"known: {', '.join(ACTIVATIONS)}"
        )
    rows, columns = weights["linear.weight"].shape
    layer = nn.Linear(columns, rows, bias="linear.bias" in weights)
    layer.load_state_dict({name.removeprefix("linear."): value for name, value in weights.items()})
    return nn.Sequential(layer, getattr(nn, name)())


def _weights(folder: Path) -> dict[str, torch.Tensor]:
    """A module's tensors in float32, of safetensors or of a pickle that may hold nothing but tensors."""
    try:
        if (folder / "model.safetensors").exists():
            weights = load_file(folder / "model.safetensors")
        else:
            weights = torch.load(folder / "pytorch_model.bin", map_location="cpu", weights_only=True)
    except Exception as error:  # safetensors and pickle have errors of their own
        reason = str(error).strip().split("\n")[0]
        raise DataError(f"{folder}: its weights cannot be read ({reason})") from error
    return {name: value.float() for name, value in weights.items()}


class SpladeEncoder(nn.Module):
    """Token ids to max_i log(1 + ReLU(w_ij)), w the logits of any masked language model (Formal et al. 2021).

    The maximum, or with ``pooling`` ``sum`` the sum of the first version, is over all positions that are no
    padding, [CLS] and [SEP] included, as released code has it. Logits are made for a few texts at a time.
    """

    def __init__(self, model: nn.Module, tokenizer, *, pooling: str = "max"):
        super().__init__()
        check_known("pooling of logits", pooling, valid=("max", "sum"))
        self.model, self.tokenizer, self.pooling = model, tokenizer, pooling

    def forward(self, inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Model inputs, (N, L) each, to ``sparse``, (N, V)."""
        (count, length), rows = inputs["input_ids"].shape, []
        step = max(1, POSITIONS // length)
        for start in range(0, count, step):
            part = {name: value[start : start + step] for name, value in inputs.items()}
            keep = part["attention_mask"].bool()
            logits = self.model(**part).logits
            if self.pooling == "sum":
                rows.append(sum_log_saturated(logits, keep))
            else:
                rows.append(max_log_saturated(logits, lambda highest: highest, keep))
        return {"sparse": torch.cat(rows)}


def load_splade_encoder(folder: Path, *, pooling: str = "max") -> SpladeEncoder:
    """The masked language model in a directory as SPLADE. Raises DataError if the directory is not one."""
    return SpladeEncoder(load_masked_lm(folder), load_tokenizer(folder), pooling=pooling)
