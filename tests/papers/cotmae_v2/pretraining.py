from __future__ import annotations

import numpy as np
import torch

from papers.cotmae_v2.multi_view_autoencoder import MultiViewAutoEncoder
from repro.retrieval.nn.masked_tokens import IGNORED
from repro.retrieval.training.objective import build
from tests.tiny_models import tiny_masked_lm, tiny_text, tiny_tokenizer

OPTIONS = {
    "views": ["dense", "sparse"],
    "decoders": ["auto_encoding", "auto_regressive"],
    "context_kinds": ["random", "nearby", "overlap"],
    "truncation": "random",
    "windows": "shared",
    "decoder_contexts": "independent",
    "encoded_texts": "anchor",
    "masking_rates": {"encoder": 0.3, "decoder": 0.45},
    "masking_unit": {"whole_word": True, "mask": 0.8, "random": 0.1},
    "view_losses": "sum",
    "decoder_sharing": True,
    "bottleneck_slot": "replace",
    "decoder_layers": {"auto_encoding": "bert", "auto_regressive": "gpt2", "layers": 1},
    "autoregressive_window": 0,
    "causal_targets": True,
    "sparse_positions": {"cls": False, "sep": False},
    "vocabulary_head": "transform",
    "detached_embeddings": "projection",
    "token_loss_reduction": "mean",
    "length": 24,
    "seed": 7,
}
FIRST_VERSION = {
    "views": ["dense"],
    "decoders": ["auto_encoding"],
    "encoded_texts": "both",
    "windows": "apart",
    "decoder_layers": {"auto_encoding": "bert", "layers": 2},
}


def made(*, double: bool = True, dropout: float = 0.0, **changes) -> MultiViewAutoEncoder:
    """The objective over a small model, in float64, without dropout."""
    torch.manual_seed(1)
    model = tiny_masked_lm(dropout=dropout, layers=2)
    objective = build(MultiViewAutoEncoder, model, tiny_tokenizer(), OPTIONS | changes)
    return objective.double() if double else objective


def rows(count: int = 4, *, epoch: int = 0, seed: int = 5) -> list[dict]:
    generator, written = np.random.default_rng(seed), []
    for index in range(count):
        spans = generator.integers(1, 4, generator.integers(3, 6))
        texts = [tiny_text(generator, int(generator.integers(3, 9))) for _ in range(spans.sum())]
        tokens = [tiny_tokenizer()(text, add_special_tokens=False)["input_ids"] for text in texts]
        written.append(
            {
                "input_ids": np.concatenate(tokens),
                "sentences": np.array([len(ids) for ids in tokens]),
                "spans": spans,
                "epoch": epoch,
                "index": index,
            }
        )
    return written


class FixedTexts:
    """In the place of the sampler: the same anchor and contexts for every document, by its index."""

    def __init__(self, anchors: list[np.ndarray], contexts: list[np.ndarray]):
        self.anchors, self.contexts = anchors, contexts

    def draw(self, example: dict, count: int, *, whole: bool = False) -> tuple[np.ndarray, list[np.ndarray]]:
        place = example["index"]
        shown = [np.roll(self.contexts[place], n) for n in range(count)]
        return self.anchors[place], shown


def by_loops(logits: torch.Tensor, labels: torch.Tensor, *, reduction: str = "mean") -> float:
    """Eqs. 9, 12, 13 over a batch, one position after the other, from (N, L, V) and (N, L)."""
    total, count = 0.0, 0
    for n in range(len(labels)):
        for i in range(labels.shape[1]):
            if labels[n, i] != IGNORED:
                scores = logits[n, i].tolist()
                most = max(scores)
                normaliser = most + np.log(sum(np.exp(score - most) for score in scores))
                total, count = total + normaliser - scores[labels[n, i]], count + 1
    return total / count if reduction == "mean" else total
