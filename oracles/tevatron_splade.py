"""SPLADE's fine-tuning as Tevatron's example has it: in-batch softmax, and FLOPS of each side's vectors.

python -m oracles.tevatron_splade --checkout tevatron
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from oracles.declaration import Compared, Declared, Mutation, main
from oracles.made_up import masked_lm, tokenizer
from oracles.masked_texts import framed_rows, masked_side
from oracles.older_transformers import older_transformers
from oracles.shims import imported
from oracles.sides import Side, gradients
from oracles.written import ConcernedNodes, ReleasedCode
from repro.retrieval.nn.multi_view_bi_encoder import MultiViewBiEncoder

NOWHERE = Path("a start without a projection")


PREPROCESSOR = ("tevatron.preprocessor",)  # imported by what is run, and used by nothing that is compared


def bi_encoder(inputs: Mapping[str, Any], *, view: str = "sparse") -> MultiViewBiEncoder:
    """Ours with one view alone, whole vectors and the weights that the inputs state."""
    return MultiViewBiEncoder(
        masked_lm(seed=inputs["weights"], layers=2),
        tokenizer(),
        views=[view],
        top_k=None,
        sparse_truncation={"after": "saturation", "queries": False, "passages": False},
        sparse_positions={"cls": True, "sep": True},
        vocabulary_head="transform",
        dense_reduction=None,
        hybrid_similarity=[view],
        similarity="dot",
        view_objective="sum",
        contrastive_denominator="softmax",
        in_batch_negatives="batch",
        temperature=1.0,
        flops_weight={side: inputs[side] for side in ("queries", "passages", "ramp_steps")},
        flops_vectors="before",
        distillation=None,
        query_length=32,
        passage_length=32,
        separator="[SEP]",
        start=NOWHERE,
    )


def texts(inputs: Mapping[str, Any], kind: str) -> dict[str, torch.Tensor]:
    """Model inputs of the queries, or of their passages, the positive of each first."""
    passages = kind == "passages"
    count = inputs["count"] * (inputs["group"] if passages else 1)
    rows = framed_rows(count, seed=(inputs["texts"], passages), words=(8, 15) if passages else (2, 6))
    side = masked_side(rows, rate=0.0, seed=0)
    return {"input_ids": side["clean"], "attention_mask": side["attention"]}


def both_sides(inputs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Queries and passages as ours has them in one batch."""
    batch = {f"query_{name}": array for name, array in texts(inputs, "queries").items()}
    return batch | {f"passage_{name}": array for name, array in texts(inputs, "passages").items()}


def ours(inputs: Mapping[str, Any]) -> Side:
    """The sum of the losses, and its gradient."""
    made = bi_encoder(inputs)
    loss = sum(made(both_sides(inputs)).values())
    loss.backward()
    return Side({"loss": loss.item()}, gradients(made.encoder.model))


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """``SpladeTrainer.compute_loss`` of examples/splade/train_splade.py."""
    model = bi_encoder(inputs).encoder.model
    with (
        older_transformers(),
        imported(checkout / "src", "tevatron.modeling.splade", absent=PREPROCESSOR) as (modeling,),
        imported(checkout / "examples" / "splade", "train_splade") as (training,),
    ):
        trainer = SimpleNamespace(
            args=SimpleNamespace(
                q_flops_loss_factor=inputs["queries"],
                p_flops_loss_factor=inputs["passages"],
                negatives_x_device=False,
            ),
            _flops=training.SpladeTrainer._flops,
        )
        given = texts(inputs, "queries"), texts(inputs, "passages")
        released = modeling.SpladeModel(model, model)
        loss = training.SpladeTrainer.compute_loss(trainer, released.train(), given)
        loss.backward()
    return Side({"loss": loss.item()}, gradients(model))


ORACLE = Declared(
    file="cotmae_v2/sparse_fine_tuning",
    objective="SPLADE's fine-tuning",
    code=ReleasedCode(
        repository="texttron/tevatron",
        commit="9d8608a6210b565f671cd8f361b3d6ae115db295",
        files=(
            "examples/splade/train_splade.py",
            "src/tevatron/modeling/splade.py",
            "src/tevatron/modeling/encoder.py",
        ),
    ),
    nodes=(
        ConcernedNodes(
            stage="finetune",
            params={
                "objective.name": ("multi-view-contrastive",),
                "options.views": (["sparse"],),
                "options.sparse_positions.cls": (True,),
                "options.sparse_positions.sep": (True,),
                "options.vocabulary_head": ("transform",),
                "options.contrastive_denominator": ("softmax",),
                "options.in_batch_negatives": ("batch",),
                "options.distillation": (None,),
            },
        ),
    ),
    cases={
        "one-device": Compared(
            "three queries with three passages each",
            {
                "weights": 1,
                "texts": 71,
                "count": 3,
                "group": 3,
                "queries": 0.4,
                "passages": 0.2,
                "ramp_steps": 0,
            },
            ours,
            official,
        ),
    },
    mutations=(
        Mutation(
            "repro.retrieval.nn.multi_view_bi_encoder:MultiViewBiEncoder.flops_losses",
            "weight * ramp",
            "-weight * ramp",
        ),
        Mutation(
            "repro.retrieval.nn.multi_view_bi_encoder:MultiViewBiEncoder.losses",
            "score / self.temperature",
            "-score / self.temperature",
        ),
    ),
    shims=("an empty tevatron.preprocessor",),
    departures=(
        "SPLADE leaves out padding only; the default of reading sparse-pooling-positions is words only",
    ),
)

if __name__ == "__main__":
    main(ORACLE)
