"""Whether a GPU computes what a CPU does: the jobs of ``gpu.py`` that come before any rate is believed.

Each job yields rows of what was compared, how far apart both are, and the bound. Bounds of single precision
are for its rounding; those of half precision for losses and gradients of random weights.
"""

from __future__ import annotations

import contextlib
import importlib.util
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from datasets import Dataset
from gpu_models import (
    DEVICE,
    gradients,
    likeliest_replacements,
    masked_lm,
    precision,
    pretraining,
    queries_with_passages,
    save_encoder,
    texts,
    without_dropout,
)
from pretraining import pretrainings
from search import made as made_vectors

from repro.machine.versions import faiss_gpu
from repro.nn.bi_encoder import BiEncoderContrastive
from repro.nn.checkpoint import load_encoder, load_tokenizer
from repro.nn.encoder import load_text_encoder
from repro.nn.length_buckets import length_buckets
from repro.progress import Progress
from repro.stages import encode
from repro.stages import search as stage
from repro.training.loop import train
from repro.training.optimisation import Execution, Optimisation

# relative, of the loss and of all gradients as one vector
BOUNDS = {"fp32": (1e-5, 1e-3), "fp16": (1e-2, 0.05), "bf16": (3e-2, 0.15)}
CPU = torch.device("cpu")


def row(compared: str, distance: float, bound: float, note: str = "") -> dict:
    return {
        "compared": compared,
        "apart by": f"{distance:.1e}",
        "bound": f"{bound:g}",
        "holds": "yes" if distance <= bound else "NO",
        "note": note,
    }


def pretraining_check(paper: str):
    """A job: a paper's losses and gradients on the device against those of the CPU in single precision."""

    def job(folder: Path, chosen: Namespace) -> Iterator[dict]:
        objective, examples = pretraining(paper, folder, chosen)
        without_dropout(objective)
        batch = [objective.collate(examples[: chosen.checked])]
        with likeliest_replacements():
            expected = gradients(objective, batch, where=CPU)
            for name in BOUNDS:
                found = gradients(objective, batch, name=name)
                yield from rows_of(f"{paper}, {name} on {DEVICE.type} and fp32 on cpu", expected, found, name)

    return job


def rows_of(compared: str, expected, found, name: str) -> Iterator[dict]:
    (loss, gradient), (other, others) = expected, found
    yield row(f"{compared}: loss", abs(other / loss - 1), BOUNDS[name][0])
    apart = (others - gradient).norm() / gradient.norm()
    yield row(f"{compared}: gradient", float(apart), BOUNDS[name][1])


