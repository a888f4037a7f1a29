"""Masked language modelling alone: BERT's objective without its next-sentence task."""

import torch

from repro.retrieval.nn.architectures import MaskedModel, Tokenizer
from repro.retrieval.nn.masked_tokens import Masking, divisor, labelled, token_cross_entropy, values_at
from repro.retrieval.nn.objectives import MaskedPretraining


class MaskedLanguageModel(MaskedPretraining):
    """L = -1/M sum over the M masked tokens of a batch of log p(token | masked text) (Devlin et al. 2019).

    A text's mask depends on (seed, epoch, index) only: another one every epoch.

    Args, beside those that are attributes of ``MaskedPretraining``:
        masking: {rate, mask, random}; BERT has 0.15, 0.8, 0.1.
        reduction: ``mean``, as above, or ``sum``, without 1/M.
        seed: of the masks.
    """

    name = "mlm"
    version = 1

    def __init__(
        self,
        model: MaskedModel,
        tokenizer: Tokenizer,
        *,
        masking: Masking,
        reduction: str,
        length: int,
        seed: int,
    ):
        super().__init__()
        self.encoder, self.tokenizer = model, tokenizer
        self.masking, self.reduction, self.length, self.seed = masking, reduction, length, seed

    def forward(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The one loss, ``mlm``; absent where the batch has no masked token."""
        places = labelled(batch["labels"])
        if not len(places):
            return {}
        output = self.encoder.base_model(
            batch["masked_ids"], attention_mask=batch["attention_mask"], token_type_ids=batch.get("segments")
        )  # without segments every token is of the first
        logits = self.encoder.cls(values_at(output.last_hidden_state, places))  # (M, V): of the masked alone
        labels = values_at(batch["labels"], places)
        return {"mlm": token_cross_entropy(logits, labels, reduction=self.reduction)}

    def denominators(self, batch: dict[str, torch.Tensor]) -> dict[str, int | None]:
        """The masked tokens that ``mlm`` is a mean over; None where it is their sum."""
        return {"mlm": divisor(batch["labels"], reduction=self.reduction)}
