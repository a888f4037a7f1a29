"""Pre-training by contrastive span prediction and masked language modelling (§3.2-3.3)."""

from functools import partial
from pathlib import Path

import numpy as np
import torch

from papers.costa.group_contrastive import group_contrastive
from papers.costa.spans import (
    GRANULARITIES,
    ROUNDINGS,
    SHORT_TEXTS,
    STARTS,
    STOP_WORDS,
    UNITS,
    sampled_spans,
)
from repro.errors import UsageError, check_known
from repro.retrieval.nn.checkpoint import MaskedModel, Tokenizer
from repro.retrieval.nn.contrastive import check_similarity
from repro.retrieval.nn.encoder import Projector, span_means
from repro.retrieval.nn.masked_tokens import Masking, mlm_loss, mlm_rows
from repro.retrieval.nn.objectives import BatchLoss, MaskedPretraining, with_head
from repro.retrieval.nn.precision import on_host
from repro.retrieval.nn.text import Words

SPANS, MASKS = 0, 1  # streams of random numbers


class ContrastiveSpans(MaskedPretraining, BatchLoss):
    """COSTA: L_total = lambda L_GWC + L_MLM, with one encoder, and a projector on the text's [CLS] only.

    Choices that the paper leaves open are options named after their readings, e.g. ``mlm-head``. A text's
    spans depend on (seed, index), and on the epoch if ``resample`` is ``epoch``. Its mask always depends on
    (seed, epoch, index).

    Args, with those of ``MaskedPretraining`` (with a WordPiece tokenizer):
        temperature, similarity, reduction: those of Eq. 8. ``reduction`` applies to Eq. 9 too.
        weight: lambda.
        spans: granularity (word, phrase, sentence, paragraph) -> T, the number of spans.
        span_tokens: granularity, except word -> [l_min, l_max].
        beta: [alpha, beta] of Eq. 1.
        rounding: see ``span_lengths``.
        spans_reach_sep: whether a span other than a word may include the closing [SEP].
        projector: ``nonlinear`` (Eq. 5), ``linear`` or ``none``, always learnt from scratch.
        projector_layers: 1 or 2, of the nonlinear one (reading: projector-layers).
        contrastive_input: ``masked``, Eqs. 4-8 on the text as masked for Eq. 9, or ``clean``, in a pass
            of its own.
        resample: ``once`` or ``epoch``.
        start, short_text, span_unit, stop_words_left_out: see ``sampled_spans``.
        mlm_head: ``checkpoint``, the model's own, or ``new`` (reading: mlm-head).
        stop_words: words that are never a word-level span.
        seed: the seed of spans and masks. The projector's weights come from torch's generator.
    """

    name = "costa"
    version = 1

    def __init__(
        self,
        model: MaskedModel,
        tokenizer: Tokenizer,
        *,
        temperature: float,
        weight: float,
        spans: dict[str, int],
        span_tokens: dict[str, list[int]],
        beta: list[float],
        rounding: str,
        spans_reach_sep: bool,
        projector: str,
        projector_layers: int,
        contrastive_input: str,
        resample: str,
        start: str,
        short_text: str,
        similarity: str,
        reduction: str,
        masking: Masking,
        mlm_head: str,
        stop_words: list[str],
        length: int,
        seed: int,
        span_unit: str = "pieces",
        stop_words_left_out: str = "before",
    ):
        super().__init__()
        _check_granularities(spans, span_tokens)
        check_known("contrastive input", contrastive_input, valid=("masked", "clean"))
        check_known("resampling", resample, valid=("once", "epoch"))
        check_known("rounding", rounding, valid=tuple(ROUNDINGS))
        check_known("span start", start, valid=STARTS)
        check_known("treatment of short texts", short_text, valid=SHORT_TEXTS)
        check_known("unit of spans", span_unit, valid=UNITS)
        check_known("time to leave out stop words", stop_words_left_out, valid=STOP_WORDS)
        check_known("reduction", reduction, valid=("mean", "sum"))
        self.encoder, self.tokenizer = with_head(model, mlm_head), tokenizer
        self.projector = Projector.of(model.config, projector, layers=projector_layers)
        self.reduction = reduction
        similarity = check_similarity(similarity)
        self.contrast = partial(
            group_contrastive, temperature=temperature, similarity=similarity, reduction=reduction
        )
        self.weight, self.clean, self.spans_reach_sep = weight, contrastive_input == "clean", spans_reach_sep
        self.each_epoch, self.masking, self.length, self.seed = resample == "epoch", masking, length, seed
        self.sampled = partial(
            sampled_spans,
            words=Words.of(tokenizer, stop_words),
            counts=spans,
            bounds={name: _bounds(*tokens) for name, tokens in span_tokens.items()},
            beta=(beta[0], beta[1]),
            rounding=rounding,
            start=start,
            short_text=short_text,
            unit=span_unit,
            stop_words=stop_words_left_out,
        )

    def collate(self, examples: list[dict]) -> dict[str, torch.Tensor]:
        """Return ``clean_ids``, ``masked_ids``, ``labels`` and ``attention_mask`` of N token rows, (N, L),
        with ``spans``, (N, S, 2), and ``span_mask``, (N, S)."""
        texts = self.texts(examples)
        generators = self.generators(examples, SPANS, each_epoch=self.each_epoch)
        sep = [self.tokenizer.sep_token_id] if self.spans_reach_sep else []
        reach = [np.append(text, sep).astype(np.int64) for text in texts] if sep else texts
        drawn, there = self.sampled(reach, generators=generators)
        arrays = {"spans": drawn + there[..., None], "span_mask": there}  # [CLS] takes position 0
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        return self.masked(texts, self.generators(examples, MASKS)) | tensors

    def represent(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return the representations of a part of a batch: the keys of ``mlm_rows()``, ``texts``, (N, H), by
        Eq. 6, ``spans``, (N, S, H), by Eq. 7, and ``span_mask``."""
        hidden = self.hidden(batch["masked_ids"], batch["attention_mask"])  # (N, L, H)
        mlm = mlm_rows(hidden, self.encoder.cls, batch["labels"])
        if self.clean and on_host(batch["span_mask"]).any():
            hidden = self.hidden(batch["clean_ids"], batch["attention_mask"])
        return mlm | {
            "texts": self.projector(hidden[:, 0]),  # Eqs. 5-6
            "spans": span_means(hidden, batch["spans"]),  # Eq. 7
            "span_mask": batch["span_mask"],
        }

    def losses(self, represented: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return the losses ``mlm`` (Eq. 9) and ``contrastive`` (lambda times Eq. 8). A loss without data is
        absent."""
        losses = mlm_loss(represented, reduction=self.reduction)
        if on_host(represented["span_mask"]).any():
            texts, spans, mask = (represented[name] for name in ("texts", "spans", "span_mask"))
            losses["contrastive"] = self.weight * self.contrast(texts, spans, mask)
        return losses

    def save(self, folder: Path) -> None:
        """Save the encoder with its masked-language head, and the projector."""
        super().save(folder)
        self.projector.save(folder, encodes=False)


def _check_granularities(spans: dict[str, int], span_tokens: dict[str, list[int]]) -> None:
    check_known("granularity", *spans, *span_tokens, valid=GRANULARITIES)
    if not sum(spans.values()):
        raise UsageError("there is no granularity with a span. Give at least one in spans, e.g. {'word': 5}.")
    for granularity in spans:
        if granularity != "word" and granularity not in span_tokens:
            raise UsageError(f"there are no bounds in tokens for {granularity!r} spans. Give span_tokens.")


def _bounds(shortest: int, longest: int) -> tuple[int, int]:
    # A scale shrinks both in proportion to the length of a text, but a span keeps one token.
    shortest = max(1, int(shortest))
    return shortest, max(shortest, int(longest))
