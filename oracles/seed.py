"""SEED's weak decoder: what its window shows it, and what it makes of a text's vector.

python -m oracles.seed --checkout SEED-Encoder
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import torch

from oracles.declaration import Compared, Declared, Mutation, main
from oracles.made_up import normal, weighted
from oracles.shims import bare_package, imported
from oracles.sides import Side, gradients
from oracles.written import ConcernedNodes, ReleasedCode
from papers.baselines.bottleneck_decoder import BottleneckDecoder
from papers.baselines.cross_attention_decoder import CrossAttentionDecoder
from repro.retrieval.nn.masked_tokens import IGNORED


def ours(inputs: Mapping[str, Any]) -> Side:
    """The places that each place sees, by ``BottleneckDecoder``."""
    decoder = BottleneckDecoder([], attention="causal", window=inputs["window"], sees_first=True)
    visible = decoder.visible(torch.ones(1, inputs["length"], dtype=torch.int64))[0, 0]
    return _side(visible)


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """Where ``TransformerDecoder.buffered_future_mask`` adds 0 to the scores."""
    bare_package("SEED_Encoder", checkout / "model" / "SEED_Encoder")
    with imported(checkout / "model", "SEED_Encoder.transformer_sentence_encoder") as (released,):
        decoder = SimpleNamespace(_future_mask=torch.empty(0))
        states = torch.zeros(inputs["length"], 1, 1)
        masking = released.TransformerDecoder.buffered_future_mask
        return _side(masking(decoder, states, local_attn_mask=inputs["window"]) == 0)


def _side(visible: torch.Tensor) -> Side:
    rows = ["".join(str(int(seen)) for seen in row) for row in visible]
    return Side(values={"visible": rows}, compared=visible.numel())


SIZES = {"hidden_size": 24, "num_attention_heads": 2, "intermediate_size": 48, "hidden_dropout_prob": 0.1}
ENTRIES, PADDING = 40, 1  # of the vocabulary, and the released code's padding token
PARTS = {  # of our layers: theirs
    "linear1": "fc1",
    "linear2": "fc2",
    "norm1": "self_attn_layer_norm",
    "norm2": "encoder_attn_layer_norm",
    "norm3": "final_layer_norm",
    "self_attn.out_proj": "self_attn.out_proj",
    "multihead_attn.out_proj": "encoder_attn.out_proj",
}
ATTENTIONS = {"self_attn": "self_attn", "multihead_attn": "encoder_attn"}
WHOLE = {"norm": "layernorm_embedding", "last_norm": "layer_norm"}


def names(layers: int) -> dict[str, list[str]]:
    """Our parameters: theirs that ours is put together of, one below the other."""
    made = {"positions.weight": ["embed_positions.weight"]}
    for kind in ("weight", "bias"):
        made |= {f"{ours}.{kind}": [f"{theirs}.{kind}"] for ours, theirs in WHOLE.items()}
        for layer in (f"layers.{place}" for place in range(layers)):
            made |= {f"{layer}.{ours}.{kind}": [f"{layer}.{theirs}.{kind}"] for ours, theirs in PARTS.items()}
            for ours, theirs in ATTENTIONS.items():
                parts = [f"{layer}.{theirs}.{letter}_proj.{kind}" for letter in "qkv"]
                made[f"{layer}.{ours}.in_proj_{kind}"] = parts
    return made


def decoder(inputs: Mapping[str, Any]) -> CrossAttentionDecoder:
    """Ours with weights from the seed."""
    config = SimpleNamespace(**SIZES)
    how = {"positions": inputs["length"], "window": inputs["window"], "sees_first": True}
    return weighted(
        CrossAttentionDecoder(config, layers=inputs["layers"], **how), seed=inputs["weights"]
    ).eval()


def texts(inputs: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Tokens, (N, L), with padding; the matrix of embeddings and the texts' vectors take a gradient."""
    generator, shape = np.random.default_rng(inputs["texts"]), (inputs["count"], inputs["length"])
    tokens = generator.integers(PADDING + 1, ENTRIES, shape)
    lengths = [inputs["length"], *generator.integers(3, inputs["length"], inputs["count"] - 1)]
    tokens[np.arange(inputs["length"]) >= np.array(lengths)[:, None]] = PADDING
    width = SIZES["hidden_size"]
    embeddings, vectors = normal((ENTRIES, width), seed=1), normal((inputs["count"], width), seed=2)
    return torch.from_numpy(tokens), embeddings.requires_grad_(), vectors.requires_grad_()


def _decoded(about: str, **shape: int) -> Compared:
    inputs = {"weights": 1, "texts": 84, "count": 3, "length": 12} | shape
    # the released code rounds softmax and GELU to float32, whatever comes in
    return Compared(about, inputs, our_decoder, official_decoder, dtype="float32", tolerance=1e-6)


def _loss(logits: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """The cross-entropy of every next token that there is."""
    following = tokens[:, 1:].masked_fill(tokens[:, 1:] == PADDING, IGNORED)
    return torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), following.flatten())


