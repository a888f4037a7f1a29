"""SimCSE: two vectors of one text closer than those of two texts, and the head they pass.

python -m oracles.simcse --checkout SimCSE
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from oracles.declaration import Compared, Declared, Mutation, main
from oracles.made_up import masked_lm, normal, tokenizer, weighted
from oracles.shims import imported
from oracles.sides import Side, gradients
from oracles.written import ConcernedNodes, ReleasedCode
from papers.baselines.dropout_contrast import DropoutContrast
from repro.retrieval.nn.masked_tokens import IGNORED

LENGTH = 5  # tokens of a text; what an encoder makes of them is given


def objective(inputs: Mapping[str, Any]) -> DropoutContrast:
    """Ours with a head of weights from the seed."""
    made = DropoutContrast(
        masked_lm(seed=1, layers=1, hidden=inputs["hidden"]),
        tokenizer(),
        temperature=inputs["temperature"],
        similarity="cosine",
        dropout=0.1,
        projector="nonlinear",
        mlm=None,
        length=LENGTH,
        seed=7,
    )
    weighted(made.projector, seed=inputs["weights"])
    return made


def states(inputs: Mapping[str, Any]) -> torch.Tensor:
    """The last hidden states of the N texts in two passes, (2, N, L, H); they take a gradient."""
    shape = (2, inputs["texts"], LENGTH, inputs["hidden"])
    return normal(shape, seed=inputs["states"]).requires_grad_()


def ours(inputs: Mapping[str, Any]) -> Side:
    """The loss of what two passes made, its gradient there and in the head."""
    made, given = objective(inputs), states(inputs)
    made.hidden = lambda ids, mask: given.flatten(0, 1)  # of both passes, one after the other
    ids = torch.ones(inputs["texts"], LENGTH, dtype=torch.int64)
    loss = made({"clean_ids": ids, "attention_mask": ids, "labels": torch.full_like(ids, IGNORED)})
    loss["contrastive"].backward()
    slopes = gradients(made.projector, lambda name: f"head.{name}") | {"states": given.grad}
    return Side({"contrastive": loss["contrastive"].item()}, slopes)


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """``cl_forward`` of simcse/models.py, with its head of the same weights."""
    given = states(inputs)
    with imported(checkout, "simcse.models") as (models,):
        model = _Model(models, inputs)
        model.mlp.load_state_dict(objective(inputs).projector.state_dict())
        ids = torch.ones(inputs["texts"], 2, LENGTH, dtype=torch.int64)
        loss = models.cl_forward(
            model, _encoder(given), input_ids=ids, attention_mask=ids, return_dict=True
        ).loss
        loss.backward()
    slopes = gradients(model.mlp, lambda name: f"head.{name}") | {"states": given.grad}
    return Side({"contrastive": loss.item()}, slopes)


class _Model(nn.Module):
    """An object that ``cl_init`` and ``cl_forward`` take for their ``cls``."""

    device = torch.device("cpu")

    def __init__(self, models, inputs: Mapping[str, Any]):
        super().__init__()
        self.model_args = SimpleNamespace(pooler_type="cls", temp=inputs["temperature"])
        models.cl_init(self, SimpleNamespace(hidden_size=inputs["hidden"]))
        self.double()

    def init_weights(self) -> None:
        """Nothing: the weights are given."""


def _encoder(given: torch.Tensor):
    together = given.transpose(0, 1).flatten(0, 1)  # text by text, its two passes side by side

    def encode(*_, **__):
        return SimpleNamespace(
            last_hidden_state=together, pooler_output=None, hidden_states=None, attentions=None
        )

    return encode


ORACLE = Declared(
    file="baselines/simcse",
    objective="SimCSE",
    code=ReleasedCode(
        repository="princeton-nlp/SimCSE",
        commit="49fa580a853752ede55b8c76d9debf748e214d3f",
        files=("simcse/models.py",),
    ),
    nodes=(
        ConcernedNodes(
            stage="pretrain",
            params={
                "objective.name": ("simcse",),
                "options.mlm": (None,),
                "options.similarity": ("cosine",),
                "options.projector": ("nonlinear",),
            },
        ),
    ),
    cases={
        "two-passes": Compared(
            "six texts whose hidden states are given",
            {"weights": 1, "states": 81, "texts": 6, "hidden": 16, "temperature": 0.05},
            ours,
            official,
        ),
    },
    mutations=(
        Mutation(
            "repro.retrieval.nn.encoder:Projector.forward",
            "torch.tanh(output)",
            "-torch.tanh(output).abs()",
        ),
        Mutation(
            "repro.retrieval.nn.contrastive:in_batch_contrastive",
            "/ temperature  # (Q, Q*P)",
            "* temperature  # (Q, Q*P)",
        ),
        Mutation(
            "papers.baselines.dropout_contrast:DropoutContrast.represent",
            "= vectors.chunk(2)",
            "= vectors, -vectors",
        ),
    ),
)

if __name__ == "__main__":
    main(ORACLE)
