"""ICT: pre-training by the inverse cloze task and masked language modelling."""

from functools import partial

import numpy as np
import torch

from papers.baselines.sentences import sentence_ends_of, sentences
from repro.errors import UsageError, check_known
from repro.retrieval.nn.checkpoint import MaskedModel, Tokenizer
from repro.retrieval.nn.contrastive import check_similarity, in_batch_contrastive
from repro.retrieval.nn.masked_tokens import Masking, mlm_loss, mlm_rows, places_of
from repro.retrieval.nn.objectives import MaskedPretraining, Tensors, with_head
from repro.retrieval.nn.precision import on_host
from repro.retrieval.nn.text import padded

SENTENCES, MASKS = 0, 1  # streams of random numbers
SHORT_TEXTS = ("whole", "drop")
MLM_ON = ("context", "text")
RESAMPLINGS = ("once", "epoch")


class InverseCloze(MaskedPretraining):
    """ICT: L = weight L_ICT + L_MLM. A sentence finds its text (COSTA §2.2, §4.3.2, §4.5.1).

    A random sentence of a text is a pseudo query and the rest of the text its positive. The rests of the
    batch's other texts are the negatives of ``in_batch_contrastive``. One encoder gives all [CLS] vectors.
    COSTA states the task, and that it is trained together with MLM. Other choices are options named after
    their readings.

    A text's sentence depends on (seed, index), and on the epoch if ``resample`` is ``epoch``. Its mask always
    depends on (seed, epoch, index).

    Args, with those of ``MaskedPretraining``:
        temperature, similarity: arguments of ``in_batch_contrastive``.
        weight: the weight of L_ICT.
        keep: probability that the positive is the whole text, including the sentence.
        sentence_ends: tokens that end a sentence, e.g. ".". At least one must be in the vocabulary.
        query_tokens: the maximum number of tokens of a pseudo query, with [CLS] and [SEP].
        short_text: a text of one sentence is its own positive (``whole``), or left out of L_ICT
            (``drop``).
        mlm_on: ``context``, one pass over the masked positives serves both losses, or ``text``, a second
            pass encodes the masked whole texts.
        mlm_reduction: ``mean`` or ``sum`` over masked tokens.
        mlm_head: ``checkpoint`` or ``new``.
        resample: ``once`` or ``epoch``.
        seed: the seed of sentences and masks.
    """

    name = "ict"
    version = 1

    def __init__(
        self,
        model: MaskedModel,
        tokenizer: Tokenizer,
        *,
        temperature: float,
        similarity: str,
        weight: float,
        keep: float,
        sentence_ends: list[str],
        query_tokens: int,
        short_text: str,
        mlm_on: str,
        mlm_reduction: str,
        mlm_head: str,
        masking: Masking,
        resample: str,
        length: int,
        seed: int,
    ):
        super().__init__()
        check_known("treatment of short texts", short_text, valid=SHORT_TEXTS)
        check_known("text for masked language modelling", mlm_on, valid=MLM_ON)
        check_known("reduction", mlm_reduction, valid=("mean", "sum"))
        check_known("resampling", resample, valid=RESAMPLINGS)
        if not 0 <= keep <= 1:
            raise UsageError(f"keep is {keep}. Give a probability between 0 and 1.")
        self.encoder, self.tokenizer = with_head(model, mlm_head), tokenizer
        self.contrast = partial(
            in_batch_contrastive, temperature=temperature, similarity=check_similarity(similarity)
        )
        self.weight, self.keep, self.drop = weight, keep, short_text == "drop"
        self.ends = sentence_ends_of(tokenizer, sentence_ends)
        self.query_room = max(1, query_tokens - 2)  # one token, however short a scale makes it
        self.apart, self.mlm_reduction = mlm_on == "text", mlm_reduction
        self.masking, self.each_epoch = masking, resample == "epoch"
        self.length, self.seed = length, seed

    def collate(self, examples: list[dict]) -> Tensors:
        """Return the arrays of a batch of N token rows.

        ``clean_ids``, ``masked_ids``, ``labels`` and ``attention_mask``, (N, L), are of the positives, or
        under ``mlm_on`` = ``text`` of the texts. ``query_ids`` and ``query_attention_mask`` are (N, Q), and
        ``paired``, (N,) bool, is True for texts in L_ICT. Under ``text``, ``context_ids`` and
        ``context_attention_mask``, (N, L), are of the positives.
        """
        texts = self.texts(examples)
        places = [(example["epoch"], example["index"]) for example in examples]
        drawn = [self.pair(text, *place) for text, place in zip(texts, places, strict=True)]
        queries, contexts, paired = zip(*drawn, strict=True)
        batch = self.masked(texts if self.apart else contexts, self.generators(examples, MASKS))
        batch |= self._framed("query", queries) | {"paired": torch.tensor(paired)}
        return batch | (self._framed("context", contexts) if self.apart else {})

    def pair(self, text: np.ndarray, epoch: int, index: int) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return a text's pseudo query, (q,), its positive, (c,), and whether the pair is in L_ICT."""
        generator = np.random.default_rng((self.seed, SENTENCES, epoch if self.each_epoch else 0, index))
        bounds = sentences(text, self.ends)
        first, end = bounds[generator.integers(len(bounds))].tolist()
        whole = generator.random() < self.keep or len(bounds) == 1
        context = text if whole else np.concatenate((text[:first], text[end:]))
        return text[first:end][: self.query_room], context, len(bounds) > 1 or not self.drop

    def forward(self, batch: Tensors) -> Tensors:
        """Return the losses of the whole batch. Sentences are encoded only if two or more texts are in
        L_ICT."""
        return self.losses(self.represent(batch, contrast=bool(on_host(batch["paired"]).sum() > 1)))

    def represent(self, batch: Tensors, *, contrast: bool = True) -> Tensors:
        """Return the representations of a part of a batch: the keys of ``mlm_rows()`` and, with ``contrast``,
        ``queries`` and ``contexts``, (P, H), of its P texts in L_ICT."""
        hidden = self.hidden(batch["masked_ids"], batch["attention_mask"])  # (N, L, H)
        paired, represented = places_of(batch["paired"]), mlm_rows(hidden, self.encoder.cls, batch["labels"])
        if contrast:
            if self.apart:
                hidden = self.hidden(batch["context_ids"], batch["context_attention_mask"])
            queries = self.hidden(batch["query_ids"], batch["query_attention_mask"])[:, 0]  # (N, H)
            represented |= {"queries": queries[paired], "contexts": hidden[:, 0][paired]}
        return represented

    def losses(self, represented: Tensors) -> Tensors:
        losses = mlm_loss(represented, reduction=self.mlm_reduction)
        if len(represented.get("queries", ())) > 1:
            loss = self.contrast(represented["queries"], represented["contexts"])
            losses["contrastive"] = self.weight * loss
        return losses

    def _framed(self, name: str, texts: tuple[np.ndarray, ...]) -> Tensors:
        cls, sep = self.tokenizer.cls_token_id, self.tokenizer.sep_token_id
        rows = [np.concatenate(([cls], text, [sep])) for text in texts]
        return {
            f"{name}_ids": padded(rows, value=self.tokenizer.pad_token_id),
            f"{name}_attention_mask": padded([np.ones_like(row) for row in rows], value=0),
        }
