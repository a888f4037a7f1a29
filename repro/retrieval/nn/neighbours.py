"""BERT's two objectives in a form that hundreds of steps learn: masked words, and the sentence to come."""

import numpy as np
import torch

from repro.errors import UsageError
from repro.retrieval.nn.architectures import MaskedModel, Tokenizer
from repro.retrieval.nn.contrastive import in_batch_contrastive
from repro.retrieval.nn.masked_tokens import Masking, mlm_loss, mlm_rows
from repro.retrieval.nn.objectives import BatchLoss, MaskedPretraining, Tensors

SENTENCES, MASKS = 0, 1  # streams of random numbers


class NeighbouringSentences(MaskedPretraining, BatchLoss):
    """L = L_MLM - 1/N sum_i log( exp(a_i . b_i) / sum_j exp(a_i . b_j) ), a_i and b_i [CLS] of two sentences.

    The second is BERT's next-sentence prediction (Devlin et al. 2019, §3.1) asked of a batch: the two
    sentences follow one another in a text, and the next sentence of a_i is to be found among those of all N
    texts. The original, a yes or no from both sentences in one input, took more than a thousand steps of a
    narrow model to be learnt at all. Both sentences are masked. A text of one sentence is in L_MLM alone.

    A text's sentences and masks depend on (seed, epoch, index) only.

    Args, beside those that are attributes of ``MaskedPretraining``:
        sentence_end: the token that ends a sentence.
        seed: of sentences and masks.

    Raises UsageError for a sentence end that is not in the vocabulary.
    """

    name = "neighbours"
    version = 1

    def __init__(
        self,
        model: MaskedModel,
        tokenizer: Tokenizer,
        *,
        masking: Masking,
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
        """Token rows to the arrays of ``masked_texts`` over 2N sentences, the N first ones before the N that
        follow them; and ``paired``, (N,) bool, whether a text has two."""
        streams = self.generators(examples, SENTENCES)
        pairs = [self.pair(text, random) for text, random in zip(self.texts(examples), streams, strict=True)]
        first, second = zip(*pairs, strict=True)
        masks = self.generators(examples, MASKS)  # each serves a text's first sentence, then its second
        batch = self.masked([*first, *second], masks + masks)
        return batch | {"paired": torch.tensor([len(sentence) > 0 for sentence in second])}

    def pair(self, text: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """A random sentence of a text (n,) that is followed by another, and that one; (0,) where none is."""
        ends = np.flatnonzero(text == self.end) + 1
        bounds = np.unique(np.array([0, *ends.tolist(), len(text)]))
        place = int(random.integers(max(1, len(bounds) - 2)))
        first, middle, last = bounds[[place, place + 1, min(place + 2, len(bounds) - 1)]].tolist()
        return text[first:middle], text[middle:last]

    def represent(self, batch: Tensors) -> Tensors:
        """``mlm_rows`` of a part of a batch, and ``first`` and ``second``, (P, H), of its P pairs."""
        hidden = self.hidden(batch["masked_ids"], batch["attention_mask"])  # (2N, L, H)
        first, second = hidden[:, 0].chunk(2)
        sides = {"first": first[batch["paired"]], "second": second[batch["paired"]]}
        return mlm_rows(hidden, self.encoder.cls, batch["labels"]) | sides

    def losses(self, represented: Tensors) -> Tensors:
        """``mlm`` and ``neighbours``, of all parts of a batch."""
        losses = mlm_loss(represented, reduction="mean")
        if len(represented["first"]) > 1:
            sides = represented["first"], represented["second"]
            losses["neighbours"] = in_batch_contrastive(*sides, temperature=1.0, similarity="dot")
        return losses
