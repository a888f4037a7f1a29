"""SEED's released weights (microsoft/SEED-Encoder@ececaa9), converted to the equivalent RoBERTa."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from repro.machine.bounded_reading import read_facts, read_json_file
from repro.retrieval.nn.precision import Tensors

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

MODEL_TYPE = "seed_encoder"
BODY = "sentence_encoder."
MASK = "<mask>"
SPECIAL = {"cls_token": "[CLS]", "pad_token": "[PAD]", "sep_token": "[SEP]", "unk_token": "[UNK]"}
EPSILON = 1e-5
NAMES = read_facts(Path(__file__).with_name("seed_encoder.yaml"))


def load(folder: Path) -> tuple["PreTrainedModel", "PreTrainedTokenizerBase", dict]:
    """Return a checkpoint, its tokenizer, and facts, e.g. ``{"retrieval_head": "none", …}``.

    The decoder and the retrieval head are dropped. Raises OSError or ValueError.
    """
    from transformers import RobertaForMaskedLM, RobertaModel

    settings = read_json_file(folder / "config.json")
    weights = torch.load(folder / "pytorch_model.bin", map_location="cpu", weights_only=True)
    config, body = _config(settings), _body(weights)
    head = {name: value for name, value in weights.items() if name.startswith("lm_head.")}
    model: PreTrainedModel
    if head:
        model = RobertaForMaskedLM(config)
        head.pop("lm_head.weight", None)  # shared with the embeddings
        body = {f"roberta.{name}": value for name, value in body.items()}
        body |= {name: value.float() for name, value in head.items()}
    else:
        model = RobertaModel(config, add_pooling_layer=False)
    _fill(model, body, segments="roberta.embeddings" if head else "embeddings")
    tokenizer = load_tokenizer(folder / "vocab.txt", settings["vocab_size"])
    return model, tokenizer, {"converted_from": MODEL_TYPE, "retrieval_head": _retrieval_head(weights)}


def load_tokenizer(vocabulary: Path, size: int):
    """Return the tokenizer of a ``vocab.txt``. Raises ValueError unless it has ``size`` entries."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    entries = vocabulary.read_text(encoding="utf-8").split("\n")
    entries = [entry for entry in entries if entry and entry != MASK] + [MASK]
    ids = {entry: place for place, entry in enumerate(entries)}
    if len(ids) != size or not set(SPECIAL.values()) <= ids.keys():
        raise ValueError(f"{vocabulary.name} has {len(ids)} entries, and the model {size}")
    inner = Tokenizer(models.WordPiece(ids, unk_token=SPECIAL["unk_token"]))
    inner.normalizer = normalizers.BertNormalizer(
        clean_text=False, handle_chinese_chars=True, strip_accents=False, lowercase=True
    )
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.decoder = decoders.WordPiece()
    frame = [(SPECIAL[name], ids[SPECIAL[name]]) for name in ("cls_token", "sep_token")]
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=frame
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        mask_token=MASK,
        model_max_length=512,
        model_input_names=["input_ids", "attention_mask"],
        **SPECIAL,
    )


def _config(settings: Mapping):
    from transformers import RobertaConfig

    return RobertaConfig(
        **{name: settings[key] for name, key in NAMES["config"].items()},
        max_position_embeddings=settings["max_positions"] + settings["pad_token_id"] + 1,
        type_vocab_size=1,
        layer_norm_eps=EPSILON,
        bos_token_id=0,
        eos_token_id=2,
    )


def _body(weights: Mapping[str, Tensor]) -> Tensors:
    inner = {name.rpartition(BODY)[2]: value for name, value in weights.items() if BODY in name}
    return {_roberta_name(name): value.float() for name, value in inner.items()}


def _roberta_name(name: str) -> str:
    stem, _, kind = name.rpartition(".")
    layer = re.fullmatch(r"layers\.(\d+)\.(.+)", stem)
    if stem in NAMES["embeddings"]:
        return f"{NAMES['embeddings'][stem]}.{kind}"
    if layer and layer[2] in NAMES["layer"]:
        return f"encoder.layer.{layer[1]}.{NAMES['layer'][layer[2]]}.{kind}"
    raise ValueError(f"its weight {name} has no place in the architecture")


def _fill(model: torch.nn.Module, weights: Tensors, *, segments: str) -> None:
    name = f"{segments}.token_type_embeddings.weight"  # RoBERTa adds one vector to every token, SEED none
    weights = weights | {name: torch.zeros_like(model.state_dict()[name])}
    try:
        report = model.load_state_dict(weights, strict=False)
    except RuntimeError as error:
        raise ValueError(str(error).split("\n")[1].strip()) from error
    tied_keys = ("lm_head.decoder.weight", "lm_head.decoder.bias")
    wrong = [key for key in (*report.missing_keys, *report.unexpected_keys) if key not in tied_keys]
    if wrong:
        raise ValueError(f"its weights do not fit the architecture, {wrong[0]} is missing or unused")


def _retrieval_head(weights: Mapping[str, Tensor]) -> str:
    if "norm.weight" not in weights:
        return "none"
    scale, shift = weights["norm.weight"], weights["norm.bias"]
    return "trained" if (scale != 1).any() or shift.any() else "new"
