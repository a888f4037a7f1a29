"""Parameters and inputs of small trainings, of which a test states what it changes."""

from __future__ import annotations

from pathlib import Path

from repro.retrieval.training.declaration import Optimisation
from tests.tiny_models import save_tiny_model

OPTIMISATION = {
    "epochs": None,
    "max_steps": 12,
    "learning_rate": 1e-3,
    "warmup_ratio": 0.1,
    "warmup_steps": 0,
    "schedule": "linear",
    "weight_decay": 0.0,
    "max_grad_norm": 1.0,
    "precision": "fp32",
    "seed": 42,
}


def optimisation(*, batch_size: int = 4, **changes) -> Optimisation:
    return Optimisation(batch_size=batch_size, **OPTIMISATION | changes)


def pretraining(name: str, path: str, options: dict, *, version: int = 1, **changes) -> dict:
    """Parameters of the stage ``pretrain``; a length and a seed among the options are left to the stage."""
    own = {"texts_per_batch": 8, "length": 24}
    return _training(name, path, options, version) | own | changes


def fine_tuning(name: str, path: str, options: dict, *, version: int = 1, **changes) -> dict:
    """Parameters of the stage ``finetune``; what the options say of lengths is left to the stage."""
    own = {"queries_per_batch": 4, "passages_per_query": 4, "query_length": 12, "passage_length": 32}
    own |= {"separator": "[SEP]", "pooling": "cls", "epochs": 3, "max_steps": None}
    return _training(name, path, options, version) | own | changes


def _training(name: str, path: str, options: dict, version: int) -> dict:
    of_stages = ("length", "seed", "query_length", "passage_length", "separator")
    options = {key: value for key, value in options.items() if key not in of_stages}
    return {"objective": {"name": name, "version": version, "path": path}, "options": options, **OPTIMISATION}


def texts_and_model(folder: Path, rows: list[dict], *, layers: int = 1) -> dict[str, Path]:
    """Inputs of the stage ``pretrain``: the columns of token rows, and a random BERT."""
    from datasets import Dataset

    save_tiny_model(folder / "model", layers=layers)
    names = ("input_ids", "sentences", "spans")
    columns = {name: [list(row[name]) for row in rows] for name in names if name in rows[0]}
    Dataset.from_dict(columns).save_to_disk(str(folder / "tokens/arrow"))
    return {"model": folder / "model", "tokens": folder / "tokens"}


class Rows(list):
    """Examples of ``repro.retrieval.training.loop`` in memory."""

    def __getitems__(self, places):
        return [self[index] | {"epoch": epoch} for epoch, index in places]
