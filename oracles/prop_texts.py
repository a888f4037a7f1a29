"""A made-up collection for PROP and B-PROP: texts of whole entries, and the counts of its words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from oracles.made_up import MARKS, WORDS, tokenizer

STOP_WORDS = WORDS[:20]
OFTEN = 150  # each word occurs at least so often: the released code draws no rare ones


def collection(inputs: Mapping[str, Any]) -> list[str]:
    """So many texts; no word is in pieces, since the released code counts words and ours their entries."""
    generator = np.random.default_rng(inputs["texts"])
    every = generator.permutation(np.repeat(np.arange(len(WORDS)), OFTEN + np.arange(len(WORDS)) * 3))
    written = [WORDS[word] + (f" {MARKS[word % 3]}" if word % 7 == 0 else "") for word in every]
    lengths = generator.integers(20, 60, inputs["count"])
    bounds = (np.cumsum(lengths) / lengths.sum() * len(written)).astype(int)
    return [" ".join(part) for part in np.split(np.array(written), bounds[:-1])]


def token_ids(text: str) -> np.ndarray:
    """A text's tokens without special ones."""
    return np.array(tokenizer()(text, add_special_tokens=False)["input_ids"], dtype=np.int64)


def save_statistics(folder: Path, texts: list[str]) -> Path:
    """The folder of term statistics that ours reads, counted here."""
    counted, size = [token_ids(text) for text in texts], len(tokenizer())
    occurrences = sum(np.bincount(one, minlength=size) for one in counted)
    in_texts = sum(np.bincount(np.unique(one), minlength=size) for one in counted)
    np.save(folder / "collection_frequency.npy", occurrences)
    np.save(folder / "document_frequency.npy", in_texts)
    counts = {"texts": len(texts), "tokens": sum(map(len, counted))}
    (folder / "counts.json").write_text(json.dumps(counts), encoding="utf-8")
    return folder


SETS = {  # options that PROP and B-PROP share
    "pairs": 1,
    "set_size_mean": 3.0,
    "set_size": "positive",
    "set_most_tokens": 16,
    "ties": "second",
    "resample": "once",
    "word_counts": "rarest-piece",
    "similarity": "dot",
    "scores": "pair-softmax",
    "margin": 1.0,
    "weight": 1.0,
    "contrastive_input": "masked",
    "mlm_reduction": "mean",
    "masking": {"rate": 0.15, "mask": 0.8, "random": 0.1, "unit": "whole-word", "most": 60},
    "set_words": "letters",
    "skip_share": 0.0,
    "skip_below": 0,
    "fewest_words": 0,
    "length": 512,
    "seed": 7,
}
