"""The parts that objectives share: texts that meet in a loss, examples of fine-tuning, and BERT's masking."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn

from repro.errors import DataError, UsageError, check_known
from repro.retrieval.nn.architectures import MaskedModel, Tokenizer
from repro.retrieval.nn.batches import in_buckets, side_inputs
from repro.retrieval.nn.checkpoint import save_model
from repro.retrieval.nn.masked_tokens import Masking, masked_texts
from repro.retrieval.nn.text import passage_inputs, tokenised

Tensors = dict[str, torch.Tensor]


class BatchLoss(nn.Module):
    """``losses`` of what ``represent`` makes of a batch; both are the objective's own."""

    represent: Callable[[Tensors], Tensors]
    losses: Callable[[Tensors], Tensors]

    def forward(self, batch: Tensors) -> Tensors:
        """The named losses of a whole batch."""
        return self.losses(self.represent(batch))


def ranked_texts(
    tokenizer, examples: list[dict], *, query_length: int, passage_length: int, separator: str
) -> Tensors:
    """``query_`` and ``passage_`` inputs of Q queries, (Q, L), and all of their passages, (Q*P, L').

    Args:
        examples: ``{"query", "passages": [{"title", "text"}, …]}``, the positive first.
        query_length, passage_length: in tokens, with [CLS] and [SEP].
        separator: between title and text, or ``pair``.
    """
    passages = [passage for example in examples for passage in example["passages"]]
    queries = tokenised(tokenizer, [example["query"] for example in examples], length=query_length)
    inputs = passage_inputs(
        tokenizer,
        [passage["title"] for passage in passages],
        [passage["text"] for passage in passages],
        length=passage_length,
        separator=separator,
    )
    return {f"query_{k}": v for k, v in queries.items()} | {f"passage_{k}": v for k, v in inputs.items()}


class RankedTextsLoss(BatchLoss):
    """A loss over examples of fine-tuning, which all pass one ``encoder``."""

    tokenizer: Tokenizer
    encoder: Callable[[Tensors], torch.Tensor]
    query_length: int
    passage_length: int
    separator: str

    def collate(self, examples: list[dict]) -> Tensors:
        """The arrays of ``ranked_texts``."""
        return ranked_texts(
            self.tokenizer,
            examples,
            query_length=self.query_length,
            passage_length=self.passage_length,
            separator=self.separator,
        )

    def represent(self, batch: Tensors) -> Tensors:
        """Vectors of the batch's ``queries``, (Q, H), and ``passages``, (Q*P, H)."""
        sides = {"queries": "query_", "passages": "passage_"}
        return {name: in_buckets(self.encoder, side_inputs(batch, side)) for name, side in sides.items()}


def teacher_scores(examples: list[dict]) -> torch.Tensor:
    """A re-ranker's ``scores`` of each example's passages, (Q, P) float32.

    Raises:
        DataError: the training set has no scores.
    """
    if any("scores" not in example for example in examples):
        raise DataError("the training set has no scores to distil; score it with a re-ranker first")
    return torch.tensor([example["scores"] for example in examples], dtype=torch.float32)


HEADS = ("checkpoint", "new")


def with_head(model: MaskedModel, head: str) -> MaskedModel:
    """The model with its own masked-language head (``checkpoint``) or one drawn anew (``new``).

    What the head shares with the embeddings stays as it is: BERT's output matrix is not drawn again, its
    dense layer, LayerNorm and bias are. From torch's generator.
    """
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
    """Every dropout of a model, attention's too, at ``rate`` from now on; its config stays as it is.

    transformers' attention takes the rate from its Dropout module whichever implementation computes it.
    Raises UsageError where the rate is no probability below 1.
    """
    if not 0 <= rate < 1:
        raise UsageError(f"a dropout of {rate!r} is impossible; give a rate from 0 to below 1")
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate


class MaskedPretraining(nn.Module):
    """Reading of texts, masking, encoding and saving; an objective adds its losses and sets the attributes.

    Attributes:
        encoder: the objective's ``model``, BertForMaskedLM or one with ``base_model`` and ``cls`` like it.
        tokenizer: its tokenizer.
        masking: of ``masked_texts``, of BERT 0.15, 0.8, 0.1; with ``draw`` where that is not ``each``.
        length: tokens of a text, with [CLS] and [SEP].
        seed: of all that is drawn.
    """

    encoder: MaskedModel
    tokenizer: Tokenizer
    masking: Masking
    length: int
    seed: int

    def texts(self, examples: list[dict]) -> list[np.ndarray]:
        """The examples' tokens, (n,) each, cut to leave room for [CLS] and [SEP]."""
        return [np.asarray(example["input_ids"])[: self.length - 2] for example in examples]

    def generators(
        self, examples: list[dict], *stream: int, each_epoch: bool = True
    ) -> list[np.random.Generator]:
        """Random numbers for each example by (seed, stream, epoch, index); epoch 0 unless ``each_epoch``."""
        places = [(example["epoch"] if each_epoch else 0, example["index"]) for example in examples]
        return [np.random.default_rng((self.seed, *stream, *place)) for place in places]

    def masked(self, texts: list[np.ndarray], generators: list[np.random.Generator]) -> Tensors:
        """The four arrays of ``masked_texts``, (N, L) int64."""
        return masked_texts(
            texts,
            tokenizer=self.tokenizer,
            generators=generators,
            rate=self.masking["rate"],
            mask=self.masking["mask"],
            random=self.masking["random"],
            draw=self.masking.get("draw", "each"),
        )

    def collate(self, examples: list[dict]) -> Tensors:
        """Token rows to the four arrays of ``masked_texts``; a mask depends on (seed, epoch, index) only."""
        return self.masked(self.texts(examples), self.generators(examples))

    def hidden(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Last hidden states: (N, L) each to (N, L, H)."""
        return self.encoder.base_model(input_ids, attention_mask=attention_mask).last_hidden_state

    def save(self, folder: Path) -> None:
        """The encoder with its masked-language head; what else was trained along is thrown away."""
        save_model(self.encoder, self.tokenizer, folder)
