"""SPLADE's vectors: how strongly each entry of the vocabulary is predicted somewhere in a text.

python -m oracles.splade --checkout splade
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from oracles.declaration import Compared, Declared, Mutation, main
from oracles.made_up import masked_lm, normal, tokenizer
from oracles.masked_texts import framed_rows, masked_side
from oracles.older_transformers import older_transformers
from oracles.shims import imported
from oracles.sides import Side, gradients
from oracles.written import ConcernedNodes, ReleasedCode
from repro.retrieval.nn.library_encoder import SpladeEncoder
from repro.retrieval.nn.view_encoder import ViewEncoder


def encoder(inputs: Mapping[str, Any]) -> ViewEncoder:
    """Ours over a small BERT: the positions that SPLADE has, all but padding."""
    return ViewEncoder(
        masked_lm(seed=inputs["weights"], layers=2).eval(),
        tokenizer(),
        views=["sparse"],
        sparse_positions={"cls": True, "sep": True},
        vocabulary_head="transform",
        dense_reduction=None,
    )


def texts(inputs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Model inputs of texts of different lengths."""
    side = masked_side(framed_rows(inputs["count"], seed=inputs["texts"], words=(3, 15)), rate=0.0, seed=0)
    return {"input_ids": side["clean"], "attention_mask": side["attention"]}


def weighed(vectors: torch.Tensor) -> torch.Tensor:
    """One number that every value of (N, V) moves, each by another amount."""
    return (vectors * normal(vectors.shape, seed=62)).sum()


def ours(inputs: Mapping[str, Any]) -> Side:
    """The vectors, weighed; the gradient of the model."""
    made = encoder(inputs)
    if inputs["of"] == "released":  # as weights of others are read
        made = SpladeEncoder(made.model, tokenizer(), pooling=inputs["pooling"])
    loss = weighed(made(texts(inputs))["sparse"])
    loss.backward()
    return Side({"weighed": loss.item()}, gradients(made.model))


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """``Splade`` of splade/models/transformer_rep.py with the same weights."""
    model = encoder(inputs).model
    with tempfile.TemporaryDirectory() as folder, older_transformers():
        model.save_pretrained(folder)
        tokenizer().save_pretrained(folder)
        with imported(checkout, "splade.models.transformer_rep", absent=("omegaconf",)) as (released,):
            made = released.Splade(folder, agg=inputs["pooling"], fp16=False).double()
            made.eval()  # gives nothing back
            loss = weighed(made(d_kwargs=texts(inputs))["d_rep"])
        loss.backward()
    return Side({"weighed": loss.item()}, gradients(made.transformer_rep.transformer))


CODE = ReleasedCode(
    repository="naver/splade",
    commit="8dcd33a054d790e74aceda25b128c1b188c5d9c1",
    files=("splade/models/transformer_rep.py", "splade/losses/regularization.py", "splade/utils/utils.py"),
)
SPARSE = {
    "options.views": (["sparse"], ["dense", "sparse"]),
    "options.sparse_positions.cls": (True,),
    "options.sparse_positions.sep": (True,),
    "options.vocabulary_head": ("transform",),
}
ORACLE = Declared(
    file="cotmae_v2/sparse_view",
    objective="SPLADE's pooling",
    code=CODE,
    nodes=(
        ConcernedNodes(stage="finetune", params=SPARSE),
        ConcernedNodes(stage="encode_views", params={"head": ("splade", "splade-sum")}),
    ),
    cases={
        f"{pooling}-{of}": Compared(
            f"vectors of four texts, the {pooling} over their positions, of a {of} model",
            {"weights": 1, "texts": 51, "count": 4, "pooling": pooling, "of": of},
            ours,
            official,
        )
        for pooling, of in (("max", "trained"), ("max", "released"), ("sum", "released"))
    },
    mutations=(
        Mutation("repro.retrieval.nn.view_encoder:sum_log_saturated", "logits.relu()", "(-logits).relu()"),
        Mutation(
            "repro.retrieval.nn.view_encoder:max_log_saturated", ".relu().log1p()", ".neg().relu().log1p()"
        ),
        Mutation(
            "repro.retrieval.nn.view_encoder:max_log_saturated", "~mask.unsqueeze(-1)", "mask.unsqueeze(-1)"
        ),
    ),
    shims=("an empty omegaconf", "fp16 off"),
    departures=(
        "the default of reading sparse-pooling-positions is words only; SPLADE leaves out padding alone",
    ),
)

if __name__ == "__main__":
    main(ORACLE)
