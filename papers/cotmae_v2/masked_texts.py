"""The texts of a document that encoder and decoders read, and the tokens to predict (§3.2, Eq. 8)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch

from papers.baselines.whole_words import WholeWords, covered
from papers.cotmae_v2.contexts import Contexts
from repro.errors import UsageError
from repro.retrieval.nn.masked_tokens import IGNORED
from repro.retrieval.nn.text import frame_texts, inner_tokens, side_by_side

# of random numbers: the masks and windows of a side do not depend on those of another side
STREAMS = {"encoder": 1, "auto_encoding": 2, "auto_regressive": 3}
WINDOWS = ("shared", "apart")


@dataclasses.dataclass(frozen=True)
class Rows:
    """N concatenated texts, each with [CLS] and [SEP].

    Attributes:
        clean, fed, labels: (T,), the original tokens, the input tokens and the tokens to predict.
        lengths: (N,), tokens of each.
    """

    clean: np.ndarray
    fed: np.ndarray
    labels: np.ndarray
    lengths: np.ndarray

    @classmethod
    def joined(cls, some: Sequence[Rows]) -> Rows:
        """Return the concatenation of several rows."""
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(*(np.concatenate([getattr(rows, name) for rows in some]) for name in names))


@dataclasses.dataclass(frozen=True)
class Masking:
    """Eq. 8: the predicted tokens of a text, and their replacements in the input.

    Attributes:
        rate: the share of chosen tokens (reading ``masking-rates``).
        whole_word: reading ``masking-unit``. True: whole words are chosen until a quota of ``rate`` times the
            tokens between [CLS] and [SEP] is met. False: every token independently with probability ``rate``.
        mask, random: the shares of the chosen tokens that become [MASK], and any token. The rest is kept.

    Raises UsageError for values that no mask can have.
    """

    rate: float
    whole_word: bool
    mask: float
    random: float

    def __post_init__(self):
        if not (0 <= self.rate <= 1 and min(self.mask, self.random) >= 0 and self.mask + self.random <= 1):
            raise UsageError(
                f"the mask rate is {self.rate!r}, the shares are {self.mask!r} and {self.random!r}. The rate "
                "and the sum of the shares have to be in 0..1."
            )

    def __call__(
        self,
        texts: Sequence[np.ndarray],
        *,
        tokenizer,
        words: WholeWords,
        generators: Sequence[np.random.Generator],
        marked: Sequence[np.ndarray] | None = None,
    ) -> Rows:
        """Mask N texts without [CLS] and [SEP], (n,) each. Labels are IGNORED where nothing is predicted.

        Special tokens are not predicted. ``generators`` has one generator per text. With ``marked``, (n,)
        each, words are chosen in these other texts instead, and the tokens at the same positions are hidden.
        """
        inner, sizes = np.concatenate(texts), [len(text) for text in texts]
        unit, special = "whole-word" if self.whole_word else "bernoulli", words.special[inner]
        if marked is not None:  # a special token of the other text counts as a word
            words = dataclasses.replace(words, special=np.zeros_like(words.special))
        source = inner if marked is None else np.concatenate(marked)
        # without the frame: it would count towards the quota
        chosen = words.drawn(source, sizes, unit=unit, rate=self.rate, generators=generators) & ~special
        hidden = covered(
            inner,
            sizes,
            chosen,
            tokenizer=tokenizer,
            mask=self.mask,
            random=self.random,
            generators=generators,
        )
        clean, lengths = frame_texts(texts, tokenizer)
        fed, labels, places = clean.copy(), np.full(len(clean), IGNORED), inner_tokens(lengths)
        fed[places], labels[places] = hidden, np.where(chosen, inner, IGNORED)
        return Rows(clean, fed, labels, lengths)


def causal(texts: Sequence[np.ndarray], tokenizer, *, with_sep: bool) -> Rows:
    """Return texts unmasked, framed by [CLS] and [SEP], with the next token as the label of each token (Eq.
    13).

    Reading ``causal-targets``: whether the last word predicts [SEP]. [SEP] itself predicts nothing.
    """
    ids, lengths = frame_texts(texts, tokenizer)
    ends = np.cumsum(lengths)
    labels = np.append(ids[1:], IGNORED)
    labels[ends - 1] = IGNORED
    if not with_sep:
        labels[ends - 2] = IGNORED
    return Rows(ids, ids, labels, lengths)


class AnchorsAndContexts:
    """Collates examples to texts for the encoder and, for each decoder, texts to reconstruct. Random
    choices depend on (seed, epoch, index) only.

    Args:
        contexts: the sampler of anchors and contexts.
        decoders: the names of the decoders.
        same_context: reading ``decoder-contexts``: whether all decoders get one context, or each its own.
        both: reading ``encoded-texts``: whether contexts are encoded too, and each text is reconstructed from
            the other's vector. Otherwise the anchor is encoded and the context is reconstructed.
        windows: reading ``first-version-windows``. ``shared``: all sides read and mask one window of a long
            text. ``apart``: each side reads a window of its own and chooses its masks in another.
        encoder, decoder: the masking for the encoder, and for the auto-encoding decoder.
        with_sep: whether the auto-regressive decoder predicts the closing [SEP].
        seed: the seed of the masks.
    """

    def __init__(
        self,
        tokenizer,
        contexts: Contexts,
        *,
        decoders: Sequence[str],
        same_context: bool,
        both: bool,
        windows: str,
        encoder: Masking,
        decoder: Masking,
        with_sep: bool,
        seed: int,
    ):
        self.tokenizer, self.words, self.contexts = tokenizer, WholeWords.of(tokenizer), contexts
        self.slots = {name: 1 if same_context else 1 + place for place, name in enumerate(decoders)}
        self.both, self.with_sep, self.seed, self.apart = both, with_sep, seed, windows == "apart"
        self.masking = {"encoder": encoder, "auto_encoding": decoder}

    def __call__(self, examples: list[dict]) -> dict[str, torch.Tensor]:
        """Turn N examples into a batch: arrays for the encoder and for each decoder, (., L) int64. L is the
        length of the longest text on that side.

        ``<side>_clean`` and ``<side>_ids`` are the original and the input tokens, ``<side>_labels`` the token
        predicted at a place or IGNORED, and ``<side>_attention`` is 0 at padding. ``<decoder>_sources`` is,
        for each text to reconstruct, the index of the encoded text that gives its vector. The encoder has the
        N anchors first, then, if they are encoded, the N contexts of each draw.
        """
        count = max(self.slots.values())
        drawn = [self.contexts.draw(example, count, whole=self.apart) for example in examples]
        texts = list(zip(*((anchor, *contexts) for anchor, contexts in drawn), strict=True))
        encoded = range(count + 1) if self.both else range(1)
        batch = self._side("encoder", [texts[slot] for slot in encoded], examples)
        for name, context in self.slots.items():
            pairs = [(0, context), (context, 0)] if self.both else [(0, context)]  # from which, which
            batch |= self._side(name, [texts[rebuilt] for _, rebuilt in pairs], examples)
            sources = [source * len(examples) + n for source, _ in pairs for n in range(len(examples))]
            batch[f"{name}_sources"] = torch.tensor(sources)
        return batch

    def _side(self, side: str, texts: list[Sequence[np.ndarray]], examples: list[dict]) -> dict:
        places = [(STREAMS[side], row["epoch"], row["index"]) for row in examples]
        generators = [np.random.default_rng((self.seed, *place)) for place in places]
        rows = Rows.joined([self._rows(side, slot, generators) for slot in texts])
        pad = self.tokenizer.pad_token_id
        columns = {"clean": (rows.clean, pad), "ids": (rows.fed, pad), "labels": (rows.labels, IGNORED)}
        arrays = side_by_side(columns, rows.lengths)
        arrays["attention"] = arrays.pop("attention_mask")
        return {f"{side}_{name}": array for name, array in arrays.items()}

    def _rows(
        self, side: str, texts: Sequence[np.ndarray], generators: Sequence[np.random.Generator]
    ) -> Rows:
        marked = None
        if self.apart:
            pairs = zip(texts, generators, strict=True)
            windows = [[self.contexts.window(*pair) for _ in range(2)] for pair in pairs]
            texts, marked = zip(*windows, strict=True)
        if side not in self.masking:
            return causal(texts, self.tokenizer, with_sep=self.with_sep)
        own = {"tokenizer": self.tokenizer, "words": self.words, "generators": generators}
        return self.masking[side](texts, marked=marked, **own)
