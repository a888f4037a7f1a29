"""B-PROP as a bi-encoder: PROP with word sets drawn by BERT's own attention."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from papers.baselines.cls_attention import ClsAttention
from papers.baselines.collection_words import CollectionWords
from papers.baselines.contrastive_term_distribution import (
    check_contrast,
    contrastive_term_scores,
    word_attention,
)
from papers.baselines.word_set_preference import PreferenceLoss
from papers.baselines.word_set_pretraining import ShortTexts, TextMasks
from papers.baselines.word_sets import RESAMPLINGS, SetSampling, set_arrays
from repro.errors import UsageError, check_known
from repro.retrieval.nn.checkpoint import MaskedModel, Tokenizer
from repro.retrieval.nn.masked_tokens import IGNORED
from repro.retrieval.nn.objectives import MaskedPretraining
from repro.retrieval.nn.precision import copied, on_host
from repro.retrieval.nn.text import Words, distinct, padded

SETS, MASKS, SKIPS = 0, 1, 2  # streams of random numbers
PIECES = ("first", "sum")
NORMALISATIONS = ("all", "drawable")


class ContrastiveTermWords(MaskedPretraining):
    """B-PROP: L = weight L_ROP + L_MLM, PROP with another distribution over a text's words (COSTA §4.3.2).

    The words of a text are drawn from softmax(c / T), with c of ``contrastive_term_scores`` on the attention
    of [CLS] in the last layer of the unchanged starting model. Of two sets the one with the higher sum of c
    is preferred. COSTA only states that the distribution comes from that attention. Every other choice is an
    option named after its reading. The attention of a random text is taken from the words' counts in the
    collection (reading: b-prop-random-distribution).

    A text's sets depend on (seed, index), and on the epoch if ``resample`` is ``epoch``. Its mask always
    depends on (seed, epoch, index). The sets are drawn in ``forward``, on the unmasked text.

    Args, with those of ``MaskedPretraining`` (with a WordPiece tokenizer):
        pairs, set_size_mean, set_size, repeats, ties: see ``SetSampling``.
        masking: see ``TextMasks``.
        set_most_tokens: the maximum number of tokens of a set, without [CLS] and [SEP].
        resample: ``once`` or ``epoch``.
        pieces: whether a word's attention is that of its ``first`` piece or the ``sum`` over its pieces.
        saturation, contrast: see ``contrastive_term_scores``.
        temperature: T.
        collection, word_counts: the random distribution, see ``CollectionWords``.
        similarity, scores, margin, weight, contrastive_input, mlm_reduction: see ``PreferenceLoss``.
        stop_words: words that are never in a set.
        set_words: ``letters`` for words of letters only, or ``words``, see ``Words.of``.
        normalise_over: ``all``, words, marks, [CLS] and [SEP], or the ``drawable`` words (reading:
            b-prop-normalisation).
        skip_share, skip_below, fewest_words: see ``ShortTexts``. A skipped text contributes to no loss.
        statistics: folder of term statistics over the training texts.
        seed: the seed of sets and masks.
    """

    name = "b-prop"
    version = 2

    def __init__(
        self,
        model: MaskedModel,
        tokenizer: Tokenizer,
        *,
        pairs: int,
        set_size_mean: float,
        set_size: str,
        set_most_tokens: int,
        repeats: bool,
        ties: str,
        resample: str,
        pieces: str,
        saturation: float | None,
        contrast: str,
        temperature: float,
        collection: str,
        word_counts: str,
        similarity: str,
        scores: str,
        margin: float,
        weight: float,
        contrastive_input: str,
        mlm_reduction: str,
        masking: dict[str, Any],
        stop_words: list[str],
        set_words: str,
        normalise_over: str,
        skip_share: float,
        skip_below: int,
        fewest_words: int,
        statistics: Path,
        length: int,
        seed: int,
    ):
        super().__init__()
        check_known("resampling", resample, valid=RESAMPLINGS)
        check_known("attention of a word in pieces", pieces, valid=PIECES)
        check_known("normalisation of attention", normalise_over, valid=NORMALISATIONS)
        if temperature <= 0:
            raise UsageError(f"the temperature is {temperature}. Give a number above 0.")
        self.encoder, self.tokenizer = model, tokenizer
        self.cls_attention = ClsAttention(model)
        self.loss = PreferenceLoss(similarity, scores, margin, weight, contrastive_input, mlm_reduction)
        self.sampling = SetSampling(pairs, set_size_mean, set_size, repeats, ties)
        self.short, self.masks = ShortTexts(skip_share, skip_below, fewest_words), TextMasks(**masking)
        self.words, self.over_all = Words.of(tokenizer, stop_words, kind=set_words), normalise_over == "all"
        self.counted = Words.of(tokenizer, [], kind="marks") if self.over_all else self.words
        self.collection = CollectionWords.of(
            statistics, self.counted, counts=collection, word_counts=word_counts
        )
        self.pieces, self.saturation, self.contrast = pieces, saturation, check_contrast(contrast)
        self.temperature, self.set_most_tokens = temperature, set_most_tokens
        self.each_epoch, self.length, self.seed = resample == "epoch", length, seed

    def collate(self, examples: list[dict]) -> dict[str, torch.Tensor]:
        """Return ``clean_ids``, ``masked_ids``, ``labels`` and ``attention_mask`` of N token rows, (N, L),
        and arrays of the W distinct words of each text.

        ``token_words``, (N, L): the number of the word that a token counts for, or -1. ``word_spans``,
        (2, N, W): first token and one past the last of a word's first occurrence in ``clean_ids``, both 0 for
        a word that cannot be drawn. ``word_counted``, (N, W): whether the word counts in the normalisation.
        ``word_shares``, (N, W): P(w|C). ``places``, (N, 2): epoch and index. ``read``, (N,): False for a
        skipped text.
        """
        texts = self.texts(examples)
        token_words, firsts, shares = zip(*(self._words(text) for text in texts), strict=True)
        spans = [padded([first[:, side] for first in firsts], value=0) for side in (0, 1)]
        word_shares = torch.ones(spans[0].shape)
        for place, share in enumerate(shares):
            word_shares[place, : len(share)] = torch.from_numpy(share)
        batch = self.masks.masked(texts, self.tokenizer, self.generators(examples, MASKS))
        to_draw = [
            (len(text), int((first[:, 1] > 0).sum())) for text, first in zip(texts, firsts, strict=True)
        ]
        skips = zip(to_draw, self.generators(examples, SKIPS), strict=True)
        read = torch.tensor([not self.short.skipped(*sizes, generator=skip) for sizes, skip in skips])
        batch["labels"][~read] = IGNORED
        return batch | {
            "token_words": padded(token_words, value=-1),
            "word_spans": torch.stack(spans),
            "word_counted": padded([np.ones(len(first)) for first in firsts], value=0).bool(),
            "word_shares": word_shares,
            "places": torch.tensor([(example["epoch"], example["index"]) for example in examples]),
            "read": read,
        }

    def forward(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return ``mlm`` and ``preference`` (the weight times L_ROP). A loss without data is absent."""
        drawn = "pair_mask" in batch  # by denominators
        return self.loss.losses(self.encoder, batch if drawn else batch | self.word_sets(batch))

    def denominators(self, batch: dict[str, torch.Tensor]) -> dict[str, int | None]:
        """Return loss name -> the number that its mean is over (see ``PreferenceLoss``). Also draws the word
        sets and adds them to ``batch`` for ``forward``."""
        batch |= self.word_sets(batch)
        return self.loss.denominators(batch)

    def word_sets(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Draw the word sets of a batch. Return ``set_ids``, ``set_attention_mask`` and ``pair_mask``, see
        ``set_arrays``, on the batch's device."""
        attention = self.cls_attention(batch["clean_ids"], batch["attention_mask"])  # (N, L)
        there = batch["word_spans"][1] > 0  # (N, W)
        attention = word_attention(attention, batch["token_words"], words=there.shape[1])  # (N, W)
        contrasts = contrastive_term_scores(
            attention,
            batch["word_shares"],
            there,
            saturation=self.saturation,
            contrast=self.contrast,
            counted=batch["word_counted"],
        )
        pairs, pieces = [], []
        spans, rows = on_host(batch["word_spans"]), (batch["clean_ids"], batch["places"], batch["read"])
        numbers = (contrasts.double().cpu(), *spans, *map(on_host, rows))
        for c, a, b, ids, (epoch, index), read in zip(*(one.numpy() for one in numbers), strict=True):
            words = [ids[i:j] for i, j in zip(a.tolist(), b.tolist(), strict=True) if j > 0]
            c = c[b > 0] if read else c[:0]
            generator = np.random.default_rng((self.seed, SETS, epoch if self.each_epoch else 0, index))
            pairs.append(self.sampling.drawn(c / self.temperature, c, generator=generator))
            pieces.append(words)
        sets = set_arrays(pairs, pieces, tokenizer=self.tokenizer, most=self.set_most_tokens)
        return {name: copied(array, there.device) for name, array in sets.items()}

    def _words(self, text: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return three arrays on the W words that count in a text, for the text framed by [CLS] and [SEP].

        They are the number of the word that each token counts for, (n + 2,), or -1, the first token of each
        word's first occurrence and one past its last, (W, 2), zeros if the word cannot be drawn, and P(w|C)
        of each word, (W,), at most 1.
        """
        spans = self.counted.spans(text)
        first, numbers = distinct(text, spans)
        token_words = np.full(len(text) + 2, -1)
        for (start, end), word in zip((spans + 1).tolist(), numbers.tolist(), strict=True):
            token_words[start : start + 1 if self.pieces == "first" else end] = word
        shares = np.minimum(self.collection.probabilities([text[a:b] for a, b in first.tolist()]), 1.0)
        drawable = np.isin(first[:, 0], self.words.spans(text)[:, 0])
        first = np.where(drawable[:, None], first + 1, 0)  # [CLS] takes position 0
        if self.over_all:
            token_words[[0, -1]] = len(first), len(first) + 1
            first, shares = np.append(first, [[0, 0], [0, 0]], axis=0), np.append(shares, [1.0, 1.0])
        return token_words, first, shares
