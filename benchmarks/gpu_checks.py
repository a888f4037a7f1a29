"""Whether a GPU computes what a CPU does: the jobs of ``gpu.py`` that come before any rate is believed.

Each job yields rows of what was compared, how far apart both are, and the bound. Bounds of single precision
are for its rounding; those of half precision for losses and gradients of random weights. Every model and
every loss is held against itself on the CPU, padded and in single precision.
"""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
from gpu_inference import could_be_packed, encoded
from gpu_models import (
    CPU,
    DEVICE,
    backward,
    bi_encoder,
    first,
    gradients,
    likeliest_replacements,
    precisions,
    pretraining,
    queries_with_passages,
    save_encoder,
    texts,
    without_dropout,
)
from gpu_rates import parts
from pretraining import pretrainings
from search import brute_force
from search import made as made_vectors

from repro.progress import Progress
from repro.retrieval.nn import padding_free as packing
from repro.retrieval.nn.checkpoint import load_tokenizer
from repro.retrieval.nn.cross_encoder import CrossEncoder, load_cross_encoder
from repro.retrieval.nn.encoder import load_text_encoder
from repro.retrieval.nn.padding_free import padding_free
from repro.retrieval.stages import search as stage
from repro.retrieval.training.declaration import Execution
from repro.retrieval.training.parts import Parts, random_state, restore_random_state

# relative, of the loss and of all gradients as one vector
BOUNDS = {"fp32": (1e-5, 1e-3), "fp16": (1e-2, 0.05), "bf16": (3e-2, 0.25)}
VECTORS = {"fp32": 1e-5, "fp16": 5e-3, "bf16": 3e-2}
Comparison = tuple[float, torch.Tensor]  # a loss and its gradient


def row(compared: str, distance: float, bound: float, note: str = "") -> dict:
    return {
        "compared": compared,
        "apart by": f"{distance:.1e}",
        "bound": f"{bound:.2g}",
        "holds": "yes" if distance <= bound else "NO",
        "note": note,
    }


def rows_of(compared: str, expected: Comparison, found: Comparison, name: str, note: str = "") -> Iterator:
    (loss, gradient), (other, others) = expected, found
    yield row(f"{compared}: loss", abs(other / loss - 1), BOUNDS[name][0], note)
    yield row(f"{compared}: gradient", relative(others, gradient), BOUNDS[name][1], note)


def relative(found, expected) -> float:
    """The distance of two vectors over the length of the second."""
    found, expected = (torch.as_tensor(some).double().cpu() for some in (found, expected))
    return float((found - expected).norm() / expected.norm())


def spread_out(objective: torch.nn.Module) -> torch.nn.Module:
    """The objective with weights that tell texts apart, without dropout; new ones make all vectors alike."""
    torch.manual_seed(2)
    for parameter in objective.parameters():
        torch.nn.init.normal_(parameter, std=0.05) if parameter.dim() > 1 else None
    return without_dropout(objective)


def compared_with_cpu(
    work: str, objective: torch.nn.Module, whole: list, pieces: list, *, in_parts: str = "in parts"
) -> Iterator[dict]:
    """A loss and its gradient on the device in every precision, padded and without padding, as one batch and
    in parts, against the padded batch in single precision on the CPU."""
    expected = gradients(objective, whole, where=CPU)
    for name in BOUNDS:
        where = f"{name} on {DEVICE.type} and fp32 on cpu"
        yield from rows_of(f"{work}, {where}", expected, gradients(objective, whole, name=name), name)
        kernel = patch.object(packing, "by_kernel", wraps=packing.by_kernel)
        with padding_free(objective, True) as packed_batch, kernel as calls:
            loss, gradient = gradients(objective, whole, name=name)
        loss = loss if packed_batch.used else math.nan
        note = "one kernel for all texts" if calls.called else "text by text"
        note = note if packed_batch.used else "no batch was read without padding"
        yield from rows_of(f"{work} without padding, {where}", expected, (loss, gradient), name, note)
    for name in ("fp32", "bf16"):
        found = gradients(objective, pieces, name=name)
        yield from rows_of(f"{work}, {in_parts}, {name}", expected, found, name)
    with padding_free(objective, True), patch.object(packing, "has_kernel", lambda *_: False):
        found = gradients(objective, pieces, name="bf16")
    yield from rows_of(f"{work} without padding, {in_parts}, bf16", expected, found, "bf16", "text by text")


