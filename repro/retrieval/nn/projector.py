"""A head between an encoder's text vector and its loss."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import safe_open, save_file
from torch import nn
from torch.nn import functional

from repro.errors import check_known

PROJECTORS = ("nonlinear", "linear", "none")
FILE = "projector.safetensors"


class Projector(nn.Module):
    """z = tanh(W h + b), z = W h + b, or z = h: ``nonlinear``, ``linear`` or ``none``; all H to H.

    The first is BERT's own pooler. Of two layers, the nonlinear one has h = gelu(W' x + b') before it, a
    transformer's feed-forward network; two linear layers would be one. Weights start as BERT's linear layers
    do: N(0, ``initializer_range``), bias 0.
    """

    def __init__(self, hidden_size: int, *, architecture: str, layers: int, initializer_range: float):
        super().__init__()
        check_known("projector", architecture, valid=PROJECTORS)
        check_known("number of projector layers", layers, valid=(1, 2))
        self.architecture = architecture
        self.inner = self.dense = None
        if architecture == "nonlinear" and layers == 2:
            self.inner = _linear(hidden_size, initializer_range)
        if architecture != "none":
            self.dense = _linear(hidden_size, initializer_range)

    @classmethod
    def of(cls, config, architecture: str, *, layers: int = 1) -> Projector:
        """A new one for an encoder of this configuration."""
        options = {"layers": layers, "initializer_range": config.initializer_range}
        return cls(config.hidden_size, architecture=architecture, **options)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """(..., H) to (..., H)."""
        if self.architecture == "none":
            return hidden
        if self.inner is not None:
            hidden = functional.gelu(self.inner(hidden))
        output = self.dense(hidden)
        return torch.tanh(output) if self.architecture == "nonlinear" else output

    def save(self, folder: Path, *, encodes: bool) -> None:
        """Write ``projector.safetensors`` beside a model, unless there is nothing to write.

        ``encodes`` says whether texts are to be encoded with it: a head used in pre-training only is kept for
        whoever wants to train on with it, but is no part of the encoder.
        """
        if self.architecture != "none":
            # one key: safetensors writes several in an order that changes from process to process
            description = json.dumps({"architecture": self.architecture, "encodes": encodes}, sort_keys=True)
            save_file(self.state_dict(), folder / FILE, metadata={"projector": description})


def saved_projector(folder: Path) -> tuple[Projector, bool] | None:
    """The projector beside a model, and whether texts are encoded with it; None where there is none."""
    if not (folder / FILE).exists():
        return None
    with safe_open(folder / FILE, framework="pt") as file:
        description = json.loads(file.metadata()["projector"])
        weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    projector = Projector(
        len(weights["dense.bias"]),
        architecture=description["architecture"],
        initializer_range=0.0,
        layers=2 if "inner.bias" in weights else 1,
    )
    projector.load_state_dict(weights)
    return projector, description["encodes"]


def _linear(size: int, initializer_range: float) -> nn.Linear:
    layer = nn.Linear(size, size)
    nn.init.normal_(layer.weight, std=initializer_range)
    nn.init.zeros_(layer.bias)
    return layer
