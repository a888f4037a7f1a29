"""Contextual masked auto-encoding with two views of a text and two decoders (§3.1, §3.2)."""

from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from papers.cotmae_v2.contexts import Contexts
from papers.cotmae_v2.decoders import KINDS, SLOTS, decoded, new_decoder
from papers.cotmae_v2.masked_texts import WINDOWS, AnchorsAndContexts, Masking
from repro.errors import UsageError, check_known
from repro.retrieval.nn.checkpoint import MaskedModel, Tokenizer, save_model
from repro.retrieval.nn.masked_tokens import divisor, labelled, values_at, vocabulary_loss
from repro.retrieval.nn.view_encoder import kept_positions, max_log_saturated

VIEWS = ("dense", "sparse")


class MultiViewAutoEncoder(nn.Module):
    """L = L_enc + L_ae-dec + L_ar-dec (Eq. 14): the vector of one span helps shallow decoders to predict
    another span.

        L_enc    = -sum_{i in M} log p(t_i     | Enc(mask(T)))            (Eq. 9)
        L_ae-dec = -sum_{i in M} log p(t_i     | Dec(mask(v, t_1, …)))    (Eq. 12)
        L_ar-dec = -sum_{i}      log p(t_{i+1} | Dec(v, t_1, …))          (Eq. 13)

    v is DEN, the last [CLS] state (Eqs. 3, 10), or SPR times the word embeddings (Eqs. 4-6, 11), which get no
    gradient there. Each decoder has a loss for each of these vectors. Embeddings and language head are the
    encoder's.

    CoT-MAE's first version (Wu et al. 2022) is this objective with ``views`` [dense], ``decoders``
    [auto_encoding], ``encoded_texts`` both, separate ``windows`` and two layers.

    Args (each named after its reading, if there is one):
        model: BertForMaskedLM, or one with ``base_model`` and ``cls`` like it.
        tokenizer: its tokenizer.
        views: one or both of ``dense``, ``sparse``.
        decoders: one or both of ``auto_encoding``, ``auto_regressive``.
        context_kinds: see ``Contexts`` (reading ``context-selection``).
        truncation: the kept part of texts that are too long: ``random`` or ``head`` (reading
            ``span-truncation``).
        windows: see ``AnchorsAndContexts`` (reading ``first-version-windows``).
        decoder_contexts: ``independent`` draws a context for each decoder, ``same`` draws one for all.
        encoded_texts: ``anchor`` encodes anchors only. ``both`` also encodes contexts, and each of the two is
            reconstructed from the other's vector.
        masking_rates: {encoder, decoder}, of the encoder and of the auto-encoding decoder.
        masking_unit: {whole_word, mask, random}, see ``Masking``.
        view_losses: whether a decoder's loss is the ``sum`` or the ``mean`` of its losses over the views.
        decoder_sharing: whether the views share their decoders.
        bottleneck_slot: ``replace`` or ``prepend``, see ``decoded``.
        decoder_layers: {auto_encoding: kind, auto_regressive: kind, layers}, see ``new_decoder``.
        autoregressive_window: see ``new_decoder``. 0 for none.
        causal_targets: whether the auto-regressive decoder predicts [SEP].
        sparse_positions: {cls, sep}: whether these count in SPR (reading ``sparse-pooling-positions``).
        vocabulary_head: ``transform`` computes Eq. 4 by BERT's masked-language head, ``plain`` without its
            dense layer and LayerNorm. The cross-entropies always use the whole head.
        detached_embeddings: where embeddings get no gradient from SPR: ``projection``, in Eq. 11 only, or
            ``everywhere``, in Eq. 4 too.
        token_loss_reduction: ``mean`` over the predicted tokens of a batch, or ``sum``.
        bottleneck_input: whether v is of the text as ``masked`` for Eq. 9, or ``clean``, in its own pass.
        length: the maximum number of tokens of a text, with [CLS] and [SEP].
        seed: the seed of spans, contexts and masks. The decoders' weights come from torch's generator.

    Raises UsageError for unknown values.
    """

    name = "contextual-autoencoder"
    version = 2
    # passes: two decoders from each view, and heads for the encoder, the sparse view and the decoders

    def __init__(
        self,
        model: MaskedModel,
        tokenizer: Tokenizer,
        *,
        views: list[str],
        decoders: list[str],
        context_kinds: list[str],
        truncation: str,
        windows: str,
        decoder_contexts: str,
        encoded_texts: str,
        masking_rates: dict[str, float],
        masking_unit: dict,
        view_losses: str,
        decoder_sharing: bool,
        bottleneck_slot: str,
        decoder_layers: dict,
        autoregressive_window: int,
        causal_targets: bool,
        sparse_positions: dict[str, bool],
        vocabulary_head: str,
        detached_embeddings: str,
        token_loss_reduction: str,
        length: int,
        seed: int,
        bottleneck_input: str = "masked",
    ):
        super().__init__()
        _check_names("view", views, valid=VIEWS)
        _check_names("decoder", decoders, valid=KINDS)
        check_known("contexts of the decoders", decoder_contexts, valid=("independent", "same"))
        check_known("choice of encoded texts", encoded_texts, valid=("anchor", "both"))
        check_known("choice of windows", windows, valid=WINDOWS)
        check_known("reduction", view_losses, token_loss_reduction, valid=("sum", "mean"))
        check_known("slot of the bottleneck", bottleneck_slot, valid=SLOTS)
        check_known("input of the bottleneck", bottleneck_input, valid=("masked", "clean"))
        check_known("vocabulary head", vocabulary_head, valid=("transform", "plain"))
        check_known("place of detached embeddings", detached_embeddings, valid=("projection", "everywhere"))
        self.encoder, self.tokenizer, self.views = model, tokenizer, list(views)
        self.names, self.shared, self.slot = list(decoders), decoder_sharing, bottleneck_slot
        self.reduction, self.weight = token_loss_reduction, 1 / len(views) if view_losses == "mean" else 1.0
        self.positions, self.plain = dict(sparse_positions), vocabulary_head == "plain"
        self.clean = bottleneck_input == "clean"
        self.detached = detached_embeddings == "everywhere"
        self.texts = AnchorsAndContexts(
            tokenizer,
            Contexts(kinds=context_kinds, room=length - 2, truncation=truncation, seed=seed),
            decoders=decoders,
            same_context=decoder_contexts == "same",
            both=encoded_texts == "both",
            windows=windows,
            encoder=Masking(rate=masking_rates["encoder"], **masking_unit),
            decoder=Masking(rate=masking_rates["decoder"], **masking_unit),
            with_sep=causal_targets,
            seed=seed,
        )
        self.decoders = self._new_decoders(decoder_layers, window=autoregressive_window)

    def collate(self, examples: list[dict]) -> dict[str, torch.Tensor]:
        """Turn documents into a batch, see ``AnchorsAndContexts.__call__``."""
        return self.texts(examples)

    def forward(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return the losses ``encoder.mlm`` and ``<decoder>.<view>``. A loss without a token to predict is
        absent."""
        hidden = self.encode(batch)  # (E, L, H)
        losses = {}
        labels = {side: batch[f"{side}_labels"] for side in ("encoder", *self.names)}
        places = {side: labelled(some) for side, some in labels.items()}
        wanted = {side: (some, values_at(labels[side], some)) for side, some in places.items() if len(some)}
        if "encoder" in wanted:
            losses["encoder.mlm"] = self._cross_entropy(hidden, *wanted["encoder"])
        names = [name for name in self.names if name in wanted]
        if names and self.clean:  # reading: bottleneck-input
            hidden = self.encode(batch | {"encoder_ids": batch["encoder_clean"]})
        vectors = self.bottlenecks(hidden, batch) if names else {}
        for name in names:
            for view, vector in vectors.items():
                states = self.decode(name, view, vector, batch)
                loss = self._cross_entropy(states, *wanted[name])
                losses[f"{name}.{view}"] = self.weight * loss  # reading: view-losses
        return losses

    def denominators(self, batch: dict[str, torch.Tensor]) -> dict[str, int | None]:
        """Return, for each loss, the number of predicted tokens that it averages, or None for a sum."""
        sides = {"encoder.mlm": "encoder"} | {f"{d}.{view}": d for d in self.names for view in self.views}
        labels = {loss: batch[f"{side}_labels"] for loss, side in sides.items()}
        return {loss: divisor(some, reduction=self.reduction) for loss, some in labels.items()}

    def encode(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the last hidden states of the E encoded texts, (E, L, H)."""
        encoded = self.encoder.base_model(batch["encoder_ids"], attention_mask=batch["encoder_attention"])
        return encoded.last_hidden_state

    def bottlenecks(self, hidden: torch.Tensor, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return the vectors of the E encoded texts by view, (E, H): DEN, and SPR projected to the hidden
        size (Eqs. 3, 11).

        SPR's positions are chosen on the text before masking.
        """
        vectors = {}
        for view in self.views:
            if view == "dense":
                vectors[view] = hidden[:, 0]
                continue
            keep = kept_positions(
                batch["encoder_clean"], batch["encoder_attention"], tokenizer=self.tokenizer, **self.positions
            )
            spr = max_log_saturated(hidden, self.logits, keep)  # (E, V)
            embeddings = self.encoder.base_model.embeddings.word_embeddings.weight.detach()  # (V, H)
            with torch.autocast(hidden.device.type, enabled=False):  # a sum over the whole vocabulary
                vectors[view] = spr.to(embeddings.dtype) @ embeddings
        return vectors

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the logits of Eq. 4: w_j = h E_j + b_j, (..., H) to (..., V).

        Readings ``vocabulary-head``, ``detached-embeddings``.
        """
        head = self.encoder.cls.predictions
        states = hidden if self.plain else head.transform(hidden)
        embeddings = head.decoder.weight.detach() if self.detached else head.decoder.weight
        return functional.linear(states, embeddings, head.decoder.bias)

    def decode(
        self, name: str, view: str, vectors: torch.Tensor, batch: dict[str, torch.Tensor]
    ) -> torch.Tensor:
        """Return a decoder's last hidden states from the encoded texts' vectors: (E, H) to (D, L, H)."""
        embedded = self.encoder.base_model.embeddings(input_ids=batch[f"{name}_ids"])  # (D, L, H)
        return decoded(
            self.decoders[self._key(name, view)],
            vectors[batch[f"{name}_sources"]],
            embedded,
            batch[f"{name}_attention"],
            slot=self.slot,
        )

    def save(self, folder: Path) -> None:
        """Save the encoder with its masked-language head, without the decoders (§4.1)."""
        save_model(self.encoder, self.tokenizer, folder)

    def _new_decoders(self, layers: dict, *, window: int) -> nn.ModuleDict:
        made = nn.ModuleDict()
        for key, name in {self._key(name, view): name for name in self.names for view in self.views}.items():
            shape = {"kind": layers[name], "layers": layers["layers"], "window": window}
            made[key] = new_decoder(self.encoder.config, decoder=name, **shape)
        return made

    def _key(self, name: str, view: str) -> str:
        return name if self.shared else f"{name}_{view}"  # reading: decoder-sharing

    def _cross_entropy(
        self, hidden: torch.Tensor, places: torch.Tensor, labels: torch.Tensor
    ) -> torch.Tensor:
        wanted = values_at(hidden, places), self.encoder.cls, labels
        return vocabulary_loss(*wanted, reduction=self.reduction)


def _check_names(kind: str, names: list[str], *, valid) -> None:
    check_known(kind, *names, valid=valid)
    if not names or len(set(names)) < len(names):
        raise UsageError(f"at least one {kind} is needed, and each only once (given: {names!r})")
