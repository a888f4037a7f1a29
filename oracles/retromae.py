"""RetroMAE's pre-training: the losses of encoder and enhanced decoder, and all of their gradients.

python -m oracles.retromae --checkout RetroMAE
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch

from oracles.declaration import Compared, Declared, Mutation, main
from oracles.made_up import masked_lm, same_dropouts, text, tokenizer, weighted
from oracles.older_transformers import older_transformers
from oracles.shims import imported
from oracles.sides import Side, gradients
from oracles.written import ConcernedNodes, ReleasedCode
from papers.retromae.masked_autoencoder import MaskedAutoEncoder


def retromae(inputs: Mapping[str, Any]) -> MaskedAutoEncoder:
    """Ours over a small BERT, with weights from the seed."""
    made = MaskedAutoEncoder(
        masked_lm(seed=inputs["weights"], layers=2, dropout=inputs["dropout"]),
        tokenizer(),
        decoder="enhanced",
        decoder_layers=1,
        encoder_rate=0.3,
        decoder_rate=0.5,
        unit="whole-word",
        masking={"mask": 0.8, "random": 0.1},
        contexts=inputs["contexts"],
        length=32,
        seed=7,
    )
    weighted(made.decoder, seed=inputs["weights"] + 1)
    return made.train(inputs["dropout"] > 0)


def batch(made: MaskedAutoEncoder, inputs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """So many texts of different lengths, masked by ours."""
    generator = np.random.default_rng(inputs["texts"])
    texts = [text(generator, 4 + 3 * n) for n in range(inputs["count"])]
    ids = tokenizer()(texts, add_special_tokens=False)["input_ids"]
    return made.collate([{"input_ids": row, "epoch": 0, "index": n} for n, row in enumerate(ids)])


def ours(inputs: Mapping[str, Any]) -> Side:
    """The loss and its gradient."""
    made = retromae(inputs)
    with same_dropouts(inputs["weights"]):
        loss = sum(made(batch(made, inputs)).values())
    loss.backward()
    return Side({"loss": loss.item()}, gradients(made))


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """``RetroMAEForPretraining`` of pretrain/modeling.py with the same weights and masks."""
    made = retromae(inputs)
    given = batch(made, inputs)
    with older_transformers(), _moved(), imported(checkout / "src", "pretrain.modeling") as (modeling,):
        released = modeling.RetroMAEForPretraining(made.encoder, None).double()
        released.c_head.load_state_dict(made.decoder.layers[0].state_dict())
        released.lm.get_extended_attention_mask = _extended_by_rows
        with same_dropouts(inputs["weights"]):
            (loss,) = released.train(inputs["dropout"] > 0)(
                given["encoder_ids"],
                given["attention_mask"],
                given["encoder_labels"],
                given["decoder_ids"],
                given["visible"],
                given["decoder_labels"],
            )
        loss.backward()
    return Side({"loss": loss.item()}, gradients(released, _ours_name))


@contextlib.contextmanager
def _moved() -> Iterator[None]:
    """Names that transformers 4.16 had in another module, and those of pruning, which nothing calls."""
    from transformers import modeling_utils
    from transformers.pytorch_utils import apply_chunking_to_forward

    pruning = dict.fromkeys(("find_pruneable_heads_and_indices", "prune_linear_layer"))
    names: dict[str, Any] = {"apply_chunking_to_forward": apply_chunking_to_forward} | pruning
    with mock.patch.multiple(modeling_utils, create=True, **names):
        yield


def _extended_by_rows(mask: torch.Tensor, shape=None, device=None) -> torch.Tensor:
    """The same name of transformers 4.16 for masks of rows: (N, L, L) to (N, 1, L, L), added to scores."""
    return (1.0 - mask[:, None].double()) * -10000.0


def _ours_name(name: str) -> str:
    part, _, rest = name.partition(".")
    return {"lm": f"encoder.{rest}", "c_head": f"decoder.layers.0.{rest}"}.get(part, name)


def _compared(about: str, **changes: Any) -> Compared:
    inputs = {"weights": 1, "texts": 41, "count": 4, "dropout": 0.0, "contexts": 256}
    return Compared(about, inputs | changes, ours, official)


FORWARD = "papers.retromae.masked_autoencoder:MaskedAutoEncoder."
ORACLE = Declared(
    file="retromae/pre-training",
    objective="RetroMAE's pre-training: losses of encoder and enhanced decoder",
    code=ReleasedCode(
        repository="staoxiao/RetroMAE",
        commit="ee375876a5e571617e37dd43450decc7865e2a07",
        files=("src/pretrain/modeling.py", "src/pretrain/enhancedDecoder.py"),
    ),
    nodes=(
        ConcernedNodes(
            stage="pretrain",
            params={"objective.name": ("retromae",), "options.decoder": ("enhanced",)},
        ),
    ),
    cases={
        "shared-contexts": _compared("contexts out of a pool, as released"),
        "own-contexts": _compared("a context for each position, as published", contexts=None),
        "with-dropout": _compared("in training, the same places dropped out", dropout=0.1),
    },
    mutations=(
        Mutation(
            FORWARD + "enhanced_states", "h_cls.unsqueeze(1) + positions", "h_cls.unsqueeze(1) - positions"
        ),
        Mutation(FORWARD + "enhanced_states", "attention.value(context)", "attention.value(queries)"),
        Mutation(FORWARD + "enhanced_states", "flatten(2), queries)", "flatten(2), context)"),
        Mutation(FORWARD + "enhanced_states", "attn_mask=shown", "attn_mask=~shown"),
        Mutation(FORWARD + "inputs", "embedded[:, 1:]", "-embedded[:, 1:]"),
        Mutation(FORWARD + "forward", "_states(hidden[:, 0]", "_states(hidden[:, 1]"),
    ),
    departures=(),
    shims=("pruning of heads", "get_extended_attention_mask of masks by rows"),
)

if __name__ == "__main__":
    main(ORACLE)
