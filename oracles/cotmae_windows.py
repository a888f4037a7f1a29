"""The tokens that CoT-MAE's first version reads of a pair of spans, and those that it hides.

python -m oracles.cotmae_windows --checkout ir
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import torch

from oracles.cotmae_first_version import CODE, NODES
from oracles.declaration import Compared, Declared, Mutation, main
from oracles.made_up import tokenizer
from oracles.masked_texts import GivenOrder, framed_rows, shuffler
from oracles.older_transformers import OlderTokenizer, older_transformers
from oracles.shims import imported
from oracles.sides import Side, digest
from papers.baselines.whole_words import WholeWords
from papers.cotmae_v2.contexts import Contexts
from papers.cotmae_v2.masked_texts import AnchorsAndContexts, Masking

RATES = {"encoder": 0.3, "decoder": 0.45}
HIDING = {"whole_word": True, "mask": 0.8, "random": 0.1}


@dataclass(frozen=True)
class Draws:
    """The draws for one text on one side, as numpy's generator would give them to ours.

    Attributes:
        text: the whole text, (n,).
        read, marked: where the window that is read begins, and the one whose words are chosen.
        keys: numbers by which words are put in order.
        fate, others: for each token that is read, whether it is hidden and how, and another token.
    """

    text: np.ndarray
    room: int
    read: int
    marked: int
    keys: np.ndarray
    fate: np.ndarray
    others: np.ndarray

    @classmethod
    def of(cls, text: np.ndarray, room: int, generator: np.random.Generator) -> Draws:
        over, length = max(0, len(text) - room), min(room, len(text))
        first, second = (int(generator.integers(over + 1)) for _ in range(2))
        others = generator.integers(0, len(tokenizer()), length)
        keys, fate = generator.random((2, length))
        return cls(text, room, first, second, keys, fate, others)

    def window(self, begin: int) -> np.ndarray:
        """``room`` tokens from there on, or the whole of a shorter text."""
        return self.text[begin : begin + self.room]


class Given:
    """A stand-in for one of our generators: it gives the draws of its texts, in their order."""

    def __init__(self, texts: list[Draws]):
        self.windows = iter(place for draws in texts for place in _windows(draws))
        self.orders = iter(texts)
        self.fates = iter(draws.fate for draws in texts)
        self.others = iter(draws.others for draws in texts)

    def integers(self, low: int, high: int | None = None, size: int | None = None):
        """A window's begin, or tokens."""
        return next(self.windows) if size is None else next(self.others)

    def permutation(self, count: int) -> np.ndarray:
        """Words in the order of their numbers."""
        draws = next(self.orders)
        numbers = WholeWords.of(tokenizer()).numbers(draws.window(draws.marked))
        return GivenOrder(numbers, draws.keys).permutation(count)

    def random(self, size: int) -> np.ndarray:
        """A fate for each token."""
        return next(self.fates)


def _windows(draws: Draws) -> list[int]:
    return [draws.read, draws.marked] if len(draws.text) > draws.room else []


def pairs(inputs: Mapping[str, Any]) -> list[dict[str, list[Draws]]]:
    """The draws of each pair of spans: of both on the encoder's side, and on the decoder's in reverse."""
    how = {"words": tuple(inputs["words"]), "unknown": inputs["unknown"]}
    texts = [row[1:-1] for row in framed_rows(2 * inputs["pairs"], seed=inputs["texts"], **how)]
    generator, room = np.random.default_rng(inputs["draws"]), inputs["length"] - 2
    made = []
    for one, other in zip(texts[::2], texts[1::2], strict=True):
        sides = {"encoder": (one, other), "decoder": (other, one)}
        made.append(
            {side: [Draws.of(text, room, generator) for text in both] for side, both in sides.items()}
        )
    return made


