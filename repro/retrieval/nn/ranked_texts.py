"""Examples of fine-tuning, a query with its passages each, as the arrays that an encoder reads."""

import torch

from repro.errors import DataError
from repro.retrieval.nn.batch_loss import BatchLoss
from repro.retrieval.nn.length_buckets import in_buckets, side_inputs
from repro.retrieval.nn.text import passage_inputs, tokenised

Tensors = dict[str, torch.Tensor]


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

    def collate(self, examples: list[dict]) -> Tensors:
        """The arrays of ``ranked_texts``."""
        lengths = {"query_length": self.query_length, "passage_length": self.passage_length}
        return ranked_texts(self.tokenizer, examples, separator=self.separator, **lengths)

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
