"""PROP as a bi-encoder: pre-training by representative words prediction and masked language modelling."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from papers.baselines.collection_words import CollectionWords
from papers.baselines.word_set_preference import PreferenceLoss
from papers.baselines.word_set_pretraining import ShortTexts, TextMasks
from papers.baselines.word_sets import RESAMPLINGS, SetSampling, set_arrays
from repro.errors import UsageError, check_known, unknown
from repro.retrieval.nn.checkpoint import MaskedModel, Tokenizer
from repro.retrieval.nn.masked_tokens import IGNORED
from repro.retrieval.nn.objectives import MaskedPretraining
from repro.retrieval.nn.text import Words, distinct

SETS, MASKS, SKIPS = 0, 1, 2  # streams of random numbers
AVERAGE = "average"


class RepresentativeWords(MaskedPretraining):
    """PROP: L = weight L_ROP + L_MLM. L_ROP prefers the likelier of two word sets (COSTA §4.3.2, §4.5.1).

    The sets come from the text's unigram language model with Dirichlet smoothing,

        P(w|d) = (tf(w, d) + mu P(w|C)) / (|d| + mu)

    over words that are not stop words. The likelier set has the higher product of P(w|d). Text and set are
    encoded separately, with one [CLS] vector each. The papers state no more. Every other choice is an option
    named after its reading, with PROP's released code (a cross-encoder) as evidence.

    A text's sets depend on (seed, index), and on the epoch if ``resample`` is ``epoch``. Its mask always
    depends on (seed, epoch, index).

    Args, with those of ``MaskedPretraining`` (with a WordPiece tokenizer):
        pairs, set_size_mean, set_size, repeats, ties: see ``SetSampling``.
        masking: see ``TextMasks``.
        set_most_tokens: the maximum number of tokens of a set, without [CLS] and [SEP].
        resample: ``once`` or ``epoch``.
        smoothing: mu, or ``average``, the mean number of words in a text (reading: prop-smoothing).
        collection, word_counts: P(w|C), see ``CollectionWords``.
        candidate_words: words to draw from: the text's, filled up to about this many from P(w|C). 0 uses
            the text's only (reading: prop-candidates).
        subsampling: t, with which a word of relative frequency f is drawn min(1, sqrt(t/f) + t/f) times
            as often as P(w|d). Null turns this off (reading: prop-subsampling).
        similarity, scores, margin, weight, contrastive_input, mlm_reduction: see ``PreferenceLoss``.
        stop_words: words that are never in a set.
        set_words: ``letters`` for words of letters only, or ``words``, see ``Words.of``.
        skip_share, skip_below, fewest_words: see ``ShortTexts``. A skipped text contributes to no loss.
        statistics: folder of term statistics over the training texts.
        seed: the seed of sets and masks.
    """

    name = "prop"
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
        smoothing: float | str,
        collection: str,
        word_counts: str,
        candidate_words: int,
        subsampling: float | None,
        similarity: str,
        scores: str,
        margin: float,
        weight: float,
        contrastive_input: str,
        mlm_reduction: str,
        masking: dict[str, Any],
        stop_words: list[str],
        set_words: str,
        skip_share: float,
        skip_below: int,
        fewest_words: int,
        statistics: Path,
        length: int,
        seed: int,
    ):
        super().__init__()
        check_known("resampling", resample, valid=RESAMPLINGS)
        self.encoder, self.tokenizer = model, tokenizer
        self.loss = PreferenceLoss(similarity, scores, margin, weight, contrastive_input, mlm_reduction)
        self.sampling = SetSampling(pairs, set_size_mean, set_size, repeats, ties)
        self.short, self.masks = ShortTexts(skip_share, skip_below, fewest_words), TextMasks(**masking)
        self.words = Words.of(tokenizer, stop_words, kind=set_words)
        self.collection = CollectionWords.of(
            statistics, self.words, counts=collection, word_counts=word_counts
        )
        self.mu = _mu(smoothing, self.collection.words_a_text)
        self.candidate_words, self.subsampling = candidate_words, subsampling
        self.set_most_tokens, self.each_epoch = set_most_tokens, resample == "epoch"
        self.length, self.seed = length, seed

    def collate(self, examples: list[dict]) -> dict[str, torch.Tensor]:
        """Return ``clean_ids``, ``masked_ids``, ``labels`` and ``attention_mask`` of N token rows, (N, L),
        and the arrays of their word sets, see ``set_arrays``."""
        texts, pairs, pieces, skipped = self.texts(examples), [], [], []
        generators = self.generators(examples, SETS, each_epoch=self.each_epoch)
        skips = self.generators(examples, SKIPS)
        for text, generator, skip in zip(texts, generators, skips, strict=True):
            words, likelihoods, log_weights = self.candidates(text, generator=generator)
            drawn = self.sampling.drawn(log_weights, likelihoods, generator=generator)
            own = len(distinct(text, self.words.spans(text))[0])
            skipped.append(self.short.skipped(len(text), own, generator=skip))
            pairs.append([None] * len(drawn) if skipped[-1] else drawn)
            pieces.append(words)
        batch = self.masks.masked(texts, self.tokenizer, self.generators(examples, MASKS))
        batch["labels"][torch.tensor(skipped)] = IGNORED
        return batch | set_arrays(pairs, pieces, tokenizer=self.tokenizer, most=self.set_most_tokens)

    def candidates(
        self, text: np.ndarray, *, generator: np.random.Generator
    ) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        """Return the words that the sets of a text are drawn from, their log P(w|d), and their log-weights in
        the draw.

        Args:
            text: (n,), token ids without special tokens.

        Returns C distinct words as arrays of pieces, the text's own first, and two arrays (C,). Empty for a
        text without a word of its own.
        """
        spans = self.words.spans(text)
        if len(spans) == 0:
            return [], np.zeros(0), np.zeros(0)
        first, numbers = distinct(text, spans)
        words = [text[a:b] for a, b in first.tolist()]
        missing = (
            self.candidate_words - len(words) if self.mu > 0 else 0
        )  # without mu, P(w|d) of further words is 0
        others = self.collection.drawn(missing, generator=generator)
        others = others[~np.isin(others, text[first[:, 0]][first[:, 1] - first[:, 0] == 1])]
        counts = np.append(np.bincount(numbers), np.zeros(len(others)))
        likely = (counts + self.mu * self.collection.probabilities(words, others)) / (len(spans) + self.mu)
        log_weights = np.log(likely)
        if self.subsampling is not None:
            rare = self.subsampling / self.collection.relative_frequencies(words, others)
            log_weights = log_weights + np.log(np.minimum(np.sqrt(rare) + rare, 1))
        return [*words, *others[:, None]], np.log(likely), log_weights

    def forward(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return ``mlm`` and ``preference`` (the weight times L_ROP). A loss without data is absent."""
        return self.loss.losses(self.encoder, batch)

    def denominators(self, batch: dict[str, torch.Tensor]) -> dict[str, int | None]:
        return self.loss.denominators(batch)


def _mu(smoothing: float | str, average: float) -> float:
    if smoothing == AVERAGE:
        return average
    if isinstance(smoothing, str):
        raise unknown("smoothing", smoothing, (AVERAGE, "a number"))
    if smoothing < 0:
        raise UsageError(f"smoothing is {smoothing}. Give {AVERAGE!r} or a number that is not negative.")
    return float(smoothing)
