"""SimCSE: a text encoded twice under different dropout is its own positive."""

from functools import partial

import torch

from repro.retrieval.nn.checkpoint import MaskedModel, Tokenizer
from repro.retrieval.nn.contrastive import check_similarity, in_batch_contrastive
from repro.retrieval.nn.encoder import Projector
from repro.retrieval.nn.masked_tokens import Masking, labelled, mlm_loss, mlm_rows
from repro.retrieval.nn.objectives import MaskedPretraining, Tensors, set_dropout
from repro.retrieval.nn.precision import mapped


class DropoutContrast(MaskedPretraining):
    """L = -1/N sum_i log( e(z_i, z'_i) / sum_j e(z_i, z'_j) ), e(a, b) = exp(sim(a, b) / tau).

    z and z' are [CLS] vectors of two passes over the same texts. The papers that report a SimCSE row only
    name the method. Open choices are options named after their readings.

    Args, with those of ``MaskedPretraining``:
        temperature, similarity: tau and sim in the loss. ``similarity`` is ``dot`` or ``cosine``.
        dropout: rate of every dropout of the model during training, overriding the checkpoint.
        projector: ``nonlinear``, ``linear`` or ``none``. It is trained with the encoder and not used
            afterwards.
        mlm: {rate, mask, random} of masked language modelling as an additional loss, or null.
        seed: the seed of the masks. Dropout and the projector come from torch's generator.
    """

    name = "simcse"
    version = 1

    def __init__(
        self,
        model: MaskedModel,
        tokenizer: Tokenizer,
        *,
        temperature: float,
        similarity: str,
        dropout: float,
        projector: str,
        mlm: Masking | None,
        length: int,
        seed: int,
    ):
        super().__init__()
        set_dropout(model, dropout)
        self.encoder, self.tokenizer = model, tokenizer
        self.projector = Projector.of(model.config, projector)
        self.contrast = partial(
            in_batch_contrastive, temperature=temperature, similarity=check_similarity(similarity)
        )
        self.mlm, self.length, self.seed = mlm, length, seed
        self.masking = mlm or Masking(rate=0.0, mask=0.0, random=0.0)  # nothing is masked

    def forward(self, batch: Tensors) -> Tensors:
        """Return the losses of the whole batch, see ``losses``. A loss without data is absent, and its pass
        of the encoder is skipped."""
        several, masked = len(batch["clean_ids"]) > 1, len(labelled(batch["labels"])) > 0
        return self.losses(self.represent(batch, contrast=several, mlm=masked))

    def represent(self, batch: Tensors, *, contrast: bool = True, mlm: bool = True) -> Tensors:
        """Return the representations of a part of a batch: ``first`` and ``second`` (z and z'), (N, H), with
        ``contrast``, and the keys of ``mlm_rows()`` with ``mlm``."""
        represented = {}
        if contrast:
            names = ("clean_ids", "attention_mask")
            twice = [mapped(lambda values: torch.cat((values, values)), batch[name]) for name in names]
            vectors = self.projector(self.hidden(*twice)[:, 0])  # (2N, H)
            represented["first"], represented["second"] = vectors.chunk(2)
        if mlm and self.mlm:
            hidden = self.hidden(batch["masked_ids"], batch["attention_mask"])  # (N, L, H)
            represented |= mlm_rows(hidden, self.encoder.cls, batch["labels"])
        return represented

    def losses(self, represented: Tensors) -> Tensors:
        """Return the losses ``contrastive``, of at least two texts, and, if MLM is trained too, ``mlm``, over
        all parts of a batch."""
        losses = {}
        if len(represented.get("first", ())) > 1:
            losses["contrastive"] = self.contrast(represented["first"], represented["second"])
        return losses | mlm_loss(represented, reduction="mean")
