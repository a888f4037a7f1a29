"""Everything that a training goes on from, as the files of a checkpoint."""

import random
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_model, save_model
from torch import nn
from transformers.trainer_pt_utils import safe_globals

from repro.retrieval.training.optimizer import Optimizer
from repro.retrieval.training.process_group import processes, rank

WEIGHTS, OPTIMIZER, SCHEDULE, SCALER = "model.safetensors", "optimizer.pt", "scheduler.pt", "scaler.pt"


def write_state(objective: nn.Module, optimizer: Optimizer, folder: Path) -> None:
    """Write weights and states into ``folder``; of several processes the first one does, and each its own
    generators' states."""
    folder.mkdir(parents=True, exist_ok=True)
    if rank() == 0:
        save_model(objective, str(folder / WEIGHTS))  # knows weights that share memory
        for name, part in _parts(optimizer).items():
            torch.save(part.state_dict(), folder / name)
    torch.save(_generator_states(), _generators(folder))


def read_state(objective: nn.Module, optimizer: Optimizer, folder: Path) -> None:
    """Go on from a checkpoint. Raises pickle.UnpicklingError for a file that would run code."""
    device = next(objective.parameters()).device
    load_model(objective, str(folder / WEIGHTS), device="cpu" if device.type == "cpu" else str(device))
    for name, part in _parts(optimizer).items():
        part.load_state_dict(torch.load(folder / name, map_location="cpu", weights_only=True))


def restore_generators(folder: Path) -> None:
    """Have Python, numpy and torch draw what they would have drawn after a checkpoint."""
    if not _generators(folder).exists():  # written by another number of processes
        return
    with safe_globals():
        states = torch.load(_generators(folder), weights_only=True)
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])
    torch.set_rng_state(states["cpu"])
    if torch.cuda.is_available() and torch.is_tensor(states.get("cuda")):  # not written without a GPU
        torch.cuda.set_rng_state(states["cuda"])


def _parts(optimizer: Optimizer) -> dict:
    scaler = {} if optimizer.scaler is None else {SCALER: optimizer.scaler}
    return {OPTIMIZER: optimizer.adamw, SCHEDULE: optimizer.schedule, **scaler}


def _generator_states() -> dict:
    cuda = {"cuda": torch.cuda.get_rng_state()} if torch.cuda.is_available() else {}
    return {"python": random.getstate(), "numpy": np.random.get_state(), "cpu": torch.get_rng_state(), **cuda}


def _generators(folder: Path) -> Path:
    return folder / ("rng_state.pth" if processes() == 1 else f"rng_state_{rank()}.pth")
