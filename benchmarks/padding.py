"""Pre-training on texts of mixed lengths: padded to the longest of a batch, and end to end.

SimLM's pre-training of the full plan and BERT's, as REPRO_PADDING_FREE has it, on a smaller model without
dropout; the texts are random tokens, 16 to 142 of them, each length as likely. Each runs in a process of its
own. BERT's losses are compared; SimLM draws other replacements where its texts come in another order.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from measuring import Beside, child, peak
from pretraining import (
    SKIPPED,
    SPECIAL,
    RandomTexts,
    Timed,
    made,
    model,
    pretrainings,
    sized,
    told_by_child,
)
from report import write
from torch import nn

from repro.retrieval.nn.objectives import MaskedLanguageModel
from repro.retrieval.training.declaration import Execution, Optimisation
from repro.retrieval.training.loop import train

SHORTEST = 16
OBJECTIVES = ["BERT", "SimLM"]
UNSAVED = {"REPRO_SAVE_STEPS": str(10**9)}
WAYS = {
    "padded": UNSAVED | {"REPRO_PADDING_FREE": "0"},
    "without padding": UNSAVED | {"REPRO_PADDING_FREE": "1"},
}
MASKING = {"rate": 0.3, "mask": 0.8, "random": 0.1}


class MixedTexts(RandomTexts):
    """Rows as of a tokens artefact, from ``SHORTEST`` tokens to the full length."""

    def __getitems__(self, places):
        rows = []
        for epoch, index in places:
            random = np.random.default_rng(index)
            count = random.integers(SHORTEST, self.room + 1)
            ids = random.integers(len(SPECIAL), self.vocabulary, count)
            rows.append({"input_ids": ids, "epoch": epoch, "index": index})
        return rows


class CpuTimed(Timed):
    """The CPU seconds of this process when each step ended."""

    def _advance(self, n: int = 1) -> None:
        self.ended.append(time.process_time())


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--objectives", nargs="+", choices=OBJECTIVES, default=OBJECTIVES)
    options.add_argument("--texts", type=int, default=32, help="a step")
    options.add_argument("--steps", type=int, default=15)
    options.add_argument("--rounds", type=int, default=2, help="of which the least counts")
    chosen = sized(options, layers=4, hidden=256)
    if chosen.child:
        return told_by_child(measured, chosen)
    rows, beside = [], []
    for name in chosen.objectives:
        told = {way: [] for way in WAYS}
        for _ in range(chosen.rounds):
            for way, runs in told.items():
                runs.append(child(__file__, [*sys.argv[1:], "--child", name], WAYS[way]))
        found = {way: least(runs) for way, runs in told.items()}
        plain = found["padded"]
        apart = max(abs(plain["loss"] / other["loss"] - 1) for other in found.values())
        assert name == "SimLM" or apart < 1e-5, f"losses differ by {apart}"
        rows += [
            {
                "objective": name,
                "model": f"{chosen.layers} x {chosen.hidden}",
                "batch": way,
                "texts a step": f"{chosen.texts} of {SHORTEST} to 142 tokens",
                "CPU seconds a step, median": f"{best['seconds']:.2f}",
                "time over the padded one's": f"{best['seconds'] / plain['seconds']:.2f}",
                "peak memory": f"{best['peak'] / 1e6:.0f} MB",
                "loss at the end": f"{best['loss']:.5f}",
            }
            for way, best in found.items()
        ]
        taken = {way: [run["seconds"] for run in runs] for way, runs in told.items()}
        for way in list(WAYS)[1:]:
            memory = found[way]["peak"], plain["peak"]
            path = f"a step of {name}, {way}"
            beside.append(Beside(path, "padded", "CPU seconds", taken[way], taken["padded"], memory))
    write("Padding in pre-training", rows, beside=beside)


def least(runs: list[dict]) -> dict:
    """The run of fewest seconds a step."""
    return min(runs, key=lambda run: run["seconds"])


def measured(name: str, folder: Path, chosen: argparse.Namespace) -> dict[str, float]:
    node = pretrainings()["simlm"]
    objective, full = made(node, folder, chosen)
    rows = MixedTexts(vocabulary=full.vocabulary, length=node.params["length"], documents=False)
    if name == "BERT":
        objective = MaskedLanguageModel(
            model(chosen.layers, chosen.hidden, chosen.vocabulary),
            objective.tokenizer,
            masking=MASKING,
            reduction="mean",
            length=node.params["length"],
            seed=1,
        )
    for layer in objective.modules():
        if isinstance(layer, nn.Dropout):
            layer.p = 0.0
    settings = Optimisation.of(node.params | {"precision": "fp32"}, batch_size=chosen.texts)
    settings = replace(settings, epochs=None, max_steps=chosen.steps)
    timed = CpuTimed()
    with peak() as grown:
        facts = train(
            objective, rows, settings, out=folder, progress=timed, execution=Execution.of(os.environ)
        )
    taken = [after - before for before, after in pairwise(timed.ended[SKIPPED:])]
    held = grown["peak"] - grown["before"]
    return {"seconds": statistics.median(taken), "peak": held, "loss": facts["losses"]["loss"]}


if __name__ == "__main__":
    main()
