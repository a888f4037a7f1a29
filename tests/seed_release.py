"""A release of SEED in small: names, order and shapes of the released files."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from tests.tiny_models import MARKS, PIECES, WORDS

ENTRIES = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]", *MARKS, *WORDS, *PIECES]
CONFIG = {  # what config.json of the released models says, at other sizes
    "model_type": "seed_encoder",
    "architectures": ["SEEDEncoderForMaskedLM"],
    "activation_dropout": 0.0,
    "activation_fn": "gelu",
    "attention_dropout": 0.1,
    "decoder_atten_window": 2,
    "decoder_layers": 3,
    "dropout": 0.1,
    "encoder_attention_heads": 2,
    "encoder_embed_dim": 16,
    "encoder_ffn_embed_dim": 24,
    "encoder_layers": 2,
    "max_positions": 20,
    "pad_token_id": 1,
    "vocab_size": len(ENTRIES) + 1,
}
LINEAR = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj")
RELEASED = CONFIG | {  # sizes of the released models
    "encoder_attention_heads": 12,
    "encoder_embed_dim": 768,
    "encoder_ffn_embed_dim": 3072,
    "encoder_layers": 12,
    "max_positions": 512,
    "vocab_size": 32769,
}


def shapes(config: dict, *, prefix: str = "seed_encoder.encoder.sentence_encoder.") -> dict[str, tuple]:
    width, inner = config["encoder_embed_dim"], config["encoder_ffn_embed_dim"]
    named = {
        "embed_tokens.weight": (config["vocab_size"], width),
        "embed_positions.weight": (config["max_positions"] + 2, width),
        **_pair("emb_layer_norm", (width,), width),
    }
    for layer in range(config["encoder_layers"]):
        at = f"layers.{layer}."
        for name in LINEAR:
            named |= _pair(at + name, (width, width), width)
        named |= _pair(at + "fc1", (inner, width), inner) | _pair(at + "fc2", (width, inner), width)
        for name in ("self_attn_layer_norm", "final_layer_norm"):
            named |= _pair(at + name, (width,), width)
    return {prefix + name: shape for name, shape in named.items()}


def head_shapes(config: dict) -> dict[str, tuple]:
    """Those of the masked-language head; its matrix is the embeddings'."""
    width, entries = config["encoder_embed_dim"], config["vocab_size"]
    named = _pair("lm_head.dense", (width, width), width) | _pair("lm_head.layer_norm", (width,), width)
    return named | {"lm_head.weight": (entries, width), "lm_head.bias": (entries,)}


def retrieval_shapes(config: dict) -> dict[str, tuple]:
    """Those of what the fine-tuning code adds: a linear layer and a LayerNorm behind [CLS]."""
    width = config["encoder_embed_dim"]
    return _pair("embeddingHead", (width, width), width) | _pair("norm", (width,), width)


def _pair(name: str, weight: tuple, bias: int) -> dict[str, tuple]:
    return {f"{name}.weight": weight, f"{name}.bias": (bias,)}


def made_up(named: dict[str, tuple]) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(4)
    weights = {name: torch.randn(shape, generator=generator) / 4 for name, shape in named.items()}
    if "lm_head.weight" in weights:
        [embeddings] = (value for name, value in weights.items() if name.endswith("embed_tokens.weight"))
        weights["lm_head.weight"] = embeddings
    return weights


def write_release(folder: Path, weights: dict[str, torch.Tensor], *, mask_line: bool = False) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "vocab.txt").write_text("\n".join(ENTRIES + ["<mask>"] * mask_line) + "\n", encoding="utf-8")
    torch.save(weights, folder / "pytorch_model.bin")
    return folder
