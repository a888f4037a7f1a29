"""Components shared by objectives, and BERT's own objectives."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from repro.errors import DataError, UsageError, check_known
from repro.retrieval.nn import batches, contrastive, masked_tokens
from repro.retrieval.nn.checkpoint import MaskedModel, Tokenizer, save_model
from repro.retrieval.nn.precision import Tensors
from repro.retrieval.nn.text import passage_rows, tokenised

SENTENCES, MASKS = 0, 1
SIDES = {"queries": "query_", "passages": "passage_"}


class BatchLoss(nn.Module):
    """``losses(represent(batch))``, where the objective defines both functions."""

    represent: Callable[[Tensors], Tensors]
    losses: Callable[[Tensors], Tensors]

    def forward(self, batch: Tensors) -> Tensors:
        return self.losses(self.represent(batch))


class RankedTextsLoss(BatchLoss):
    """A loss of queries and their passages, which one ``encoder`` encodes."""

    tokenizer: Tokenizer
    encoder: Callable[[Tensors], Tensor]
    query_length: int
    passage_length: int
    separator: str

    def collate(self, examples: list[dict]) -> Tensors:
        passages = [passage for example in examples for passage in example["passages"]]
        queries = tokenised(
            self.tokenizer, [example["query"] for example in examples], length=self.query_length
        )
        titles, texts = ([passage[name] for passage in passages] for name in ("title", "text"))
        inputs = passage_rows(
            self.tokenizer, titles, texts, length=self.passage_length, separator=self.separator
        ).inputs()
        return {f"query_{k}": v for k, v in queries.items()} | {f"passage_{k}": v for k, v in inputs.items()}

    def represent(self, batch: Tensors) -> Tensors:
        return {name: self.encoder(batches.side_inputs(batch, side)) for name, side in SIDES.items()}


def teacher_scores(examples: list[dict]) -> Tensor:
    """Return a re-ranker's scores, (Q, P) float32. Raises DataError if an example has none."""
    if any("scores" not in example for example in examples):
        raise DataError("the training set has no scores to distil. Score it with a re-ranker first")
    return torch.tensor([example["scores"] for example in examples], dtype=torch.float32)


HEADS = ("checkpoint", "new")


def with_head(model: MaskedModel, head: str) -> MaskedModel:
    """Return ``model``, with its masked-language head from the ``checkpoint`` or drawn anew (``new``)."""
    check_known("start of the masked-language head", head, valid=HEADS)
    if head == "new":
        shared_ids = {id(parameter) for parameter in model.base_model.parameters()}
        for module in model.cls.modules():
            _draw(module, shared_ids, model.config.initializer_range)
    return model


def _draw(module: nn.Module, shared_ids: set[int], spread: float) -> None:
    if isinstance(module, nn.LayerNorm):
        module.reset_parameters()
        return
    for name, parameter in module.named_parameters(recurse=False):
        if id(parameter) not in shared_ids:
            nn.init.zeros_(parameter) if name == "bias" else nn.init.normal_(parameter, std=spread)


def set_dropout(model: nn.Module, rate: float) -> None:
    """Set the rate of every dropout module. Raises UsageError for a rate outside [0, 1)."""
    if not 0 <= rate < 1:
        raise UsageError(f"dropout is {rate!r}, and has to be from 0 to below 1, e.g. 0.1")
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate


