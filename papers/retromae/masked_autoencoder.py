"""RetroMAE's pre-training: a one-layer decoder reconstructs a text from its [CLS] vector and few tokens
(§3)."""

from typing import Any

import numpy as np
import torch
from torch.nn import functional

from papers.baselines.bottleneck_decoder import BottleneckDecoder
from papers.baselines.whole_words import UNITS, WholeWords, covered
from repro.errors import UsageError, check_known
from repro.retrieval.nn.checkpoint import MaskedModel, Tokenizer
from repro.retrieval.nn.masked_tokens import (
    IGNORED,
    divisor,
    labelled,
    values_at,
    vocabulary_loss,
)
from repro.retrieval.nn.objectives import MaskedPretraining
from repro.retrieval.nn.text import frame_texts, inner_tokens, side_by_side

DECODERS = ("enhanced", "basic")


class MaskedAutoEncoder(MaskedPretraining):
    """L = L_enc + L_dec (Algorithm 1), cross-entropies of tokens, means over those predicted in a batch.

        h = enc(X_enc)[CLS]                                                       (Eq. 1)
        basic:     H = [h, e_1 + p_1, ...] of X_dec; L_dec of the tokens masked in X_dec    (Eqs. 2, 3)
        enhanced:  H1 = [h + p_0, h + p_1, ...], H2 = [h, e_1 + p_1, ...] of X;
                   A = softmax(Q(H1) K(H2)' / sqrt(d) + M) V(H2); L_dec of all tokens of X  (Eqs. 4-6)

    Row i of M lets position i see position 0, except for i = 0, and a random sample of the other positions
    without i (Eq. 7). L_enc is BERT's masked language modelling of X_enc. One language head serves both. e_i
    + p_i are BERT's embeddings of a token, after their LayerNorm (reading: decoder-embeddings). A text's
    masks depend on (seed, epoch, index).

    Args, with those of ``MaskedPretraining``:
        decoder: ``enhanced`` or ``basic``.
        decoder_layers: the number of transformer layers, with new weights from torch's generator. 1 if
            enhanced.
        encoder_rate, decoder_rate: the shares of tokens that the encoder and the decoder do not see.
        unit: ``whole-word`` or ``bernoulli``, every token independently (reading: masking-unit).
        masking: {mask, random}: the replacements of a token hidden from the encoder or the basic decoder.
        contexts: the number of samples that the rows of a text's M choose from. None draws a sample for each
            row (reading: decoder-contexts).

    Raises UsageError for unknown values, an enhanced decoder of several layers, or ``contexts`` below 1.
    """

    name = "retromae"
    version = 1

    def __init__(
        self,
        model: MaskedModel,
        tokenizer: Tokenizer,
        *,
        decoder: str,
        decoder_layers: int,
        encoder_rate: float,
        decoder_rate: float,
        unit: str,
        masking: dict,
        contexts: int | None,
        length: int,
        seed: int,
    ):
        super().__init__()
        check_known("decoder", decoder, valid=DECODERS)
        check_known("masking unit", unit, valid=UNITS)
        self.enhanced, self.unit = decoder == "enhanced", unit
        if self.enhanced and decoder_layers != 1:
            raise UsageError(f"an enhanced decoder has one layer, not {decoder_layers}. Give decoder: basic.")
        if contexts is not None and contexts < 1:
            raise UsageError(f"{contexts} samples of context leave no context. Give at least 1, or None.")
        self.encoder, self.tokenizer, self.words = model, tokenizer, WholeWords.of(tokenizer)
        self.decoder = BottleneckDecoder.new(model.config, layers=decoder_layers)
        self.rates, self.shares, self.contexts = (encoder_rate, decoder_rate), masking, contexts
        self.length, self.seed = length, seed

    def collate(self, examples: list[dict]) -> dict[str, torch.Tensor]:
        """Return ``encoder_ids``, ``encoder_labels``, ``decoder_ids``, ``decoder_labels`` and
        ``attention_mask`` of N token rows, (N, L) int64. An enhanced decoder also gets ``visible``, M as (N,
        L, L) bool: [n, i, j] is True if row i sees j."""
        ids, lengths = frame_texts(self.texts(examples), self.tokenizer)
        generators, pad = self.generators(examples), self.tokenizer.pad_token_id
        masked, labels = self._masked(ids, lengths, generators, rate=self.rates[0])
        columns = {"encoder_ids": (masked, pad), "encoder_labels": (labels, IGNORED)}
        if self.enhanced:
            read, labels = ids, np.where(inner_tokens(lengths), ids, IGNORED)
        else:
            read, labels = self._masked(ids, lengths, generators, rate=self.rates[1])
        columns |= {"decoder_ids": (read, pad), "decoder_labels": (labels, IGNORED)}
        batch = side_by_side(columns, lengths)
        if self.enhanced:
            batch["visible"] = torch.zeros(*batch["decoder_ids"].shape, max(lengths), dtype=torch.bool)
            batch["visible"][:, :, 0] = True  # also in rows of padding, because a softmax must not be empty
            texts = np.split(ids, np.cumsum(lengths)[:-1])
            for n, (text, generator) in enumerate(zip(texts, generators, strict=True)):
                shown = torch.from_numpy(self._visible(text, generator))
                batch["visible"][n, : len(text), : len(text)] = shown
        return batch

    def forward(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return the losses ``encoder`` and ``decoder``. A loss without a token to predict is absent."""
        hidden = self.hidden(batch["encoder_ids"], batch["attention_mask"])  # (N, L, H)
        states, losses = {"encoder": hidden}, {}
        if self.enhanced:
            states["decoder"] = self.enhanced_states(hidden[:, 0], batch)
        else:
            states["decoder"] = self.decoder(self.inputs(hidden[:, 0], batch), batch["attention_mask"])
        for side, some in states.items():
            labels = batch[f"{side}_labels"]  # (N, L)
            places = labelled(labels)
            if len(places):
                wanted = values_at(some, places), self.encoder.cls, values_at(labels, places)
                losses[side] = vocabulary_loss(*wanted, reduction="mean")
        return losses

    def denominators(self, batch: dict[str, torch.Tensor]) -> dict[str, int | None]:
        """Return the number of predicted tokens that each loss is a mean over."""
        return {side: divisor(batch[f"{side}_labels"], reduction="mean") for side in ("encoder", "decoder")}

    def inputs(self, h_cls: torch.Tensor, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return H of Eq. 2, which is H2 of Eq. 4: h instead of [CLS], then the tokens' embeddings, (N, L,
        H)."""
        embedded = self.encoder.base_model.embeddings(input_ids=batch["decoder_ids"])  # (N, L, H)
        return torch.cat((h_cls.unsqueeze(1).to(embedded.dtype), embedded[:, 1:]), dim=1)

    def enhanced_states(self, h_cls: torch.Tensor, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the states by Eqs. 4 and 5, (N, L, H), from [CLS] vectors, (N, H), and the whole texts."""
        layer: Any = self.decoder.layers[0]
        context = self.inputs(h_cls, batch)  # H2
        positions = self.encoder.base_model.embeddings.position_embeddings.weight[: context.shape[1]]
        queries = h_cls.unsqueeze(1) + positions  # H1, (N, L, H)
        attention = layer.attention.self
        drop = attention.dropout.p if self.training else 0.0
        q, k, v = (
            some.unflatten(-1, (attention.num_attention_heads, -1)).transpose(1, 2)  # (N, heads, L, d)
            for some in (attention.query(queries), attention.key(context), attention.value(context))
        )
        shown = batch["visible"].unsqueeze(1)  # (N, 1, L, L)
        seen = functional.scaled_dot_product_attention(q, k, v, attn_mask=shown, dropout_p=drop)
        attended = layer.attention.output(seen.transpose(1, 2).flatten(2), queries)  # A is added to H1
        return layer.output(layer.intermediate(attended), attended)

    def _masked(
        self, ids: np.ndarray, lengths: np.ndarray, generators: list[np.random.Generator], *, rate: float
    ) -> tuple[np.ndarray, np.ndarray]:
        chosen = self.words.drawn(ids, lengths, unit=self.unit, rate=rate, generators=generators)
        hidden = covered(ids, lengths, chosen, tokenizer=self.tokenizer, generators=generators, **self.shares)
        return hidden, np.where(chosen, ids, IGNORED)

    def _visible(self, text: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return M of one text (Eq. 7): (L,) to (L, L) bool."""
        length = len(text)
        count = length if self.contexts is None else min(length, self.contexts)
        hidden = self.words.drawn(
            np.tile(text, count),
            [length] * count,
            unit=self.unit,
            rate=self.rates[1],
            generators=[generator] * count,
        ).reshape(count, length)
        rows = np.arange(length) if self.contexts is None else generator.integers(0, count, length)
        visible = ~hidden[rows]
        np.fill_diagonal(visible, False)
        return visible
