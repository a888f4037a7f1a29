"""A text encoder: transformer, pooling to one vector, e.g. ``cls``, and an optional projector."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import safe_open, save_file
from torch import Tensor, nn
from torch.nn import functional

from repro.errors import check_known
from repro.retrieval.nn.checkpoint import load_encoder
from repro.stage_table import POOLINGS

if TYPE_CHECKING:
    from transformers import BertConfig

PROJECTORS = ("nonlinear", "linear", "none")
FILE = "projector.safetensors"


class Projector(nn.Module):
    """z = tanh(W h + b) (``nonlinear``, BERT's pooler), z = W h + b (``linear``) or z = h (``none``).

    With two ``layers``, ``nonlinear`` computes h = gelu(W' x + b') first.
    """

    def __init__(self, hidden_size: int, *, architecture: str, layers: int, initializer_range: float):
        super().__init__()
        check_known("projector", architecture, valid=PROJECTORS)
        check_known("number of projector layers", layers, valid=(1, 2))
        self.architecture = architecture
        self.inner: nn.Linear | None = None
        self.dense: nn.Linear | None = None
        if architecture == "nonlinear" and layers == 2:
            self.inner = _linear(hidden_size, initializer_range)
        if architecture != "none":
            self.dense = _linear(hidden_size, initializer_range)

    @classmethod
    def of(cls, config: BertConfig, architecture: str, *, layers: int = 1) -> Projector:
        return cls(
            config.hidden_size,
            architecture=architecture,
            layers=layers,
            initializer_range=config.initializer_range,
        )

    def forward(self, hidden: Tensor) -> Tensor:
        if self.dense is None:
            return hidden
        if self.inner is not None:
            hidden = functional.gelu(self.inner(hidden))
        output = self.dense(hidden)
        return torch.tanh(output) if self.architecture == "nonlinear" else output

    def save(self, folder: Path, *, encodes: bool) -> None:
        """Write ``projector.safetensors``, with whether it ``encodes`` texts. ``none`` writes no file."""
        if self.architecture != "none":
            # one key: safetensors orders several keys at random
            description = json.dumps({"architecture": self.architecture, "encodes": encodes}, sort_keys=True)
            save_file(self.state_dict(), folder / FILE, metadata={"projector": description})


def saved_projector(folder: Path) -> tuple[Projector, bool] | None:
    """Return (a directory's projector, whether it encodes texts), or None without one."""
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


class Encoder(nn.Module):
    """Maps token ids to one vector per text, by ``cls`` or ``mean`` ``pooling`` and an optional projector."""

    def __init__(self, model: nn.Module, *, pooling: str, projector: Any):
        super().__init__()
        self.model, self.pooling, self.projector = model, check_pooling(pooling), projector

    def forward(self, inputs: dict[str, Tensor]) -> Tensor:
        hidden = self.model(**inputs).last_hidden_state
        return self.finished(pooled(hidden, inputs["attention_mask"], pooling=self.pooling))

    def finished(self, vectors: Tensor) -> Tensor:
        """Apply the projector, if any, to pooled vectors, (N, H)."""
        return vectors if self.projector is None else self.projector(vectors)


def load_text_encoder(folder: Path, *, pooling: str) -> Encoder:
    """Return a directory's encoder, with its projector if it encodes texts. Raises DataError."""
    projector, encodes = saved_projector(folder) or (None, False)
    return Encoder(load_encoder(folder), pooling=pooling, projector=projector if encodes else None)


def check_pooling(pooling: str) -> str:
    check_known("pooling", pooling, valid=POOLINGS)
    return pooling


def pooled(hidden: Tensor, attention_mask: Tensor, *, pooling: str) -> Tensor:
    """Return each text's first token (``cls``) or the ``mean`` of its tokens, (N, H).

    The mean includes [CLS] and [SEP], as in sentence-transformers. ``hidden`` is (N, L, H),
    ``attention_mask`` (N, L).
    """
    if check_pooling(pooling) == "cls":
        return hidden[:, 0]
    weights = attention_mask.to(hidden.dtype).unsqueeze(-1)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1)


def span_means(hidden: Tensor, spans: Tensor) -> Tensor:
    """Return the mean vector of each span, (N, S, H), in float32 or above. Empty spans give zeros.

    ``hidden`` is (N, L, H), ``spans`` (N, S, 2): first position, and one past the last.
    """
    dtype = torch.promote_types(hidden.dtype, torch.float32)
    positions = torch.arange(hidden.shape[1], device=hidden.device)
    first, end = spans[..., :1], spans[..., 1:]
    inside = ((positions >= first) & (positions < end)).to(dtype)  # (N, S, L)
    with torch.autocast(hidden.device.type, enabled=False):
        sums = inside @ hidden.to(dtype)  # (N, S, H)
    return sums / (end - first).clamp(min=1)
