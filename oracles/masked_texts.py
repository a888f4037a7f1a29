"""Masked texts as arrays, and one order of drawing words that both sides are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from oracles.made_up import text, tokenizer
from repro.retrieval.nn.masked_tokens import IGNORED
from repro.retrieval.nn.text import padded

SPECIAL = 5  # entries of the vocabulary, its first ones


def framed_rows(count: int, *, seed, words: tuple[int, int], unknown: float = 0.0) -> list[np.ndarray]:
    """Token ids of so many texts of different lengths, each between [CLS] and [SEP]; some words unknown."""
    generator = np.random.default_rng(seed)
    texts = [text(generator, int(generator.integers(*words)), unknown=unknown) for _ in range(count)]
    return [np.array(row, dtype=np.int64) for row in tokenizer()(texts)["input_ids"]]


def masked_side(rows: list[np.ndarray], *, rate: float, seed) -> dict[str, torch.Tensor]:
    """Rows as an encoder or a decoder reads them: ``clean``, ``ids``, ``labels``, ``attention``, (N, L) each.

    Every token is chosen by itself, one of each text at least; of the chosen, four in five become [MASK] and
    half of the rest another token. How tokens are chosen is compared apart from the losses.
    """
    generator = np.random.default_rng(seed)
    clean = padded(rows, value=tokenizer().pad_token_id).numpy()
    chosen = (generator.random(clean.shape) < rate) & (clean >= SPECIAL)
    chosen[:, 1] = True
    fate, others = generator.random(clean.shape), generator.integers(SPECIAL, len(tokenizer()), clean.shape)
    hidden = np.where(fate < 0.8, tokenizer().mask_token_id, np.where(fate < 0.9, others, clean))
    side = {
        "clean": clean,
        "ids": np.where(chosen, hidden, clean),
        "labels": np.where(chosen, clean, IGNORED),
        "attention": padded([np.ones_like(row) for row in rows], value=0).numpy(),
    }
    return {name: torch.from_numpy(array) for name, array in side.items()}


def rows_with_keys(inputs: Mapping[str, Any]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Framed rows of texts, and a number for each token by which words are put in order."""
    generator = np.random.default_rng(inputs["keys"])
    how = {"words": tuple(inputs["words"]), "unknown": inputs["unknown"]}
    rows = framed_rows(inputs["count"], seed=inputs["texts"], **how)
    return [(row, generator.random(len(row))) for row in rows]


class GivenOrder:
    """A stand-in for numpy's generator: it orders words by the numbers of their first tokens.

    Args:
        numbers: (n,), the number of each token's word, -1 for none.
        keys: (n,), a number for every token.
    """

    def __init__(self, numbers: np.ndarray, keys: np.ndarray):
        words, firsts = np.unique(numbers, return_index=True)
        self.firsts, self.keys = firsts[words >= 0], keys

    def permutation(self, count: int) -> np.ndarray:
        """The order of W words, as numpy's generator would give it."""
        assert count == len(self.firsts), (count, self.firsts)
        return np.argsort(self.keys[self.firsts], kind="stable")


def shuffler(keys: np.ndarray):
    """Sort lists of places by the number of their first one, in the place of ``random.shuffle``."""

    def shuffle(words: list[list[int]]) -> None:
        words.sort(key=lambda places: keys[places[0]])

    return shuffle