def attention(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """Fused attention, flash attention where it is installed, and plain attention: equal hidden states."""
    ids = torch.randint(5, chosen.vocabulary, (8, 64), generator=torch.Generator().manual_seed(1))
    mask = (torch.arange(64) < torch.tensor([64, 60, 50, 40, 30, 20, 10, 5])[:, None]).long()
    inputs = {"input_ids": ids.to(DEVICE), "attention_mask": mask.to(DEVICE)}
    ways = ["sdpa"] + ["flash_attention_2"] * (importlib.util.find_spec("flash_attn") is not None)
    for way in ways:
        name = "fp32" if way == "sdpa" else "bf16"
        hidden = {}
        for one in ("eager", way):
            model = masked_lm(chosen, attention=one).bert.to(DEVICE).eval()
            with torch.no_grad(), precision(name):
                hidden[one] = model(**inputs).last_hidden_state[inputs["attention_mask"].bool()].float()
        apart = (hidden[way] - hidden["eager"]).norm() / hidden["eager"].norm()
        yield row(f"{way} and eager, {name}", float(apart), 1e-5 if name == "fp32" else 3e-2)


def bi_encoder(folder: Path, chosen: Namespace, *, passages: int = 4) -> tuple[BiEncoderContrastive, list]:
    """The objective of fine-tuning on a new model, and its examples."""
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


def fine_tuning(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """Fine-tuning on both devices, in groups of similar lengths, and with its gradient cached."""
    objective, examples = bi_encoder(folder, chosen)
    without_dropout(objective)
    for parameter in objective.parameters():  # else vectors of random weights are too alike to tell texts
        torch.nn.init.normal_(parameter, std=0.05) if parameter.dim() > 1 else None
    examples = examples[: chosen.checked]
    whole = [objective.collate(examples)]
    expected = gradients(objective, whole, where=CPU)
    for name in BOUNDS:
        found = gradients(objective, whole, name=name)
        yield from rows_of(f"fine-tuning, {name} on {DEVICE.type} and fp32 on cpu", expected, found, name)
    parts = [objective.collate(examples[n : n + 2]) for n in range(0, len(examples), 2)]
    yield from rows_of("fine-tuning, gradient cached in parts", expected, gradients(objective, parts), "fp32")
    with length_buckets(4):
        found = gradients(objective, whole)
    yield from rows_of("fine-tuning, in 4 length buckets", expected, found, "fp32")


class Killed(Progress):
    """Raises after so many steps, as a kill would end the process."""

    def __init__(self, after: int):
        self.left = after

    @contextlib.contextmanager
    def task(self, name: str, total: int | None = None, **_) -> Iterator:
        yield self.advance

    def advance(self, n: int = 1) -> None:
        self.left -= n
        if self.left < 0:
            raise KeyboardInterrupt


def resumed(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """A training that is interrupted and goes on, beside one that is not: the same weights at the end."""
    weights = {}
    for name in precisions():
        for way in ("whole", "interrupted"):
            weights[name, way] = after_12_steps(folder / name / way, name, chosen, killed=way != "whole")
        apart = (weights[name, "whole"] - weights[name, "interrupted"]).abs().max()
        bound = 0 if DEVICE == CPU else 1e-4
        yield row(f"weights after 12 steps, {name}, killed at 7 and resumed", float(apart), bound)
        moved = (weights[name, "whole"] - weights["fp32", "whole"]).norm() / weights["fp32", "whole"].norm()
        yield row(f"weights after 12 steps, {name} and fp32", float(moved), BOUNDS[name][1])


def after_12_steps(folder: Path, name: str, chosen: Namespace, *, killed: bool) -> torch.Tensor:
    """All weights of SimLM's pre-training after 12 steps, as one vector."""
    objective, examples = pretraining("simlm", folder / "new", chosen)
    rows = Rows(examples[:8])
    how = Optimisation.of(pretrainings()["simlm"].params | {"precision": name}, batch_size=4)
    how = replace(how, epochs=None, max_steps=12)
    given = {"out": folder, "execution": Execution(save_steps=3)}
    if killed:
        with contextlib.suppress(KeyboardInterrupt):
            train(objective, rows, how, progress=Killed(7), **given)
        objective, _ = pretraining("simlm", folder / "again", chosen)
    train(objective, rows, how, progress=Progress(), **given)
    return torch.cat([p.detach().flatten().double().cpu() for p in objective.parameters()])


class Rows:
    """A few examples as a training takes them."""

    def __init__(self, rows: list[dict]):
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitems__(self, places) -> list[dict]:
        return [self.rows[index] | {"epoch": epoch, "index": index} for epoch, index in places]


def encoding(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """The stage ``encode`` on the device against one text at a time on the CPU."""
    start, read = save_encoder(folder / "start", chosen), texts(64, chosen)
    vectors = {name: encoded(start, read, folder / name, name) for name in precisions()}
    model, tokenizer = load_text_encoder(start, pooling="cls").eval(), load_tokenizer(start)
    how = {"truncation": True, "max_length": 144, "return_tensors": "pt"}
    with torch.inference_mode():
        expected = np.stack([model(dict(tokenizer([text], **how)))[0].numpy() for text in read])
    for name, found in vectors.items():
        apart = np.linalg.norm(found - expected) / np.linalg.norm(expected)
        bound = {"fp32": 1e-5, "fp16": 5e-3, "bf16": 3e-2}[name]
        yield row(f"vectors of the stage, {name}, and of single texts on the CPU", float(apart), bound)


def precisions() -> tuple[str, ...]:
    """The precisions that the suite offers here: half of one needs a GPU."""
    return ("fp32", "fp16", "bf16") if DEVICE.type == "cuda" else ("fp32",)


def encoded(start: Path, read: list[str], out: Path, name: str) -> np.ndarray:
    """The vectors of texts as the stage makes them, (N, H)."""
    source, model = out / "texts", out / "of"
    (out / "vectors").mkdir(parents=True)
    model.mkdir()
    (model / "model").symlink_to(start.resolve())
    columns = {"id": [str(n) for n in range(len(read))], "title": [""] * len(read), "text": read}
    Dataset.from_dict(columns).save_to_disk(str(source / "arrow"))
    params = {"kind": "passages", "length": 144, "separator": " ", "pooling": "cls", "normalize": False}
    inputs = {"model": model, "texts": source}
    encode.run(params | {"precision": name}, inputs, out / "vectors", Progress())
    return np.load(out / "vectors" / "vectors.npy")


def search(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """The stage ``search``, which takes faiss on the GPU where there is one, against float64."""
    made_vectors(folder / "passages", "d", chosen.vectors // 10, chosen.hidden)
    made_vectors(folder / "queries", "q", 50, chosen.hidden)
    out = folder / "out"
    out.mkdir()
    stage.run({"depth": 100}, {n: folder / n for n in ("passages", "queries")}, out, Progress())
    passages, asked = (
        np.load(folder / n / "vectors.npy").astype(np.float64) for n in ("passages", "queries")
    )
    ranked: dict[str, list[str]] = {}
    for line in (out / "run.trec").read_text().splitlines():
        topic, _, document, *_ = line.split()
        ranked.setdefault(topic, []).append(document)
    wrong = 0
    for number, scores in enumerate(asked @ passages.T):
        best = sorted(range(len(scores)), key=lambda n: (scores[n], f"d{n}"), reverse=True)[:100]
        wrong += ranked[f"q{number}"] != [f"d{n}" for n in best]
    used = "faiss on the GPU" if faiss_gpu() and DEVICE.type == "cuda" else "faiss on the CPU"
    yield row("rankings of 50 queries that differ from float64", wrong, 0, used)


CHECKS = {f"check {paper}": pretraining_check(paper) for paper in pretrainings()} | {
    "check attention": attention,
    "check fine-tuning": fine_tuning,
    "check resumed training": resumed,
    "check encoding": encoding,
    "check search": search,
}
