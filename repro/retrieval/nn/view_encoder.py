"""A text encoder with two views of a text: a dense vector, and a sparse one over the vocabulary."""

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional

from repro.errors import DataError, UsageError, check_known
from repro.machine.bounded_reading import read_json_file
from repro.retrieval.nn.checkpoint import load_masked_lm, load_tokenizer, save_model
from repro.retrieval.nn.sparse_view import kept_positions, max_log_saturated

VIEWS = ("dense", "sparse")
HEADS = ("transform", "plain")
REDUCTIONS = ("linear", "truncate")
FILE, PROJECTION = "views.json", "dense_projection.safetensors"


class ViewEncoder(nn.Module):
    """Token ids to a ``dense`` vector, a ``sparse`` one, or both, of each text (Wu et al. 2023, Eqs. 3-6).

        DEN = h_0;   w_ij = h_i E_j + b_j;   SPR_j = max_i log(1 + ReLU(w_ij))

    Args:
        model: BertForMaskedLM, or one with ``base_model`` and ``cls`` like it.
        tokenizer: its tokenizer.
        views: of ``dense``, ``sparse``.
        sparse_positions: {cls, sep}, of ``kept_positions`` (reading ``sparse-pooling-positions``).
        vocabulary_head: w by BERT's masked-language head, ``transform``, or, ``plain``, without its dense
            layer and LayerNorm (reading ``vocabulary-head``).
        dense_reduction: None, or {to, by}: DEN becomes W DEN with ``to`` components, ``linear``, or its first
            ``to`` ones, ``truncate`` (reading ``dense-reduction``). W starts as N(0, initializer_range), from
            torch's generator.

    Raises UsageError for values it does not know.
    """

    def __init__(
        self,
        model: nn.Module,
        tokenizer,
        *,
        views: Sequence[str],
        sparse_positions: dict[str, bool | str],
        vocabulary_head: str,
        dense_reduction: dict | None,
    ):
        super().__init__()
        check_names("view", views, valid=VIEWS)
        check_known("vocabulary head", vocabulary_head, valid=HEADS)
        if len(set(views)) < len(views):
            raise UsageError(f"each view is named once; given: {list(views)!r}")
        self.model, self.tokenizer, self.views = model, tokenizer, tuple(views)
        self.positions, self.head = dict(sparse_positions), vocabulary_head
        self.reduction, self.projection = dense_reduction, None
        if dense_reduction is not None:
            size, width = model.config.hidden_size, dense_reduction["to"]
            check_known("reduction of the dense vector", dense_reduction["by"], valid=REDUCTIONS)
            if not 0 < width <= size:
                raise UsageError(f"a dense vector of {size} numbers cannot be reduced to {width}")
            if dense_reduction["by"] == "linear":
                self.projection = nn.Linear(size, width, bias=False)
                nn.init.normal_(self.projection.weight, std=model.config.initializer_range)

    def forward(self, inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Model inputs, (N, L) each, to ``dense``, (N, H) or (N, to), and ``sparse``, (N, V), whole."""
        hidden = self.model.base_model(**inputs).last_hidden_state  # (N, L, H)
        vectors = {}
        if "dense" in self.views:
            vectors["dense"] = self._reduce(hidden[:, 0])
        if "sparse" in self.views:
            tokens = inputs["input_ids"], inputs["attention_mask"]
            keep = kept_positions(*tokens, tokenizer=self.tokenizer, **self.positions)
            vectors["sparse"] = max_log_saturated(hidden, self.logits, keep)
        return vectors

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """w, (..., H) to (..., V)."""
        if self.head == "transform":
            return self.model.cls(hidden)
        decoder = self.model.cls.predictions.decoder
        return functional.linear(hidden, decoder.weight, decoder.bias)

    def start_from(self, folder: Path) -> None:
        """Take over the projection saved beside a model, if there is one of this shape."""
        saved = _saved_projection(folder)
        if self.projection is not None and saved is not None and saved.shape == self.projection.weight.shape:
            self.projection.weight.data.copy_(saved)

    def save(self, folder: Path) -> None:
        """The masked LM, its tokenizer, the projection if any, and in ``views.json`` what was trained."""
        save_model(self.model, self.tokenizer, folder)
        if self.projection is not None:
            save_file({"weight": self.projection.weight.detach().contiguous()}, folder / PROJECTION)
        description = {
            "views": list(self.views),
            "sparse_positions": self.positions,
            "vocabulary_head": self.head,
            "dense_reduction": self.reduction,
        }
        (folder / FILE).write_text(json.dumps(description, sort_keys=True) + "\n", encoding="utf-8")

    def _reduce(self, vectors: torch.Tensor) -> torch.Tensor:
        if self.reduction is None:
            return vectors
        return vectors[:, : self.reduction["to"]] if self.projection is None else self.projection(vectors)


def load_view_encoder(
    folder: Path, *, views: Sequence[str], sparse_positions: dict[str, bool], vocabulary_head: str
) -> ViewEncoder:
    """The encoder in a model directory, its dense vectors reduced as they were when it was trained.

    A masked LM that was not trained for views has them too.

    Raises:
        DataError: the directory is not a model, or its projection is missing.
        UsageError: the model was trained for views made otherwise, or without one of these.
    """
    settings = {"sparse_positions": dict(sparse_positions), "vocabulary_head": vocabulary_head}
    description = settings | {"views": list(VIEWS), "dense_reduction": None}
    if (folder / FILE).exists():
        description = read_json_file(folder / FILE)
        check_names("view that the model was trained for,", views, valid=description["views"])
    differences = [name for name in settings if settings[name] != description[name]]
    if differences and "sparse" in views:
        details = ", ".join(f"{name} {description[name]!r}, not {settings[name]!r}" for name in differences)
        raise UsageError(f"{folder}: the model was trained with {details}")
    encoder = ViewEncoder(
        load_masked_lm(folder),
        load_tokenizer(folder),
        views=views,
        dense_reduction=description["dense_reduction"],
        **settings,
    )
    if encoder.projection is not None and not (folder / PROJECTION).exists():
        raise DataError(f"{folder}: {PROJECTION} is missing, which its dense vectors pass")
    encoder.start_from(folder)
    return encoder


def check_names(kind: str, names: Sequence[str], *, valid) -> None:
    """Raises UsageError where there is no name, or one that is not valid."""
    if not names:
        raise UsageError(f"there is no {kind} at all; known: {', '.join(valid)}")
    check_known(kind, *names, valid=valid)


def _saved_projection(folder: Path) -> torch.Tensor | None:
    return load_file(folder / PROJECTION)["weight"] if (folder / PROJECTION).exists() else None
