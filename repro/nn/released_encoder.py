"""Encoders made by others: the heads that sentence-transformers directories list, and SPLADE."""

from pathlib import Path

import torch
from torch import nn

from repro.errors import DataError, check_known
from repro.nn import library_encoder
from repro.nn.checkpoint import load, load_masked_lm, load_tokenizer
from repro.nn.encoder import pooled
from repro.nn.sparse_view import POSITIONS, max_log_saturated, sum_log_saturated
from repro.stage_table import MODULES, POOLINGS


class ReleasedEncoder(nn.Module):
    """Token ids to one vector a text, through the heads that a released encoder has.

    Args:
        model: a transformers model whose output has ``last_hidden_state``.
        pooling: ``cls``, ``mean`` or ``pooler``.
        heads: the library's modules behind its pooling, applied in order.
        size: numbers of a vector.
    """

    def __init__(self, model: nn.Module, *, pooling: str, heads: list[nn.Module], size: int):
        super().__init__()
        self.model, self.pooling, self.heads, self.size = model, pooling, nn.ModuleList(heads), size

    def forward(self, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        """Model inputs, (N, L) each, to (N, ``size``)."""
        output = self.model(**inputs)
        if self.pooling == "pooler":
            return self.finished(output.pooler_output)
        mask = inputs["attention_mask"]
        return self.finished(pooled(output.last_hidden_state, mask, pooling=self.pooling))

    def finished(self, vectors: torch.Tensor) -> torch.Tensor:
        """Pooled vectors, (N, H), through the heads, to (N, ``size``)."""
        features = {"sentence_embedding": vectors}
        for head in self.heads:
            features = head(features)
        return features["sentence_embedding"]


def load_released_encoder(folder: Path, *, pooling: str) -> ReleasedEncoder:
    """The encoder in a model directory, with BERT's ``pooler``, or with the modules that it lists.

    Raises:
        DataError: the directory is not a model, or its modules are no transformer with one pooling.
    """
    if pooling != MODULES:
        model = _with_pooler(folder)
        return ReleasedEncoder(model, pooling=pooling, heads=[], size=model.config.hidden_size)
    encoder = library_encoder.load(folder, {"kind": "dense", "precision": "fp32"})
    transformer, pooling_module, *heads = encoder.children()
    mode = getattr(pooling_module, "pooling_mode", None)
    if mode not in POOLINGS:
        raise DataError(f"{folder}: pooling {mode} is not known here; known: {', '.join(POOLINGS)}")
    size = encoder.get_embedding_dimension()
    return ReleasedEncoder(transformer.auto_model, pooling=mode, heads=heads, size=size)


def _with_pooler(folder: Path) -> nn.Module:
    from transformers import AutoModel

    model = load(AutoModel, folder, dtype="float32")
    if getattr(model, "pooler", None) is None:
        raise DataError(f"{folder}: the model has no pooler; choose pooling cls or mean")
    return model


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
