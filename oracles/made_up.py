"""Inputs of both sides, from seeds alone: a vocabulary, texts, weights, and the draws that are given to both.

Nothing here rests on torch's generator, whose numbers may be others on another machine.
"""

from __future__ import annotations

import contextlib
import functools
import zlib
from collections.abc import Iterator
from unittest import mock

import numpy as np
import torch
from torch import nn

VOCABULARY = """
the of and a in to is was it for on as are by with from that this which be abbey acorn amber anchor
apple barley basin beacon birch bridge canal candle cedar chalk cliff clover coal copper coral
cotton delta desert dune eagle ember falcon fern ferry flint forge frost garnet geyser glacier
granite harbour harvest heron hollow island ivory jasper kettle lagoon lantern linen maple marble
meadow mill monsoon mortar nectar oasis orchard otter pebble pepper pine plateau quarry quartz raven
reef ridge saddle salt silver sparrow spring summit tallow thistle timber tundra valley velvet
walnut willow zinc
"""
WORDS = tuple(VOCABULARY.split())
PIECES = ("##s", "##ed", "##ing", "##er", "##ly", "##ness", "##al", "##ion")
MARKS = (".", ",", "-")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


@functools.cache
def tokenizer():
    """WordPiece over about 130 entries: special ones, marks, words and endings."""
    from transformers import BertTokenizer

    return BertTokenizer(vocab={entry: place for place, entry in enumerate(SPECIAL + MARKS + WORDS + PIECES)})


def text(generator: np.random.Generator, words: int, *, unknown: float = 0.0) -> str:
    """So many words, some with an ending or a mark, some that are in no vocabulary."""
    written = []
    for word in generator.choice(WORDS, words).tolist():
        chance = generator.random(3)
        ending = generator.choice(PIECES).item()[2:] if chance[0] < 0.4 else ""
        mark = generator.choice(MARKS).item() if chance[1] < 0.2 else ""
        written.append("qqq" if chance[2] < unknown else f"{word}{ending}{mark}")
    return " ".join(written)


def passages(generator: np.random.Generator, count: int, *, words: tuple[int, int]) -> list[dict[str, str]]:
    """So many titled texts ``{"title", "text"}`` of different lengths."""
    lengths = generator.integers(*words, size=count).tolist()
    return [{"title": text(generator, 3), "text": text(generator, length)} for length in lengths]


def bert(*, layers: int, hidden: int = 32, dropout: float = 0.0, positions: int = 64, **changes):
    """The configuration of a small BERT over the vocabulary, whose attention drops nothing out."""
    from transformers import BertConfig

    return BertConfig(
        vocab_size=len(tokenizer()),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=2 * hidden,
        max_position_embeddings=positions,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=0.0,
        **changes,
    )


def weighted(model: nn.Module, *, seed: int) -> nn.Module:
    """The model in float64 with weights drawn from the seed and each parameter's name, none of them 0."""
    model.double()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            drawn = normal(parameter.shape, seed=(seed, zlib.crc32(name.encode())))
            norm = name.endswith("weight") and parameter.dim() == 1
            parameter.copy_(1 + 0.1 * drawn if norm else 0.2 * drawn)
    return model


def masked_lm(*, seed: int, layers: int, **changes):
    """A small BertForMaskedLM with weights from the seed."""
    from transformers import BertForMaskedLM

    return weighted(BertForMaskedLM(bert(layers=layers, **changes)), seed=seed)


def normal(shape, *, seed) -> torch.Tensor:
    """Normal numbers in float64."""
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(tuple(shape)))


def order(count: int, *, seed) -> list[int]:
    """One shuffle of so many places."""
    return np.random.default_rng(seed).permutation(count).tolist()


@contextlib.contextmanager
def same_dropouts(seed: int) -> Iterator[list[tuple]]:
    """Dropouts drawn from the seed and their place in the pass, whoever asks; yields shapes and rates."""
    calls: list[tuple] = []

    def dropped(values, p=0.5, training=True, inplace=False):
        if not training or not p:
            return values
        kept = np.random.default_rng((seed, len(calls))).random(tuple(values.shape)) >= p
        calls.append((tuple(values.shape), p))
        return values * torch.from_numpy(kept) / (1 - p)

    with mock.patch.object(nn.functional, "dropout", dropped):
        yield calls
