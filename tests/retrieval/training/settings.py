"""The settings of a small training."""

import json
from pathlib import Path

from repro.retrieval.training.declaration import Optimisation


def settings(**changes) -> Optimisation:
    given = {
        "epochs": None,
        "max_steps": 12,
        "learning_rate": 0.01,
        "warmup_ratio": 0.25,
        "warmup_steps": None,
        "schedule": "linear",
        "weight_decay": 0.0,
        "max_grad_norm": 1.0,
        "precision": "fp32",
        "seed": 5,
    }
    return Optimisation.of(given | changes, batch_size=4)


def log_of(out: Path) -> list[dict]:
    return [json.loads(line) for line in (out / "train_log.jsonl").read_text().splitlines()]
