"""Pre-training on texts of mixed lengths, padded to the longest of a batch, and in groups of similar ones.

SimLM's pre-training of the full plan and BERT's, as REPRO_LENGTH_BUCKETS asks, on a smaller model without
dropout; the texts are random tokens, 16 to 142 of them, each length as likely. Each runs in a process of its
own. BERT's losses are compared; SimLM draws other replacements where its texts come in another order.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from peak import peak
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

from repro.nn.mlm import MaskedLanguageModel
from repro.training.loop import train
from repro.training.optimisation import Execution, Optimisation

SHORTEST, BUCKETS = 16, (1, 4)
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


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--texts", type=int, default=32, help="a step")
    options.add_argument("--steps", type=int, default=15)
    chosen = sized(options, layers=4, hidden=256)
    if chosen.child:
        return told_by_child(measured, chosen)
    rows = []
    for name in ("BERT", "SimLM"):
        found = {buckets: child(name, buckets) for buckets in BUCKETS}
        plain = found[1]
        apart = abs(plain["loss"] / found[BUCKETS[-1]]["loss"] - 1)
        assert name == "SimLM" or apart < 1e-5, f"losses differ by {apart}"
        rows += [
            {
                "objective": name,
                "model": f"{chosen.layers} x {chosen.hidden}",
                "length buckets": buckets,
                "texts a step": f"{chosen.texts} of {SHORTEST} to 142 tokens",
                "seconds a step, median": f"{told['seconds']:.2f}",
                "time over one bucket's": f"{told['seconds'] / plain['seconds']:.2f}",
                "peak memory": f"{told['peak'] / 1e6:.0f} MB",
                "loss at the end": f"{told['loss']:.5f}",
            }
            for buckets, told in found.items()
        ]
    write("Padding in pre-training", rows, " ".join(["python", "benchmarks/padding.py", *sys.argv[1:]]))


def child(name: str, buckets: int) -> dict:
    command = [sys.executable, __file__, *sys.argv[1:], "--child", name]
    environment = os.environ | {"REPRO_LENGTH_BUCKETS": str(buckets), "REPRO_SAVE_STEPS": str(10**9)}
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    return json.loads(told.splitlines()[-1])


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
    timed = Timed()
    with peak() as grown:
        facts = train(
            objective, rows, settings, out=folder, progress=timed, execution=Execution.of(os.environ)
        )
    taken = [after - before for before, after in pairwise(timed.ended[SKIPPED:])]
    held = grown["peak"] - grown["before"]
    return {"seconds": statistics.median(taken), "peak": held, "loss": facts["losses"]["loss"]}


if __name__ == "__main__":
    main()
