"""The tokens that the encoder and the decoder do not see (§3.1, Mask of Eq. 1)."""

import dataclasses
from collections.abc import Sequence
from functools import partial

import numpy as np
import torch

from papers.baselines.segments import pair_segments
from papers.baselines.whole_words import UNITS, WholeWords, covered
from repro.errors import UsageError, check_known
from repro.retrieval.nn.text import frame_texts, side_by_side

SUPERSETS = ("union", "exact")
SMALLEST = 1e-4  # the released code masks nothing more for the decoder below this rate


@dataclasses.dataclass(frozen=True)
class Masks:
    """The settings for masking a text twice. The decoder's mask contains the encoder's.

    Attributes:
        encoder_rate, decoder_rate: p_enc and p_dec, 0.3 and 0.5 in Table 11, with p_enc <= p_dec.
        unit: reading ``masking-unit``: ``whole-word``, a fixed quota of each text in whole words, or
            ``bernoulli``, every token independently, as printed.
        superset: reading ``decoder-mask``: ``union`` of the encoder's mask and an independent one of rate
            (p_dec - p_enc) / (1 - p_enc), or ``exact``, further words until p_dec's own quota is met. For
            independent tokens, which have no quota, the two are the same.
        mask, random: reading ``generator-input``: the shares of the chosen tokens that become [MASK], and
            that become a random token of the vocabulary. The others are unchanged.

    Raises UsageError for values that no mask can have.
    """

    encoder_rate: float
    decoder_rate: float
    unit: str
    superset: str
    mask: float
    random: float

    def __post_init__(self):
        check_known("masking unit", self.unit, valid=UNITS)
        check_known("way to a decoder's mask", self.superset, valid=SUPERSETS)
        if not 0 <= self.encoder_rate <= self.decoder_rate <= 1:
            raise UsageError(
                f"the encoder's rate {self.encoder_rate!r} and the decoder's {self.decoder_rate!r} have to be"
                " in 0..1, and the first not above the second, as the decoder's mask contains the encoder's"
            )

    @property
    def further_rate(self) -> float:
        """The rate of an independent mask that makes the union with the encoder's have rate p_dec."""
        if self.decoder_rate == self.encoder_rate:
            return 0.0
        return (self.decoder_rate - self.encoder_rate) / (1 - self.encoder_rate)

    def chosen(
        self,
        input_ids: np.ndarray,
        lengths: np.ndarray,
        *,
        words: WholeWords,
        generators: Sequence[np.random.Generator],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return two masks of N texts end to end: the tokens hidden from the encoder, and those hidden from
        the decoder.

        ``input_ids`` is (T,), with [CLS] and [SEP]. ``lengths`` and ``generators`` have one entry per text.
        Returns two (T,) bool, without special tokens, the second a superset of the first.
        """
        draw = partial(words.drawn, input_ids, lengths, unit=self.unit, generators=generators)
        encoder = draw(rate=self.encoder_rate)
        if self.further_rate <= SMALLEST:
            return encoder, encoder
        if self.unit == "whole-word" and self.superset == "exact":
            own = words.chosen(
                input_ids, lengths, rate=self.decoder_rate, generators=generators, already=encoder
            )
            return encoder, encoder | own
        return encoder, encoder | draw(rate=self.further_rate)


def twice_masked(
    texts: Sequence[np.ndarray],
    *,
    tokenizer,
    words: WholeWords,
    masks: Masks,
    generators: Sequence[np.random.Generator],
) -> dict[str, torch.Tensor]:
    """Return a batch of token lists, framed by [CLS] and [SEP]: unmasked, and masked for encoder and decoder.

    Args:
        texts: N of (n,), without special tokens around. A [SEP] separates title and text.
        tokenizer: gives the special tokens.
        words: the words of its vocabulary.
        masks: how to mask.
        generators: one for each text, so that its masks do not depend on the batch it is in.

    Returns, all (N, L): ``clean_ids``, ``attention_mask``, ``segments``, ``encoder_ids`` and ``decoder_ids``
    int64, ``encoder_chosen`` and ``decoder_chosen`` bool, True at tokens hidden from that side, and
    ``special`` bool, True at special tokens and padding.
    """
    clean, lengths = frame_texts(texts, tokenizer)
    encoder, decoder = masks.chosen(clean, lengths, words=words, generators=generators)
    hide = partial(covered, tokenizer=tokenizer, mask=masks.mask, random=masks.random, generators=generators)
    encoder_ids = decoder_ids = hide(clean, lengths, encoder)
    if decoder is not encoder:
        decoder_ids = hide(clean, lengths, decoder)
    pad = tokenizer.pad_token_id
    columns = {
        "clean_ids": (clean, pad),
        "encoder_ids": (encoder_ids, pad),
        "encoder_chosen": (encoder, False),
        "decoder_ids": (decoder_ids, pad),
        "decoder_chosen": (decoder, False),
        "special": (words.special[clean], True),
        # reading: pretraining-input
        "segments": (pair_segments(clean, lengths, separator=tokenizer.sep_token_id), 0),
    }
    return side_by_side(columns, lengths)


class TwiceMasked:
    """Collates examples by ``twice_masked``, cut to ``length`` tokens with [CLS] and [SEP]. A text's masks
    depend on (seed, epoch, index) only."""

    def __init__(self, tokenizer, masks: Masks, *, length: int, seed: int):
        self.tokenizer, self.words, self.masks = tokenizer, WholeWords.of(tokenizer), masks
        self.length, self.seed = length, seed

    def __call__(self, examples: list[dict]) -> dict[str, torch.Tensor]:
        return twice_masked(
            [np.asarray(example["input_ids"])[: self.length - 2] for example in examples],
            tokenizer=self.tokenizer,
            words=self.words,
            masks=self.masks,
            generators=[np.random.default_rng((self.seed, row["epoch"], row["index"])) for row in examples],
        )
