"""SEED: masked language modelling, and reconstruction by a weak auto-regressive decoder."""

import copy
import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn

from papers.baselines.bottleneck_decoder import BottleneckDecoder
from papers.baselines.cross_attention_decoder import CrossAttentionDecoder
from repro.errors import check_known
from repro.retrieval.nn.checkpoint import MaskedModel, Tokenizer
from repro.retrieval.nn.masked_tokens import (
    IGNORED,
    Masking,
    divisor,
    labelled,
    values_at,
    vocabulary_loss,
)
from repro.retrieval.nn.objectives import MaskedPretraining, with_head
from repro.retrieval.nn.precision import copied, on_host

INPUTS = ("masked", "clean")
PARTS = ("shared", "own")
DECODERS = ("cross-attention", "slot")


class WeakDecoder(MaskedPretraining):
    """L = L_MLM + weight * L_dec (COSTA §1, §2.2, §4.3.2, CPDAE §1, §2).

        L_dec = -1/M sum_t log P(x_t | x_{t-k}, …, x_{t-1}, h)

    h is the encoder's [CLS] vector and k the decoder's span. A decoder of few layers with a short span has to
    rely on h.
    The decoder reads the embeddings of the text's tokens and predicts the next token at each position. It
    reads h by cross-attention in every layer, or instead of the embedding of [CLS]. COSTA states three layers
    and a span of 2. Every other choice is an option named after its reading.

    A text's mask depends on (seed, epoch, index) only.

    Args, with those of ``MaskedPretraining``:
        decoder: ``cross-attention``, the released one with its own positions and the matrix of embeddings
            as head, or ``slot``, layers like the encoder's that read h instead of [CLS] and share the
            encoder's positions and masked-language head.
        decoder_layers: the number of layers, 3 in COSTA.
        span: k, the number of last tokens that a position sees in each layer, including itself.
        sees_bottleneck: whether every position sees h in each layer, or only the first k positions do.
        encoder_input: ``masked``: h comes from the same pass as MLM. ``clean``: h comes from another pass,
            over the unmasked text.
        decoder_input: whether the decoder reads the ``clean`` or the ``masked`` tokens. It predicts the clean
            ones.
        embeddings, head: ``shared`` with the encoder, or the decoder's ``own``, which start as copies.
            ``cross-attention`` uses only the output matrix of the head.
        reconstruct_sep: whether the closing [SEP] is predicted too.
        weight: the weight of L_dec.
        reduction: ``mean`` or ``sum``, of both losses.
        mlm_head: ``checkpoint`` or ``new``.
        seed: the seed of the masks. The decoder's weights come from torch's generator.
    """

    name = "seed"
    version = 1

    def __init__(
        self,
        model: MaskedModel,
        tokenizer: Tokenizer,
        *,
        decoder: str,
        decoder_layers: int,
        span: int,
        sees_bottleneck: bool,
        encoder_input: str,
        decoder_input: str,
        embeddings: str,
        head: str,
        reconstruct_sep: bool,
        weight: float,
        reduction: str,
        masking: Masking,
        mlm_head: str,
        length: int,
        seed: int,
    ):
        super().__init__()
        check_known("decoder", decoder, valid=DECODERS)
        check_known("input", encoder_input, decoder_input, valid=INPUTS)
        check_known("part of the decoder", embeddings, head, valid=PARTS)
        check_known("reduction", reduction, valid=("mean", "sum"))
        self.encoder, self.tokenizer = with_head(model, mlm_head), tokenizer
        self.crosses = decoder == "cross-attention"
        self.decoder: nn.Module
        if self.crosses:
            self.decoder = CrossAttentionDecoder(
                model.config,
                positions=length,
                layers=decoder_layers,
                window=span,
                sees_first=sees_bottleneck,
            )
        else:
            self.decoder = BottleneckDecoder.new(
                model.config,
                attention="causal",
                layers=decoder_layers,
                window=span,
                sees_first=sees_bottleneck,
            )
        own = copy.deepcopy((model.base_model.embeddings, model.cls))  # at once: they share a matrix
        self.own_embeddings = own[0] if embeddings == "own" else None
        self.own_head = own[1] if head == "own" else None
        self.clean, self.decoder_reads = encoder_input == "clean", f"{decoder_input}_ids"
        self.reconstruct_sep, self.weight, self.reduction = reconstruct_sep, weight, reduction
        self.masking, self.length, self.seed = masking, length, seed

    def forward(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return the losses ``mlm`` and ``reconstruction`` (weighted). A loss without a token to predict is
        absent."""
        hidden = self.hidden(batch["masked_ids"], batch["attention_mask"])  # (N, L, H)
        losses = {}
        places = labelled(batch["labels"])
        if len(places):
            wanted = values_at(hidden, places), self.encoder.cls, values_at(batch["labels"], places)
            losses["mlm"] = vocabulary_loss(*wanted, reduction=self.reduction)
        if len(labelled(self.targets(batch))):
            if self.clean:
                hidden = self.hidden(batch["clean_ids"], batch["attention_mask"])
            losses["reconstruction"] = self.weight * self.reconstruction(hidden[:, 0], batch)
        return losses

    def denominators(self, batch: dict[str, torch.Tensor]) -> dict[str, int | None]:
        """Return the number of predicted tokens that each loss is a mean over, or None for a sum."""
        labels = {"mlm": batch["labels"], "reconstruction": self.targets(batch)}
        return {name: divisor(some, reduction=self.reduction) for name, some in labels.items()}

    def reconstruction(self, h_cls: torch.Tensor, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return L_dec without its weight, given the [CLS] vectors, (N, H)."""
        targets = self.targets(batch)  # (N, L)
        decoded = self.decoded(h_cls, batch)  # (N, L, H)
        places = labelled(targets)
        wanted = values_at(decoded, places), self.logits, values_at(targets, places)
        return vocabulary_loss(*wanted, reduction=self.reduction)

    def decoded(self, h_cls: torch.Tensor, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the decoder's states, (N, L, H), each from a [CLS] vector, (N, H), and the tokens up to its
        position."""
        embed = self.own_embeddings or self.encoder.base_model.embeddings
        if self.crosses:
            embedded = embed.word_embeddings(batch[self.decoder_reads])  # (N, L, H)
            return self.decoder(embedded, h_cls, batch["attention_mask"])
        return self.decoder(self.inputs(h_cls, batch), batch["attention_mask"])

    def logits(self, decoded: torch.Tensor) -> torch.Tensor:
        """Map decoder states to logits over the vocabulary: (m, H) to (m, V)."""
        head = self.own_head or self.encoder.cls
        if self.crosses:
            return nn.functional.linear(decoded, head.predictions.decoder.weight)
        return head(decoded)

    def inputs(self, h_cls: torch.Tensor, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the decoder's input, (N, L, H): h instead of [CLS], then the tokens' embeddings."""
        embed = self.own_embeddings or self.encoder.base_model.embeddings
        embedded = embed(input_ids=batch[self.decoder_reads])  # (N, L, H)
        return torch.cat((h_cls.unsqueeze(1).to(embedded.dtype), embedded[:, 1:]), dim=1)

    def targets(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the next token as the label of each position, (N, L), IGNORED where nothing is predicted."""
        tokens, real = on_host(batch["clean_ids"]), on_host(batch["attention_mask"]).bool()
        if not self.reconstruct_sep:
            real = real & (tokens != self.tokenizer.sep_token_id)
        following = torch.where(real, tokens, IGNORED)[:, 1:]
        targets = torch.cat((following, torch.full_like(tokens[:, :1], IGNORED)), dim=1)
        return copied(targets, batch["clean_ids"].device)

    def save(self, folder: Path) -> None:
        """Save the encoder with its masked-language head, and the decoder with those parts that it does not
        share."""
        super().save(folder)
        named = dict(self.decoder.state_dict())
        for name in ("own_embeddings", "own_head"):
            if (part := getattr(self, name)) is not None:
                named |= part.state_dict(prefix=f"{name}.")
        weights, known = {}, set()
        for name, tensor in named.items():
            if tensor.data_ptr() not in known:  # a matrix of own embeddings and own head has two names
                known.add(tensor.data_ptr())
                weights[name] = tensor.contiguous()
        # one key: safetensors writes several in an order that changes from process to process
        save_file(weights, folder / "decoder.safetensors", metadata={"decoder": json.dumps({"kind": "weak"})})