def our_decoder(inputs: Mapping[str, Any]) -> Side:
    """The loss of the next tokens; its gradient in the decoder, the embeddings and the vectors."""
    tokens, embeddings, vectors = texts(inputs)
    made = decoder(inputs)
    states = made(embeddings[tokens], vectors, (tokens != PADDING).long())
    loss = _loss(torch.nn.functional.linear(states, embeddings), tokens)
    loss.backward()
    slopes = gradients(made) | {"embeddings": embeddings.grad, "vectors": vectors.grad}
    return Side({"reconstruction": loss.item()}, slopes)


def official_decoder(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """``TransformerDecoder`` under the defaults of its configuration, with the same weights."""
    (tokens, embeddings, vectors), from_ours = texts(inputs), decoder(inputs)
    bare_package("SEED_Encoder", checkout / "model" / "SEED_Encoder")
    modules = ("configuration_seed_encoder", "transformer_sentence_encoder")
    with imported(checkout / "model", *(f"SEED_Encoder.{name}" for name in modules)) as (
        configuration,
        model,
    ):
        width, heads = SIZES["hidden_size"], SIZES["num_attention_heads"]
        config = configuration.SEEDEncoderConfig(
            max_positions=inputs["length"],
            decoder_layers=inputs["layers"],
            decoder_attention_heads=heads,
            decoder_ffn_embed_dim=SIZES["intermediate_size"],
            **{f"{side}_embed_dim": width for side in ("encoder", "decoder")},
        )
        entries = torch.nn.Embedding(ENTRIES, width, padding_idx=PADDING)
        released = model.TransformerDecoder(config, entries).double().eval()
        _take_over(released, from_ours, embeddings)
        read = model.EncoderOut(vectors.unsqueeze(0), None, None, None, None, None)
        stepless = mock.patch.object(model.MultiheadAttention, "get_incremental_state", _none, create=True)
        with stepless:
            logits = released(tokens, encoder_out=read, local_attn_mask=inputs["window"])[0]
        loss = _loss(logits, tokens)
        loss.backward()
    theirs = gradients(released)
    theirs["embed_positions.weight"] = theirs["embed_positions.weight"][PADDING + 1 :]
    slopes = {
        ours: torch.cat([theirs[part] for part in parts]) for ours, parts in names(inputs["layers"]).items()
    }
    slopes |= {"embeddings": theirs["embed_tokens.weight"], "vectors": vectors.grad}
    return Side({"reconstruction": loss.item()}, slopes)


def _none(*_: Any) -> None:
    """There is no state of a generation token by token."""


def _take_over(released, from_ours: CrossAttentionDecoder, embeddings: torch.Tensor) -> None:
    weights = {"embed_tokens.weight": embeddings.detach(), "output_projection.weight": embeddings.detach()}
    known = from_ours.state_dict()
    for ours, parts in names(len(from_ours.layers)).items():
        weights |= dict(zip(parts, known[ours].chunk(len(parts)), strict=True))
    unused = torch.zeros(PADDING + 1, SIZES["hidden_size"], dtype=torch.float64)  # positions begin behind it
    weights["embed_positions.weight"] = torch.cat((unused, weights["embed_positions.weight"]))
    lacking = released.load_state_dict(weights, strict=False)
    assert lacking.missing_keys == ["version"] and not lacking.unexpected_keys, lacking


ORACLE = Declared(
    file="baselines/seed",
    objective="SEED's decoder and its window",
    code=ReleasedCode(
        repository="microsoft/SEED-Encoder",
        commit="ececaa9cd5c9a8bc93184eb5a45ec38d9e2a1f95",
        files=tuple(
            f"model/SEED_Encoder/{name}.py"
            for name in ("transformer_sentence_encoder", "modules", "configuration_seed_encoder")
        ),
    ),
    nodes=(
        ConcernedNodes(
            stage="pretrain",
            params={
                "objective.name": ("seed",),
                "options.decoder": ("cross-attention",),
                "options.sees_bottleneck": (True,),
            },
        ),
    ),
    cases={
        "window-2": Compared(
            "the window of the three layers", {"window": 2, "length": 12}, ours, official, dtype=""
        ),
        "window-8": Compared(
            "the window of the one layer", {"window": 8, "length": 12}, ours, official, dtype=""
        ),
        "three-layers": _decoded("three layers, a window of 2", layers=3, window=2),
        "one-layer": _decoded("one layer, a window of 8", layers=1, window=8),
    },
    mutations=(
        Mutation(
            "papers.baselines.bottleneck_decoder:BottleneckDecoder.visible",
            "mask = offsets >= 0",
            "mask = offsets <= 0",
        ),
        Mutation(
            "papers.baselines.cross_attention_decoder:CrossAttentionDecoder.forward",
            "embedded + self.positions(places)",
            "embedded - self.positions(places)",
        ),
        Mutation(
            "papers.baselines.cross_attention_decoder:CrossAttentionDecoder.forward",
            "h_cls.unsqueeze(1)",
            "-h_cls.unsqueeze(1)",
        ),
    ),
    shims=(
        "the package's __init__, which imports what no longer exists, is left out",
        "attention has no method get_incremental_state, which a generation token by token would use",
    ),
    departures=("the released encoder's class cannot be built: losses of masked words are not compared",),
)

if __name__ == "__main__":
    main(ORACLE)
