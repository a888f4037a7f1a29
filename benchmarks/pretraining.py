"""Pre-training of each paper's objective at its own lengths: tokens a second, and the share of the peak.

Objective, options, length and batch are those of the full plan; weights and texts are random, so that nothing
has to be there: a BERT of base size and, for SimLM's generator, one of 12 layers of 256. Every text is full,
so nothing is padded but where an objective draws shorter spans. ``--texts`` examples make a step; the first
steps are not timed. Collation is left out on a CPU, where the trainer collates the batches of eight steps
before the first; on a GPU other processes do it meanwhile. Operations are those that the model needs
(``needed_operations``: none of padding, none that a step computes again), told as a share, with the slowest
and the fastest step, of what one product of the widest matrices of a layer reaches, (texts x length, hidden)
by (hidden, 4 hidden); tokens are texts times length, an example of CoT-MAE v2 counting once. What a paper
states of its own cost stands beside.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from measuring import child, names_among, peak
from report import write
from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

from repro.graph import Node, walk
from repro.manifest.cells import cells_of, is_measured
from repro.manifest.papers import papers, stated_costs
from repro.progress import Progress
from repro.retrieval.training.declaration import Execution, Optimisation
from repro.retrieval.training.loop import train
from repro.retrieval.training.objective import build, import_declared
from repro.running.cost import shapes
from repro.running.cost.estimate import gpus
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import scale

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SPAN, SPANS = 16, 4  # sentences of so many tokens, each document so many times the length in spans
SKIPPED = 5  # steps that warm up
GPU = torch.cuda.is_available()
SLOWER = {"pcie", "nvl"}  # cards, but for the A100's, whose peak is the module's
UNSAVED = Execution(save_steps=10**9)  # no checkpoint is timed


class Timed(Progress):
    """When each step ended."""

    def __init__(self):
        self.ended: list[float] = []

    @contextlib.contextmanager
    def task(self, name: str, total: int | None = None, **_: object) -> Iterator[Callable[[int], None]]:
        yield self._advance

    def _advance(self, n: int = 1) -> None:
        if GPU:
            torch.cuda.synchronize()
        self.ended.append(time.perf_counter())


class RandomTexts:
    """Rows as of a tokens artefact, each of its full length; documents of several spans where asked."""

    def __init__(self, *, vocabulary: int, length: int, documents: bool):
        self.vocabulary, self.room, self.documents = vocabulary, length - 2, documents

    def __len__(self) -> int:
        return 10**6

    def __getitems__(self, places: Sequence[tuple[int, int]]) -> list[dict]:
        rows = []
        for epoch, index in places:
            random = np.random.default_rng(index)
            sentences = -(-self.room // SPAN)
            count = SPANS * sentences * SPAN if self.documents else self.room
            row = {"input_ids": random.integers(len(SPECIAL), self.vocabulary, count)}
            if self.documents:
                row |= {"sentences": np.full(SPANS * sentences, SPAN), "spans": np.full(SPANS, sentences)}
            rows.append(row | {"epoch": epoch, "index": index})
        return rows


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--papers", type=names_among(pretrainings()), default=",".join(pretrainings()))
    options.add_argument(
        "--texts", type=int, default=256 if GPU else 2, help="a step; the micro-batch of a large batch"
    )
    options.add_argument("--steps", type=int, default=30 if GPU else 8)
    options.add_argument("--precision", default="bf16" if GPU else "fp32")
    chosen = sized(options, layers=12, hidden=768)
    if chosen.child:
        return told_by_child(measured, chosen)
    rows = []
    for name in chosen.papers:  # each in a process of its own, for its memory
        rows.append(child(__file__, [*sys.argv[1:], "--child", name]))
    write("Pre-training", rows)


def sized(options: argparse.ArgumentParser, *, layers: int, hidden: int) -> argparse.Namespace:
    """The options given, a model's sizes among them."""
    options.add_argument("--layers", type=int, default=layers)
    options.add_argument("--hidden", type=int, default=hidden)
    options.add_argument("--vocabulary", type=int, default=30522)
    options.add_argument("--child", help=argparse.SUPPRESS)
    return options.parse_args()


def told_by_child(measure: Callable[[str, Path, argparse.Namespace], dict], chosen) -> None:
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(chosen.child, Path(folder) / "made", chosen)))


