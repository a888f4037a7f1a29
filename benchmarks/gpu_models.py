"""Models, texts and objectives of random numbers, which the jobs of ``gpu.py`` share."""

from __future__ import annotations

import contextlib
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from pretraining import GPU, SPECIAL, made, pretrainings
from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

from papers.simlm import generator as simlm_generator
from repro.training.micro_batches import backward_in_parts
from repro.training.process_group import OutOfMemory

DEVICE = torch.device("cuda" if GPU else "cpu")
TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
Losses = dict[str, torch.Tensor]


def precision(name: str, where: torch.device = DEVICE) -> contextlib.AbstractContextManager:
    """The context of a forward pass in that precision, half precision on a CPU too."""
    return contextlib.nullcontext() if name == "fp32" else torch.autocast(where.type, dtype=TYPES[name])


def pretraining(paper: str, folder: Path, chosen: Namespace) -> tuple[torch.nn.Module, list[dict]]:
    """A paper's objective at the planned length, in the weights of ``chosen``, and one batch of examples."""
    folder.mkdir(parents=True, exist_ok=True)
    objective, rows = made(pretrainings()[paper], folder / paper, chosen)
    return objective, rows.__getitems__([(0, index) for index in range(chosen.texts)])


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
    random, known = np.random.default_rng(1), words(chosen.vocabulary)
    lengths = np.clip(random.gamma(4, mean / 4, count).astype(int), 8, most)
    return [" ".join(known[n] for n in random.integers(0, len(known), length)) for length in lengths]


def queries_with_passages(chosen: Namespace, *, passages: int) -> list[dict]:
    """Examples of fine-tuning: a short query, and passages of which the first is the positive."""
    asked = texts(chosen.queries, chosen, mean=9, most=30)
    read = texts(chosen.queries * passages, chosen)
    return [
        {"query": query, "passages": [{"title": "", "text": read[n * passages + k]} for k in range(passages)]}
        for n, query in enumerate(asked)
    ]


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
    objective: torch.nn.Module, pieces: list[Losses], *, where: torch.device = DEVICE, name: str = "fp32"
) -> Losses:
    """The losses of a batch in parts; its gradients are left with the parameters."""
    objective.to(where).train().zero_grad()
    moved = [{key: value.to(where) for key, value in piece.items()} for piece in pieces]
    how = {"backward": torch.Tensor.backward, "autocast": lambda: precision(name, where)}
    return backward_in_parts(objective, moved, **how)


def gradients(objective: torch.nn.Module, pieces: list[Losses], **how) -> tuple[float, torch.Tensor]:
    """The sum of the losses, and all gradients as one vector, in float64 on the CPU."""
    losses = backward(objective, pieces, **how)
    found = [p.grad.flatten().double().cpu() for p in objective.parameters() if p.grad is not None]
    return float(sum(losses.values())), torch.cat(found)


def most_that_fits(attempt: Callable[[int], None], *, limit: int) -> tuple[int, bool]:
    """The greatest power of two, up to ``limit``, with which ``attempt`` does not run out of a GPU's memory;
    and whether it is the limit that stopped it."""
    size = 1
    while size <= limit:
        try:
            attempt(size)
        except (torch.OutOfMemoryError, OutOfMemory):
            break
        finally:
            if GPU:
                torch.cuda.empty_cache()
        size *= 2
    return size // 2, size > limit
