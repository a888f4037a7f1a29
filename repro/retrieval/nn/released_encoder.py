"""Encoders made by others: the heads that sentence-transformers directories list, and SPLADE."""

from pathlib import Path

import torch
from torch import nn

from repro.errors import DataError, check_known
from repro.retrieval.nn import library_encoder
from repro.retrieval.nn.checkpoint import load_masked_lm, load_tokenizer
from repro.retrieval.nn.encoder import pooled
from repro.retrieval.nn.sparse_view import POSITIONS, max_log_saturated, sum_log_saturated
from repro.stage_table import POOLINGS


class ReleasedEncoder(nn.Module):
    """Token ids to one vector a text, through the modules that sentence-transformers reads of a folder.

    Raises DataError where the folder is no model, or other than a transformer with one pooling before them.

    Attributes:
        size: numbers of a vector.
    """

    def __init__(self, folder: Path):
        super().__init__()
        encoder = library_encoder.load(folder, {"kind": "dense", "precision": "fp32"})
        transformer, pooling, *heads = encoder.children()
        self.pooling = getattr(pooling, "pooling_mode", None)
        if self.pooling not in POOLINGS:
            raise DataError(f"{folder}: pooling {self.pooling} is not known; known: {', '.join(POOLINGS)}")
        self.model, self.heads = transformer.auto_model, nn.ModuleList(heads)
        self.size = encoder.get_embedding_dimension()

    def forward(self, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        """Model inputs, (N, L) each, to (N, ``size``)."""
        hidden = self.model(**inputs).last_hidden_state
        return self.finished(pooled(hidden, inputs["attention_mask"], pooling=self.pooling))

    def finished(self, vectors: torch.Tensor) -> torch.Tensor:
        """Pooled vectors, (N, H), through the heads, to (N, ``size``)."""
        features = {"sentence_embedding": vectors}
        for head in self.heads:
            features = head(features)
        return features["sentence_embedding"]


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