def measured(name: str, folder: Path, chosen: argparse.Namespace) -> dict[str, object]:
    node = pretrainings()[name]
    matrix = matrix_product(chosen.texts * node.params["length"], chosen.hidden, chosen.precision)
    objective, rows = made(node, folder, chosen)
    settings = Optimisation.of(node.params | {"precision": chosen.precision}, batch_size=chosen.texts)
    settings = replace(settings, epochs=None, max_steps=chosen.steps)
    timed = Timed()
    with peak() as grown:
        facts = train(objective, rows, settings, out=folder, progress=timed, execution=UNSAVED)
    held = torch.cuda.max_memory_allocated() if GPU else grown["peak"] - grown["before"]
    ended = timed.ended[-(chosen.steps - SKIPPED) - 1 :]
    each = sorted(after - before for before, after in pairwise(ended))
    seconds, needed = sum(each) / len(each), needed_of(objective, rows, chosen.texts)
    tokens, achieved = chosen.texts * node.params["length"] / seconds, needed / seconds
    slowest, fastest = (needed / taken / matrix for taken in (each[-1], each[0]))
    sheet = data_sheet(device())
    hours = texts(node) * node.params["length"] / tokens / 3600
    return {
        "objective": name,
        "model": f"{chosen.layers} x {chosen.hidden}",
        "precision": chosen.precision,
        "texts a step": f"{chosen.texts} of {node.params['length']}",
        "tokens a second": f"{tokens:,.0f}",
        "TFLOP/s": f"{achieved / 1e12:.3g}",
        "share of the matrix product at its shapes": f"{achieved / matrix:.0%} "
        f"({slowest:.0%} to {fastest:.0%})",
        "operations made over needed": f"{facts['flops'] / chosen.steps / needed:.2f}",
        "MFU (data sheet)": "–" if sheet is None else f"{achieved / sheet:.0%}",
        "peak memory": f"{held / 1e9:.1f} GB",
        "hours of the full pre-training, projected": f"{hours:,.0f}" if chosen.hidden == 768 else "–",
        "the paper's own": own_cost(name),
    }


def needed_of(objective: torch.nn.Module, rows: RandomTexts, texts: int) -> float:
    """The operations that a step of so many texts needs, from at most 16 of them."""
    from needed_operations import needed_operations  # an earlier version of the suite cannot count them

    some = min(texts, 16)
    return needed_operations(objective, rows.__getitems__([(0, n) for n in range(some)])) * texts / some


def data_sheet(name: str) -> float | None:
    """The peak of a GPU that torch calls so; None for one that is not in the table, or that is slower: a part
    of one, or a card where the table has the module."""
    words = set(re.findall(r"[a-z0-9]+", name.lower()))
    slower = "mig" in words or (words & SLOWER and "a100" not in words)
    sheets = {} if slower else gpus()["sheets"]
    return next((sheet["half"] for gpu, sheet in sheets.items() if gpu in words), None)


def matrix_product(rows: int, hidden: int, precision: str) -> float:
    """Operations a second of (rows, hidden) by (hidden, 4 hidden), the best of many."""
    kind = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[precision]
    how = {"dtype": kind, "device": "cuda" if GPU else "cpu"}
    left, right = torch.randn(rows, hidden, **how), torch.randn(hidden, 4 * hidden, **how)
    taken, timed = [], Timed()
    timed._advance()
    while sum(taken) < 0.5:
        left @ right
        timed._advance()
        taken.append(timed.ended[-1] - timed.ended[-2])
    return 2 * rows * hidden * 4 * hidden / min(taken)


def own_cost(paper: str) -> str:
    """The settings that the paper states for its first pre-training."""
    said = [entry for entry in stated_costs(papers()[paper]) if entry.of.startswith("pre-training")]
    return str(said[0]).partition(": ")[2] if said else "not stated"


@functools.cache
def pretrainings() -> dict[str, Node]:
    """Paper -> its method's pre-training at full scale: the last one behind the first table that has any."""
    found: dict[str, Node] = {}
    for name, source in papers().items():
        for table in source.manifest.tables:
            if name in found:
                break
            cells = [
                c for c in cells_of(source, (table,)) if c.role == "ours" and c.recipe and is_measured(c)
            ]
            planned = plan(cells, scale=scale("full"), machine=Machine())
            nodes = [n for m in planned.measurements for n in walk(m.parts) if n.stage == "pretrain"]
            made_here = [n for n in nodes if n.params["objective"]["path"].startswith(f"{source.package}.")]
            if made_here:
                found[name] = made_here[-1]
    return found


def made(node: Node, folder: Path, chosen: argparse.Namespace) -> tuple[torch.nn.Module, RandomTexts]:
    folder.mkdir()
    words = [*SPECIAL, *(f"w{n}" for n in range(len(SPECIAL), chosen.vocabulary))]
    (folder / "vocab.txt").write_text("\n".join(words))
    tokenizer = BertTokenizerFast(str(folder / "vocab.txt"))
    options = node.params["options"] | {"length": node.params["length"], "seed": 1}
    if "generator" in node.inputs:
        options["generator"] = folder / "generator"
        model(12 if chosen.layers == 12 else 1, 256, chosen.vocabulary).save_pretrained(options["generator"])
        tokenizer.save_pretrained(options["generator"])
    kind = import_declared("objective", node.params["objective"])
    objective = build(kind, model(chosen.layers, chosen.hidden, chosen.vocabulary), tokenizer, options)
    documents = node.inputs["tokens"].params["policy"] == "spans"
    rows = RandomTexts(vocabulary=chosen.vocabulary, length=node.params["length"], documents=documents)
    return objective, rows


def model(layers: int, hidden: int, vocabulary: int) -> BertForMaskedLM:
    torch.manual_seed(0)
    sizes = {"num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": max(1, hidden // 64)}
    return BertForMaskedLM(BertConfig(vocab_size=vocabulary, intermediate_size=4 * hidden, **sizes))


def texts(node: Node) -> float:
    """Examples of the whole pre-training as planned."""
    if node.params["max_steps"]:
        return node.params["max_steps"] * node.params["texts_per_batch"]
    return node.params["epochs"] * shapes.rows(node.inputs["tokens"])


def device() -> str:
    return torch.cuda.get_device_name() if GPU else "CPU"


if __name__ == "__main__":
    main()
