"""Models, texts and objectives of random numbers, which the jobs of ``gpu.py`` share."""

from __future__ import annotations

import contextlib
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from pretraining import GPU, SPAN, SPANS, SPECIAL, RandomTexts, made, pretrainings
from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast
from transformers.utils import is_flash_attn_2_available

from papers.simlm import generator as simlm_generator
from repro.retrieval.nn.bi_encoder import BiEncoderContrastive
from repro.retrieval.nn.checkpoint import load_encoder, load_tokenizer
from repro.retrieval.training.parts import backward_in_parts

DEVICE = torch.device("cuda" if GPU else "cpu")
CPU = torch.device("cpu")
TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
Losses = dict[str, torch.Tensor]
SCALE = 1024.0  # of a loss in fp16, whose gradients would be too small for it, as a training scales it
SHORT = 0.15  # of the spans of a document


def precision(name: str, where: torch.device = DEVICE) -> contextlib.AbstractContextManager:
    """The context of a forward pass in that precision, half precision on a CPU too."""
    return contextlib.nullcontext() if name == "fp32" else torch.autocast(where.type, dtype=TYPES[name])


class UnevenTexts(RandomTexts):
    """Random texts of uneven lengths: half of the greatest on average, as passages of MS MARCO are; of a
    document's spans a share are ``short``."""

    short = SHORT

    def __getitems__(self, places: Sequence[tuple[int, int]]) -> list[dict]:
        return [self._cut(row) for row in super().__getitems__(places)]

    def _cut(self, row: dict) -> dict:
        random = np.random.default_rng((1, row["index"]))
        if not self.documents:
            return row | {"input_ids": row["input_ids"][: lengths(random, 1, most=self.room)[0]]}
        short = random.random(SPANS) < self.short
        spans = np.where(short, random.integers(1, row["spans"] + 1), row["spans"])
        sentences = row["sentences"][: spans.sum()]
        return row | {
            "input_ids": row["input_ids"][: SPAN * len(sentences)],
            "sentences": sentences,
            "spans": spans,
        }


def lengths(random: np.random.Generator, count: int, *, most: int, mean: float | None = None) -> np.ndarray:
    """Words of so many texts, 8 to ``most``, with ``mean`` on average, or half of the most."""
    return np.clip(random.gamma(4, (mean or most / 2) / 4, count).astype(int), 8, most)


def precisions() -> tuple[str, ...]:
    """The precisions that the suite offers here: half of one needs a GPU."""
    return ("fp32", "fp16", "bf16") if GPU else ("fp32",)


def pretraining(
    paper: str, folder: Path, chosen: Namespace, *, uneven: bool = True
) -> tuple[torch.nn.Module, RandomTexts]:
    """A paper's objective at the planned length, in the weights of ``chosen``, and its texts."""
    folder.mkdir(parents=True, exist_ok=True)
    objective, rows = made(pretrainings()[paper], folder / paper, chosen)
    kind = UnevenTexts if uneven else RandomTexts
    how = {"vocabulary": chosen.vocabulary, "documents": rows.documents}
    return objective, kind(length=pretrainings()[paper].params["length"], **how)


def first(rows: RandomTexts, count: int) -> list[dict]:
    """So many examples."""
    return rows.__getitems__([(0, index) for index in range(count)])


def tokens_of(batch: Losses) -> int:
    """The tokens of a collated batch without padding; of texts that it has on several sides, the first."""
    masks = [value for name, value in batch.items() if "attention_mask" in name]
    return sum(int(mask.sum()) for mask in masks or [batch["encoder_attention"]])


def save_encoder(folder: Path, chosen: Namespace) -> Path:
    """A model directory with random weights, and a tokenizer of invented words."""
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join([*SPECIAL, *words(chosen.vocabulary)]))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    masked_lm(chosen).bert.save_pretrained(folder)
    return folder


