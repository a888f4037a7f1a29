from __future__ import annotations

import numpy as np
import torch

from repro.retrieval.training.objective import build
from tests.tiny_models import tiny_masked_lm, tiny_text, tiny_tokenizer

MASKS = {
    "encoder_rate": 0.3,
    "decoder_rate": 0.5,
    "unit": "whole-word",
    "superset": "union",
    "mask": 1.0,
    "random": 0.0,
}
DECODER = {"layers": 2, "segments": "zeros", "slot": "replace", "shared_head": True}
TOKEN_LOSS = {"per": "batch", "specials": False}


def made(kind, options: dict, *, dropout: float = 0.0, double: bool = True, layers: int = 3, **changes):
    """An objective over a small model, in float64 unless told otherwise, without dropout."""
    torch.manual_seed(1)
    model = tiny_masked_lm(dropout=dropout, layers=layers)
    objective = build(kind, model, tiny_tokenizer(), options | changes)
    return objective.double() if double else objective


def rows(count: int = 4, *, words: int = 16, epoch: int = 0, titles: bool = True) -> list[dict]:
    """Token rows of a title, [SEP] and a text."""
    generator, tokenizer, written = np.random.default_rng(5), tiny_tokenizer(), []
    for index in range(count):
        text = tiny_text(generator, words + index)
        text = f"{tiny_text(generator, 3)}[SEP]{text}" if titles else text
        ids = np.array(tokenizer(text, add_special_tokens=False)["input_ids"])
        written.append({"input_ids": ids, "index": index, "epoch": epoch})
    return written


def loops(logits: torch.Tensor, tokens: torch.Tensor, counted: torch.Tensor) -> float:
    """Eq. 2 over a batch, one position after the other."""
    total, count = 0.0, 0
    for n in range(len(tokens)):
        for i in range(tokens.shape[1]):
            if counted[n, i]:
                scores = logits[n, i].tolist()
                most = max(scores)
                normaliser = most + np.log(sum(np.exp(score - most) for score in scores))
                total, count = total + normaliser - scores[tokens[n, i]], count + 1
    return total / count