class MaskedPretraining(nn.Module):
    """Masks and encodes texts, and saves the model. A subclass computes its losses."""

    encoder: MaskedModel
    tokenizer: Tokenizer
    masking: masked_tokens.Masking
    length: int
    seed: int

    def texts(self, examples: list[dict]) -> list[np.ndarray]:
        return [np.asarray(example["input_ids"])[: self.length - 2] for example in examples]

    def generators(
        self, examples: list[dict], *stream: int, each_epoch: bool = True
    ) -> list[np.random.Generator]:
        """Return a generator per example, seeded by (seed, stream, epoch or 0, index)."""
        places = [(example["epoch"] if each_epoch else 0, example["index"]) for example in examples]
        return [np.random.default_rng((self.seed, *stream, *place)) for place in places]

    def masked(self, texts: list[np.ndarray], generators: list[np.random.Generator]) -> Tensors:
        shares: dict[str, Any] = {"draw": "each", **self.masking}
        return masked_tokens.masked_texts(texts, tokenizer=self.tokenizer, generators=generators, **shares)

    def collate(self, examples: list[dict]) -> Tensors:
        """Return the arrays of ``masked_texts()``. A mask depends only on (seed, epoch, index)."""
        return self.masked(self.texts(examples), self.generators(examples))

    def hidden(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.encoder.base_model(input_ids, attention_mask=attention_mask).last_hidden_state

    def save(self, folder: Path) -> None:
        save_model(self.encoder, self.tokenizer, folder)


class MaskedLanguageModel(MaskedPretraining):
    """L = -1/M sum over the M masked tokens of a batch of log p(token | masked text) (Devlin et al. 2019).

    ``reduction`` is ``mean``, as above, or ``sum``, without 1/M.
    """

    name = "mlm"
    version = 1

    def __init__(
        self,
        model: MaskedModel,
        tokenizer: Tokenizer,
        *,
        masking: masked_tokens.Masking,
        reduction: str,
        length: int,
        seed: int,
    ):
        super().__init__()
        self.encoder, self.tokenizer = model, tokenizer
        self.masking, self.reduction, self.length, self.seed = masking, reduction, length, seed

    def forward(self, batch: Tensors) -> Tensors:
        places = masked_tokens.labelled(batch["labels"])
        if not len(places):
            return {}
        output = self.encoder.base_model(
            batch["masked_ids"], attention_mask=batch["attention_mask"], token_type_ids=batch.get("segments")
        )
        hidden = masked_tokens.values_at(output.last_hidden_state, places)
        labels = masked_tokens.values_at(batch["labels"], places)
        loss = masked_tokens.vocabulary_loss(hidden, self.encoder.cls, labels, reduction=self.reduction)
        return {"mlm": loss}

    def denominators(self, batch: Tensors) -> dict[str, int | None]:
        return {"mlm": masked_tokens.divisor(batch["labels"], reduction=self.reduction)}


class NeighbouringSentences(MaskedPretraining, BatchLoss):
    """L = L_MLM - 1/N sum_i log( exp(a_i . b_i) / sum_j exp(a_i . b_j) ), a_i and b_i [CLS] of two sentences.

    The second term is BERT's next-sentence prediction (Devlin et al. 2019, §3.1) over a batch: a_i's next
    sentence among those of all N texts. Both sentences are masked. A text of one sentence counts only in
    L_MLM. ``sentence_end`` is a token, e.g. ``.``.
    """

    name = "neighbours"
    version = 1

    def __init__(
        self,
        model: MaskedModel,
        tokenizer: Tokenizer,
        *,
        masking: masked_tokens.Masking,
        sentence_end: str,
        length: int,
        seed: int,
    ):
        super().__init__()
        self.end = tokenizer.convert_tokens_to_ids(sentence_end)
        if self.end in (None, tokenizer.unk_token_id):
            raise UsageError(f"the sentence end {sentence_end!r} is not in the model's vocabulary")
        self.encoder, self.tokenizer = model, tokenizer
        self.masking, self.length, self.seed = masking, length, seed

    def collate(self, examples: list[dict]) -> Tensors:
        """Return the arrays of ``masked_texts()`` for N sentences and then their N successors.

        ``paired``, (N,) bool, is False for an empty successor.
        """
        streams = self.generators(examples, SENTENCES)
        pairs = [self.pair(text, random) for text, random in zip(self.texts(examples), streams, strict=True)]
        first, second = zip(*pairs, strict=True)
        masks = self.generators(examples, MASKS)
        batch = self.masked([*first, *second], masks + masks)
        return batch | {"paired": torch.tensor([len(sentence) > 0 for sentence in second])}

    def pair(self, text: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return a random sentence of a text, (n,), and its successor, which may be empty."""
        ends = np.flatnonzero(text == self.end) + 1
        bounds = np.unique(np.array([0, *ends.tolist(), len(text)]))
        place = int(random.integers(max(1, len(bounds) - 2)))
        first, middle, last = bounds[[place, place + 1, min(place + 2, len(bounds) - 1)]].tolist()
        return text[first:middle], text[middle:last]

    def represent(self, batch: Tensors) -> Tensors:
        """Return the result of ``mlm_rows()``, and ``first`` and ``second``, [CLS] of the P pairs, (P, H)."""
        hidden = self.hidden(batch["masked_ids"], batch["attention_mask"])  # (2N, L, H)
        first, second = hidden[:, 0].chunk(2)
        paired = masked_tokens.places_of(batch["paired"])
        sides = {"first": first[paired], "second": second[paired]}
        return masked_tokens.mlm_rows(hidden, self.encoder.cls, batch["labels"]) | sides

    def losses(self, represented: Tensors) -> Tensors:
        losses = masked_tokens.mlm_loss(represented, reduction="mean")
        if len(represented["first"]) > 1:
            sides = represented["first"], represented["second"]
            losses["neighbours"] = contrastive.in_batch_contrastive(*sides, temperature=1.0, similarity="dot")
        return losses
