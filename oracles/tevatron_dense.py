"""The fine-tuning of one dense view as Tevatron has it, with which CoT-MAE's first version was fine-tuned.

python -m oracles.tevatron_dense --checkout tevatron
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oracles.declaration import Compared, Declared, Mutation, main
from oracles.shims import imported
from oracles.sides import Side, gradients
from oracles.tevatron_splade import PREPROCESSOR, bi_encoder, both_sides, texts
from oracles.written import ConcernedNodes, ReleasedCode


def ours(inputs: Mapping[str, Any]) -> Side:
    """The loss, and its gradient in the encoder without its head."""
    made = bi_encoder(inputs, view="dense")
    loss = made(both_sides(inputs))["contrastive"]
    loss.backward()
    return Side({"contrastive": loss.item()}, gradients(made.encoder.model.base_model))


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """``DenseModel`` of src/tevatron/modeling/dense.py with the same weights."""
    model = bi_encoder(inputs, view="dense").encoder.model.base_model
    with imported(checkout / "src", "tevatron.modeling.dense", absent=PREPROCESSOR) as (modeling,):
        released = modeling.DenseModel(model, model).train()
        loss = released(texts(inputs, "queries"), texts(inputs, "passages")).loss
        loss.backward()
    return Side({"contrastive": loss.item()}, gradients(model))


ORACLE = Declared(
    file="cotmae_v2/dense_fine_tuning",
    objective="the fine-tuning of one dense view",
    code=ReleasedCode(
        repository="texttron/tevatron",
        commit="9d8608a6210b565f671cd8f361b3d6ae115db295",
        files=("src/tevatron/modeling/dense.py", "src/tevatron/modeling/encoder.py"),
    ),
    nodes=(
        ConcernedNodes(
            stage="finetune",
            params={
                "objective.name": ("multi-view-contrastive",),
                "options.views": (["dense"],),
                "options.similarity": ("dot",),
                "options.contrastive_denominator": ("softmax",),
                "options.in_batch_negatives": ("batch",),
                "options.temperature": (1.0,),
                "options.dense_reduction": (None,),
                "options.distillation": (None,),
            },
        ),
    ),
    cases={
        "one-device": Compared(
            "four queries with three passages each",
            {
                "weights": 1,
                "texts": 72,
                "count": 4,
                "group": 3,
                "queries": 0.0,
                "passages": 0.0,
                "ramp_steps": 0,
            },
            ours,
            official,
        ),
    },
    mutations=(
        Mutation("repro.retrieval.nn.view_encoder:ViewEncoder.forward", "hidden[:, 0]", "-hidden[:, 1]"),
        Mutation(
            "repro.retrieval.nn.multi_view_bi_encoder:MultiViewBiEncoder.losses",
            "score / self.temperature",
            "-score / self.temperature",
        ),
        Mutation(
            "repro.retrieval.nn.multi_view_bi_encoder:MultiViewBiEncoder.ranking_losses",
            "places * rows.shape[1]",
            "places * rows.shape[1] + 1",
        ),
    ),
    shims=("an empty tevatron.preprocessor",),
)

if __name__ == "__main__":
    main(ORACLE)
