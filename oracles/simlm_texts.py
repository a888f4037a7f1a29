"""Titled texts masked twice, by SimLM's released collator and by ours, with the same shuffles of words."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import torch

from oracles import made_up
from oracles.shims import of_transformers_4
from oracles.written import ReleasedCode
from papers.baselines.whole_words import WholeWords
from papers.simlm.masks import Masks, twice_masked
from repro.retrieval.nn.tokens import paired_rows

COMMIT = "768a3c873f598bb9b4d4dfb9267b099e35f8fe56"
FOLDER = "simlm/src"
ABSENT = ("logger_config", "config", "trainers", "trainers.rlm_trainer")
SHIMS = ("the modules for logging, arguments and trainers, of which no formula uses anything, are empty",)


def released(*files: str) -> ReleasedCode:
    """SimLM's code, at the commit that every comparison here is with."""
    return ReleasedCode(
        repository="microsoft/unilm", commit=COMMIT, files=tuple(f"{FOLDER}/{file}" for file in files)
    )


def titled(inputs: Mapping[str, Any]) -> list[dict[str, str]]:
    """The texts: ``texts`` of them, of 4 to ``words`` words, some with words of no vocabulary.

    One in five has a title about as long as a text may be, so that title and text are both cut.
    """
    generator = np.random.default_rng(inputs["seed"])
    lengths = generator.integers(4, inputs["words"], size=inputs["texts"]).tolist()
    return [
        {
            "title": made_up.text(generator, 3 if n % 5 else inputs["length"]),
            "contents": made_up.text(generator, length, unknown=0.05),
        }
        for n, length in enumerate(lengths)
    ]


class Shuffles:
    """The generator of one text's masks, whose shuffles of words are those of ``made_up.order``."""

    def __init__(self, seed: int, text: int):
        self.seed, self.text, self.shuffles = seed, text, 0
        self._others = np.random.default_rng((seed, text))

    def permutation(self, count: int) -> np.ndarray:
        self.shuffles += 1
        return np.array(made_up.order(count, seed=(self.seed, self.text, self.shuffles)))

    def __getattr__(self, name: str):
        return getattr(self._others, name)


def ours(inputs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """The batch of ``twice_masked``."""
    tokenizer = made_up.tokenizer()
    rates = {"encoder_rate": inputs["encoder_rate"], "decoder_rate": inputs["decoder_rate"]}
    pairs = zip(*((text["title"], text["contents"]) for text in titled(inputs)), strict=True)
    texts = paired_rows(tokenizer, *pairs, length=inputs["length"])
    rows = [ids[1:-1].astype(np.int64) for ids in texts.each()]
    return twice_masked(
        rows,
        tokenizer=tokenizer,
        words=WholeWords.of(tokenizer),
        masks=Masks(**rates, unit="whole-word", superset="union", mask=1.0, random=0.0),
        generators=[Shuffles(inputs["seed"], n) for n in range(len(rows))],
    )


def official(collators, inputs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """The batch of the released ``DataCollatorForReplaceLM``; ``collators`` is its package."""
    further = inputs["decoder_rate"] > inputs["encoder_rate"]
    calls = iter([(n, k) for n in range(inputs["texts"]) for k in range(1, 3 if further else 2)])

    def shuffle(words: list) -> None:
        words[:] = [words[place] for place in made_up.order(len(words), seed=(inputs["seed"], *next(calls)))]

    args = SimpleNamespace(
        rlm_max_length=inputs["length"],
        rlm_encoder_mask_prob=inputs["encoder_rate"],
        rlm_decoder_mask_prob=inputs["decoder_rate"],
        all_use_mask_token=True,
    )
    collator = collators.DataCollatorForReplaceLM(of_transformers_4(made_up.tokenizer()), args=args)
    with mock.patch.object(collators.collator_utils.random, "shuffle", shuffle):
        return dict(collator(titled(inputs)))


# ours -> the released name; of labels only where they stand
IDS = {"encoder_ids": "enc_input_ids", "decoder_ids": "dec_input_ids", "segments": "enc_token_type_ids"}
IDS |= {"attention_mask": "enc_attention_mask"}
CHOSEN = {"encoder_chosen": "enc_labels", "decoder_chosen": "dec_labels"}


def compared(batch: Mapping[str, torch.Tensor], *, released: bool) -> dict[str, torch.Tensor]:
    """The arrays of a batch that both sides have, under our names."""
    if not released:
        return {name: batch[name] for name in (*IDS, *CHOSEN)} | {"predicted": ~batch["special"]}
    arrays = {name: batch[theirs] for name, theirs in IDS.items()}
    arrays |= {name: batch[theirs] >= 0 for name, theirs in CHOSEN.items()}
    return arrays | {"predicted": batch["labels"] >= 0}