def masked_lm(chosen: Namespace, *, attention: str = "sdpa", dropout: float = 0.1) -> BertForMaskedLM:
    """A BERT with random weights, the same ones each time."""
    torch.manual_seed(0)
    sizes = {
        "num_hidden_layers": chosen.layers,
        "hidden_size": chosen.hidden,
        "vocab_size": chosen.vocabulary,
    }
    sizes |= {"num_attention_heads": max(1, chosen.hidden // 64)}
    sizes |= {"intermediate_size": 4 * chosen.hidden}
    sizes |= {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    return BertForMaskedLM._from_config(BertConfig(**sizes), attn_implementation=attention)


def words(vocabulary: int) -> list[str]:
    """Invented words, each one token."""
    return [f"w{number}" for number in range(len(SPECIAL), vocabulary)]


def texts(count: int, chosen: Namespace, *, mean: int = 72, most: int = 142) -> list[str]:
    """Texts of 8 to ``most`` words with ``mean`` on average, about as passages of MS MARCO are."""
    random, known = np.random.default_rng(1), np.array(words(chosen.vocabulary))
    drawn = lengths(random, count, most=most, mean=mean)
    return [" ".join(known[random.integers(0, len(known), length)]) for length in drawn]


def queries_with_passages(chosen: Namespace, *, passages: int) -> list[dict]:
    """Examples of fine-tuning: a short query, and passages of which the first is the positive."""
    asked = texts(chosen.queries, chosen, mean=9, most=30)
    read = texts(chosen.queries * passages, chosen)
    return [
        {"query": query, "passages": [{"title": "", "text": read[n * passages + k]} for k in range(passages)]}
        for n, query in enumerate(asked)
    ]


def bi_encoder(folder: Path, chosen: Namespace, *, passages: int = 4) -> tuple[BiEncoderContrastive, list]:
    """The objective of fine-tuning on a new model, ``folder / "start"``, and its examples."""
    folder.mkdir(parents=True, exist_ok=True)
    start = save_encoder(folder / "start", chosen)
    objective = BiEncoderContrastive(
        load_encoder(start),
        load_tokenizer(start),
        temperature=1.0,
        similarity="dot",
        negatives="in-batch",
        projector="none",
        projector_start="new",
        pooling="cls",
        query_length=32,
        passage_length=144,
        separator=" ",
        start=start,
    )
    return objective, queries_with_passages(chosen, passages=passages)


def sentence_transformer(folder: Path):
    """The peer with the same weights; with flash attention it flattens its inputs."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    attention = {"attn_implementation": "flash_attention_2" if has_flash() else "sdpa"}
    transformer = Transformer(str(folder), max_seq_length=144, model_kwargs=attention)
    pooling = Pooling(transformer.get_embedding_dimension(), "cls")
    return SentenceTransformer(modules=[transformer, pooling], device=DEVICE.type)


def has_flash() -> bool:
    """Whether transformers, and sentence-transformers with it, finds flash attention here."""
    return GPU and is_flash_attn_2_available()


def without_dropout(objective: torch.nn.Module) -> torch.nn.Module:
    """The same objective, none of whose layers drops anything out."""
    for layer in objective.modules():
        if isinstance(layer, torch.nn.Dropout):
            layer.p = 0.0
        for name in ("attention_dropout", "dropout_prob"):
            if isinstance(getattr(layer, name, None), float):
                setattr(layer, name, 0.0)
    return objective


@contextlib.contextmanager
def likeliest_replacements() -> Iterator[None]:
    """SimLM's generator takes its likeliest token meanwhile: devices draw other ones from one seed."""
    sampled = simlm_generator.sampled
    simlm_generator.sampled = lambda hidden, head: head(hidden).argmax(dim=-1)
    try:
        yield
    finally:
        simlm_generator.sampled = sampled


def backward(
    objective: torch.nn.Module,
    pieces: list[Losses],
    *,
    where: torch.device = DEVICE,
    name: str = "fp32",
    scale: float = 1.0,
) -> Losses:
    """The losses of a batch in parts; its gradients, times ``scale``, are left with the parameters."""
    objective.to(where).train().zero_grad()
    moved = [{key: value.to(where) for key, value in piece.items()} for piece in pieces]
    how = {"backward": lambda loss: (loss * scale).backward(), "autocast": lambda: precision(name, where)}
    return backward_in_parts(objective, moved, **how)


def gradients(objective: torch.nn.Module, pieces: list[Losses], **how) -> tuple[float, torch.Tensor]:
    """The sum of the losses, and all gradients as one vector, in float64 on the CPU."""
    scale = SCALE if how.get("name") == "fp16" else 1.0
    losses = backward(objective, pieces, **how, scale=scale)
    found = [
        torch.zeros(p.numel(), dtype=torch.float64) if p.grad is None else p.grad.flatten().double().cpu()
        for p in objective.parameters()
    ]
    return float(sum(losses.values())), torch.cat(found) / scale
