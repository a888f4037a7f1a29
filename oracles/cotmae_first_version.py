"""CoT-MAE's first version: an encoder, and a decoder that rebuilds either span from the other's vector.

python -m oracles.cotmae_first_version --checkout ir
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from oracles.declaration import Compared, Declared, Mutation, main
from oracles.made_up import bert, same_dropouts, tokenizer, weighted
from oracles.masked_texts import framed_rows, masked_side
from oracles.older_transformers import older_transformers
from oracles.shims import giving_tuples, imported
from oracles.sides import Side, gradients
from oracles.written import ConcernedNodes, ReleasedCode
from papers.cotmae_v2.multi_view_autoencoder import MultiViewAutoEncoder

OPTIONS = {
    "views": ["dense"],
    "decoders": ["auto_encoding"],
    "encoded_texts": "both",
    "decoder_layers": {"auto_encoding": "bert", "layers": 2},
    "context_kinds": ["random", "nearby", "overlap"],
    "truncation": "random",
    "decoder_contexts": "independent",
    "masking_rates": {"encoder": 0.3, "decoder": 0.45},
    "masking_unit": {"whole_word": True, "mask": 0.8, "random": 0.1},
    "view_losses": "sum",
    "decoder_sharing": True,
    "bottleneck_slot": "replace",
    "autoregressive_window": 0,
    "causal_targets": True,
    "sparse_positions": {"cls": False, "sep": False},
    "vocabulary_head": "transform",
    "detached_embeddings": "projection",
    "token_loss_reduction": "mean",
    "windows": "apart",
    "length": 32,
    "seed": 7,
}
WORDS = (4, 15)  # of a text


def objective(seed: int, *, dropout: float, **changes: Any) -> MultiViewAutoEncoder:
    """Ours over a small BERT of two layers, with weights from the seed."""
    from transformers import BertForMaskedLM

    config = bert(layers=2, dropout=dropout)
    config.intermediate_size = 4 * config.hidden_size  # as GPT-2's blocks have it and BERT's own sizes
    model = weighted(BertForMaskedLM(config), seed=seed)
    made = MultiViewAutoEncoder(model, tokenizer(), **OPTIONS | changes)
    weighted(made.decoders, seed=seed + 1)
    return made.train(dropout > 0)


def batch(seed: int, count: int) -> dict[str, torch.Tensor]:
    """So many pairs of spans; the encoder has one of each first, then the others; the decoder the reverse."""
    ones = framed_rows(count, seed=(seed, 0), words=WORDS)
    others = framed_rows(count, seed=(seed, 1), words=WORDS)
    encoder = masked_side([*ones, *others], rate=0.3, seed=(seed, 2))
    decoder = masked_side([*others, *ones], rate=0.45, seed=(seed, 3))
    named = {f"encoder_{name}": array for name, array in encoder.items()}
    named |= {f"auto_encoding_{name}": array for name, array in decoder.items()}
    return named | {"auto_encoding_sources": torch.arange(2 * count)}


def ours(inputs: Mapping[str, Any]) -> Side:
    """The two losses and the gradient of their sum."""
    made = objective(inputs["weights"], dropout=inputs["dropout"])
    with same_dropouts(inputs["weights"]):
        losses = made(batch(inputs["texts"], inputs["pairs"]))
    sum(losses.values()).backward()
    return Side({name: loss.item() for name, loss in losses.items()}, gradients(made))


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """``BertForCotMAE`` of cotmae/modeling.py with the same weights."""
    from_ours = objective(inputs["weights"], dropout=inputs["dropout"])
    given = batch(inputs["texts"], inputs["pairs"])
    with older_transformers(), imported(checkout / "cotmae", "modeling") as (modeling,):
        released = modeling.BertForCotMAE(from_ours.encoder.config).double()
        released.load_state_dict(from_ours.encoder.state_dict(), strict=False)
        released.c_head.load_state_dict(from_ours.decoders["auto_encoding"].layers.state_dict())
        giving_tuples(released.c_head)
        with same_dropouts(inputs["weights"]):
            made = released.train(inputs["dropout"] > 0)(
                input_ids=given["encoder_ids"],
                attention_mask=given["encoder_attention"],
                labels=given["encoder_labels"],
                decoder_input_ids=given["auto_encoding_ids"],
                decoder_attention_mask=given["auto_encoding_attention"],
                decoder_labels=given["auto_encoding_labels"],
            )
        made.loss.backward()
    losses = {"encoder.mlm": made.logs["encoder_mlm_loss"], "auto_encoding.dense": made.logs["head_mlm_loss"]}
    return Side(losses, gradients(released, _ours_name))


def _ours_name(name: str) -> str:
    decoder = name.removeprefix("c_head.")
    return f"encoder.{name}" if decoder == name else f"decoders.auto_encoding.layers.{decoder}"


CODE = ReleasedCode(
    repository="caskcsg/ir",
    commit="94ed5dc68dec8737a3f8d4427d7bee054699fa36",
    files=("cotmae/modeling.py", "cotmae/data.py"),
)
NODES = (
    ConcernedNodes(
        stage="pretrain",
        params={
            "objective.name": ("contextual-autoencoder",),
            "options.views": (["dense"],),
            "options.decoders": (["auto_encoding"],),
            "options.encoded_texts": ("both",),
            "options.decoder_layers.auto_encoding": ("bert",),
            "options.bottleneck_slot": ("replace",),
            "options.masking_unit.whole_word": (True,),
            "options.windows": ("apart",),
            "options.token_loss_reduction": ("mean",),
        },
    ),
)
ORACLE = Declared(
    file="cotmae_v2/first_version",
    objective="CoT-MAE's first version",
    code=CODE,
    nodes=NODES,
    cases={
        "losses": Compared(
            "three pairs of spans of different lengths",
            {"weights": 1, "texts": 11, "pairs": 3, "dropout": 0.0},
            ours,
            official,
        ),
        "with-dropout": Compared(
            "in training, the same places dropped out",
            {"weights": 2, "texts": 12, "pairs": 2, "dropout": 0.1},
            ours,
            official,
        ),
    },
    mutations=(
        Mutation(
            "papers.cotmae_v2.decoders:decoded", "(vectors, embedded[:, 1:])", "(-vectors, embedded[:, 1:])"
        ),
        Mutation(
            "papers.cotmae_v2.decoders:decoded", "(vectors, embedded[:, 1:])", "(vectors, embedded[:, :-1])"
        ),
        Mutation(
            "papers.cotmae_v2.multi_view_autoencoder:MultiViewAutoEncoder.forward",
            "self.weight * loss",
            "-self.weight * loss",
        ),
        Mutation(
            "papers.cotmae_v2.multi_view_autoencoder:MultiViewAutoEncoder.bottlenecks",
            "hidden[:, 0]",
            "hidden[:, 1]",
        ),
        Mutation(
            "papers.baselines.bottleneck_decoder:BottleneckDecoder.visible",
            "mask & attention_mask",
            "mask | attention_mask",
        ),
        Mutation(
            "repro.retrieval.nn.masked_tokens:_in_float32",
            "reduction=reduction",
            "reduction='sum'",
        ),
    ),
    shims=("BertLayer gives a tuple", "get_extended_attention_mask"),
)

if __name__ == "__main__":
    main(ORACLE)
