"""The parts that all pre-trainings with BERT's masking have in common."""

from pathlib import Path

import numpy as np
import torch
from torch import nn

from repro.retrieval.nn.checkpoint import save_model
from repro.retrieval.nn.masking import masked_texts
from repro.retrieval.nn.seeded_generators import seeded_generators

Tensors = dict[str, torch.Tensor]


class MaskedPretraining(nn.Module):
    """Reading of texts, masking, encoding and saving; an objective adds its losses and sets the attributes.

    Attributes:
        encoder: the objective's ``model``, BertForMaskedLM or one with ``base_model`` and ``cls`` like it.
        tokenizer: its tokenizer.
        masking: {rate, mask, random} of ``masked_texts``, of BERT 0.15, 0.8, 0.1; with ``draw`` where that is
            not ``each``.
        length: tokens of a text, with [CLS] and [SEP].
        seed: of all that is drawn.
    """

    def texts(self, examples: list[dict]) -> list[np.ndarray]:
        """The examples' tokens, (n,) each, cut to leave room for [CLS] and [SEP]."""
        return [np.asarray(example["input_ids"])[: self.length - 2] for example in examples]

    def generators(
        self, examples: list[dict], *stream: int, each_epoch: bool = True
    ) -> list[np.random.Generator]:
        """Random numbers for each example by (seed, stream, epoch, index); epoch 0 unless ``each_epoch``."""
        places = [(example["epoch"] if each_epoch else 0, example["index"]) for example in examples]
        return seeded_generators([(self.seed, *stream, *place) for place in places])

    def masked(self, texts: list[np.ndarray], generators: list[np.random.Generator]) -> Tensors:
        """The four arrays of ``masked_texts``, (N, L) int64."""
        masking = {"draw": "each"} | self.masking
        return masked_texts(texts, tokenizer=self.tokenizer, generators=generators, **masking)

    def collate(self, examples: list[dict]) -> Tensors:
        """Token rows to the four arrays of ``masked_texts``; a mask depends on (seed, epoch, index) only."""
        return self.masked(self.texts(examples), self.generators(examples))

    def hidden(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Last hidden states: (N, L) each to (N, L, H)."""
        return self.encoder.base_model(input_ids, attention_mask=attention_mask).last_hidden_state

    def save(self, folder: Path) -> None:
        """The encoder with its masked-language head; what else was trained along is thrown away."""
        save_model(self.encoder, self.tokenizer, folder)