def ours(inputs: Mapping[str, Any]) -> Side:
    """Tokens fed and tokens to predict, of the encoder and the decoder."""
    rows = []
    for pair in pairs(inputs):
        one, other = (draws.text for draws in pair["encoder"])
        how = {"kinds": ["random"], "truncation": "random", "seed": 0}
        contexts = Contexts(room=inputs["length"] - 2, **how)
        contexts.draw = lambda example, count, whole, texts=(one, other): (texts[0], [texts[1]])
        texts = AnchorsAndContexts(
            tokenizer(),
            contexts,
            decoders=["auto_encoding"],
            same_context=False,
            both=True,
            windows="apart",
            encoder=Masking(rate=RATES["encoder"], **HIDING),
            decoder=Masking(rate=RATES["decoder"], **HIDING),
            with_sep=True,
            seed=0,
        )
        generators = iter([Given(pair["encoder"]), Given(pair["decoder"])])
        with mock.patch.object(np.random, "default_rng", lambda key, given=generators: next(given)):
            batch = texts([{"epoch": 0, "index": 0}])
        for side in ("encoder", "auto_encoding"):
            rows += _rows(*(batch[f"{side}_{name}"] for name in ("ids", "labels", "attention")))
    return _side(rows)


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """The batch that ``CotMAECollator`` of cotmae/data.py makes of the same pairs."""
    rows = []
    with older_transformers(), imported(checkout / "cotmae", "data") as (data,):
        collator = data.CotMAECollator(
            OlderTokenizer(tokenizer()),
            max_seq_length=inputs["length"],
            encoder_mask_ratio=RATES["encoder"],
            decoder_mask_ratio=RATES["decoder"],
            data_type="context",
        )
        for pair in pairs(inputs):
            one, other = (draws.text.tolist() for draws in pair["encoder"])
            with _given(collator, [*pair["encoder"], *pair["decoder"]], inputs["length"]):
                batch = collator([{"anchor": one, "context": other}])
            rows += _rows(batch["input_ids"], batch["labels"], batch["attention_mask"])
            decoder = (f"decoder_{name}" for name in ("input_ids", "labels", "attention_mask"))
            rows += _rows(*(batch[name] for name in decoder))
    return _side(rows)


def _given(collator, texts: list[Draws], length: int):
    """Let the collator, which chooses masks before it reads, draw what ours is given."""
    begins = iter(place for draws in texts for place in reversed(_windows(draws)))
    orders = iter(texts)
    collator.rng = SimpleNamespace(
        randint=lambda low, high: next(begins),
        shuffle=lambda words: shuffler(next(orders).keys)(words),
    )
    fates = [_framed([draws.fate for draws in side], length) for side in (texts[:2], texts[2:])]
    others = [_framed([draws.others for draws in side], length) for side in (texts[:2], texts[2:])]
    turn = iter([fates[0] < 0.8, fates[0] < 0.9, fates[1] < 0.8, fates[1] < 0.9])
    tokens = iter(others)
    return mock.patch.multiple(
        torch,
        bernoulli=lambda rates: next(turn).double(),
        randint=lambda high, shape, dtype: next(tokens).to(dtype),
    )


def _framed(rows: list[np.ndarray], length: int) -> torch.Tensor:
    return torch.stack([torch.from_numpy(np.pad(row, (1, length - 1 - len(row)))) for row in rows])


def _rows(ids: torch.Tensor, labels: torch.Tensor, attention: torch.Tensor) -> list[dict[str, list[int]]]:
    lengths = attention.sum(dim=1).tolist()
    return [
        {"ids": fed[:length].tolist(), "labels": wanted[:length].tolist()}
        for fed, wanted, length in zip(ids, labels, lengths, strict=True)
    ]


def _side(rows: list[dict[str, list[int]]]) -> Side:
    return Side(values={"rows": digest(rows)}, compared=sum(2 * len(row["ids"]) for row in rows))


ORACLE = Declared(
    file="cotmae_v2/first_version_windows",
    objective="the texts that CoT-MAE's first version reads and hides",
    code=CODE,
    nodes=NODES,
    cases={
        "longer-than-the-window": Compared(
            "spans of which most are cut, with unknown words",
            {"texts": 25, "draws": 26, "pairs": 8, "length": 24, "words": [8, 40], "unknown": 0.1},
            ours,
            official,
            dtype="",
        ),
    },
    mutations=(
        Mutation("papers.cotmae_v2.masked_texts:Masking.__call__", "& ~special", "| special"),
        Mutation("papers.cotmae_v2.masked_texts:AnchorsAndContexts._rows", "marked=marked", "marked=None"),
    ),
    shims=("an empty DataCollatorForWholeWordMask", "the slow tokenizer's methods over the same vocabulary"),
)

if __name__ == "__main__":
    main(ORACLE)