def pretraining_check(paper: str):
    """A job: a paper's losses and gradients on texts of uneven lengths."""

    def job(folder: Path, chosen: Namespace) -> Iterator[dict]:
        objective, rows = pretraining(paper, folder, chosen)
        without_dropout(objective)
        rows.short = 0.5
        examples = first(rows, chosen.checked)
        execution, cut = Execution(micro_batch=max(1, len(examples) // 2)), getattr(objective, "cut", None)
        pieces = Parts(objective.collate, execution, cut)(examples)
        with likeliest_replacements():
            yield from compared_with_cpu(paper, objective, [objective.collate(examples)], pieces)

    return job


def fine_tuning(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """Fine-tuning, and its gradient cached, which draws dropout twice."""
    objective, examples = bi_encoder(folder, chosen)
    examples = examples[: chosen.checked]
    whole = [objective.collate(examples)]
    pieces = [objective.collate(some) for some in parts(examples, 2)]
    yield from same_dropout(objective.to(DEVICE).train(), pieces)
    spread_out(objective)
    yield from compared_with_cpu("fine-tuning", objective, whole, pieces, in_parts="gradient cached in parts")


def same_dropout(objective: torch.nn.Module, pieces: list) -> Iterator[dict]:
    """A cached gradient, whose parts are encoded twice, and the uncached one of the same dropout."""
    moved = [{name: values.to(DEVICE) for name, values in piece.items()} for piece in pieces]
    start = random_state(DEVICE)
    for free in (False, True):
        with padding_free(objective, free):
            restore_random_state(start, DEVICE)
            backward(objective, pieces)
            cached = gradient_of(objective)
            objective.zero_grad()
            restore_random_state(start, DEVICE)
            encoded_parts = [objective.represent(piece) for piece in moved]
            names = encoded_parts[0]
            together = {name: torch.cat([part[name] for part in encoded_parts]) for name in names}
            sum(objective.losses(together).values()).backward()
        way = " without padding" * free
        compared = f"fine-tuning{way}: gradient cached and not, same dropout, fp32"
        yield row(compared, relative(cached, gradient_of(objective)), BOUNDS["fp32"][1])


def gradient_of(objective: torch.nn.Module) -> torch.Tensor:
    return torch.cat([p.grad.flatten().double() for p in objective.parameters() if p.grad is not None])


def re_ranker(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """The re-ranker's loss over queries with four passages."""
    start = save_encoder(folder / "start", chosen)
    how = {"trained_passages": 4, "regulariser": "none", "passage_length": 192, "separator": " "}
    objective = spread_out(CrossEncoder(load_cross_encoder(start), load_tokenizer(start), **how))
    examples = queries_with_passages(chosen, passages=4)[: chosen.checked]
    pieces = [objective.collate(some) for some in parts(examples, 2)]
    yield from compared_with_cpu("re-ranker", objective, [objective.collate(examples)], pieces)


def encoding(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """The stage ``encode``, padded and without padding, against single texts on the CPU in fp32."""
    start, read = save_encoder(folder / "start", chosen), texts(40, chosen)
    encoder, tokenizer = load_text_encoder(start, pooling="cls").eval(), load_tokenizer(start)
    expected = []
    for text in read:
        inputs = tokenizer(text, truncation=True, max_length=144, return_tensors="pt")
        with torch.no_grad():
            expected.append(encoder(dict(inputs))[0].numpy())
    for name in precisions():
        for free in (False, True):
            way = " without padding" * free
            if free and not could_be_packed(name):
                continue
            found, told = encoded(start, read, folder / f"{name}{way}", name, free=free)
            distance = math.nan if free and not told["packed"] else relative(found, np.stack(expected))
            compared = f"vectors of the stage{way}, {name}, and of single texts on the CPU"
            yield row(compared, distance, VECTORS[name], told["why"])


def search(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """The stage ``search``, on the GPU where there is one, against float64."""
    asked = Namespace(queries=50, sample=50, depth=100)
    made_vectors(folder / "passages", "d", chosen.vectors // 10, chosen.hidden)
    made_vectors(folder / "queries", "q", asked.queries, chosen.hidden)
    out = folder / "out"
    out.mkdir()
    inputs = {name: folder / name for name in ("passages", "queries")}
    stage.run({"depth": asked.depth}, inputs, out, Progress())
    ranked: dict[str, list[str]] = {}
    for line in (out / "run.trec").read_text().splitlines():
        topic, _, document, *_ = line.split()
        ranked.setdefault(topic, []).append(document)
    expected = brute_force(folder, asked)
    wrong = sum(ranked[topic] != documents for topic, documents in expected.items())
    used = "on the GPU" if DEVICE.type == "cuda" else "on the CPU"
    yield row("rankings of 50 queries that differ from float64", wrong, 0, used)


Job = Callable[[Path, Namespace], Iterator[dict]]
CHECKS: dict[str, Job] = {f"check {paper}": pretraining_check(paper) for paper in pretrainings()} | {
    "check fine-tuning": fine_tuning,
    "check re-ranker": re_ranker,
    "check encoding": encoding,
    "check search": search,
}
