"""The authors' later pre-training, CoT-MAE-qc: one text is encoded, an AE and an AR decoder rebuild others.

python -m oracles.cotmae_qc --checkout ir
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import nn

from oracles.cotmae_first_version import WORDS, objective
from oracles.declaration import Compared, Declared, Mutation, main
from oracles.made_up import same_dropouts, tokenizer
from oracles.masked_texts import GivenOrder, framed_rows, masked_side, rows_with_keys, shuffler
from oracles.older_transformers import older_transformers
from oracles.shims import giving_tuples, imported
from oracles.sides import Side, gradients
from oracles.written import ConcernedNodes, ReleasedCode
from papers.baselines.whole_words import WholeWords
from papers.cotmae_v2.multi_view_autoencoder import MultiViewAutoEncoder
from repro.retrieval.nn.masked_tokens import IGNORED

LOSSES = {
    "encoder.mlm": "bert_mlm_loss",
    "auto_encoding.dense": "enc_head_mlm_loss",
    "auto_regressive.dense": "dec_head_casual_loss",
}
PLACES = {"auto_encoding": "enc", "auto_regressive": "dec"}  # of our decoders among the released arguments


def made(inputs: Mapping[str, Any]) -> MultiViewAutoEncoder:
    """Ours with the decoders that the inputs name, of one layer each."""
    return objective(
        inputs["weights"],
        dropout=inputs["dropout"],
        decoders=inputs["decoders"],
        encoded_texts="anchor",
        decoder_layers={"auto_encoding": "bert", "auto_regressive": "gpt2", "layers": inputs["layers"]},
        autoregressive_window=inputs["window"] or 0,
    )


def batch(inputs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """So many texts to encode, and others of them for each decoder; the AR decoder's are not masked."""
    seed, count = inputs["texts"], inputs["count"]
    rows = {side: framed_rows(count, seed=(seed, place), words=WORDS) for place, side in enumerate(SIDES)}
    sides = {
        side: masked_side(rows[side], rate=rate, seed=(seed, 10 + place))
        for place, (side, rate) in enumerate(SIDES.items())
    }
    clean, attention = (sides["auto_regressive"][name] for name in ("clean", "attention"))
    following = torch.where(attention.bool(), clean, IGNORED)[:, 1:]
    labels = torch.cat((following, torch.full((count, 1), IGNORED)), dim=1)
    sides["auto_regressive"] |= {"ids": clean, "labels": labels}
    named = {f"{side}_{name}": array for side, arrays in sides.items() for name, array in arrays.items()}
    return named | {f"{decoder}_sources": torch.arange(count) for decoder in PLACES}


SIDES = {"encoder": 0.3, "auto_encoding": 0.45, "auto_regressive": 0.0}  # how much of each is masked


def ours(inputs: Mapping[str, Any]) -> Side:
    """The losses and the gradient of their sum."""
    autoencoder = made(inputs)
    with same_dropouts(inputs["weights"]):
        losses = autoencoder(batch(inputs))
    sum(losses.values()).backward()
    return Side({name: loss.item() for name, loss in losses.items()}, gradients(autoencoder))


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """``BertForCotMAE`` of cotmae-qc/cotmae/modeling.py with the same weights."""
    from_ours, given = made(inputs), batch(inputs)
    root = checkout / "cotmae-qc" / "cotmae"
    with older_transformers(), imported(root, "arguments", "modeling") as (arguments, modeling):
        released = modeling.BertForCotMAE(
            from_ours.encoder,
            arguments.ModelArguments(
                use_enc_head="auto_encoding" in inputs["decoders"],
                enable_enc_head_mlm=True,
                n_enc_head_layers=inputs["layers"],
                use_dec_head="auto_regressive" in inputs["decoders"],
                enable_dec_head_loss=True,
                n_dec_head_layers=inputs["layers"],
                attn_window=inputs["window"] or -1,
            ),
            SimpleNamespace(),
            SimpleNamespace(per_device_train_batch_size=inputs["count"]),
        ).double()
        _take_over(released, from_ours)
        with same_dropouts(inputs["weights"]):
            output = released.train(inputs["dropout"] > 0)(**_arguments(given))
        output.loss.backward()
    losses = {ours: output.logs[name] for ours, name in LOSSES.items() if name in output.logs}
    return Side(losses, gradients(released, _ours_name))


def _take_over(released: nn.Module, from_ours: MultiViewAutoEncoder) -> None:
    decoders = from_ours.decoders
    if "auto_encoding" in decoders:
        released.c_head.load_state_dict(decoders["auto_encoding"].layers.state_dict())
        giving_tuples(released.c_head)
    if "auto_regressive" in decoders:
        weights = decoders["auto_regressive"].layers.state_dict()
        lacking = released.d_head.load_state_dict(weights, strict=False)
        assert all(name.endswith("attn.bias") for name in lacking.missing_keys), lacking  # the window
        released.d_head_ln_f.load_state_dict(decoders["auto_regressive"].norm.state_dict())


def _arguments(given: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    names = {"input_ids": "encoder_ids", "attention_mask": "encoder_attention", "labels": "encoder_labels"}
    for decoder, place in PLACES.items():
        names[f"{place}_head_input_ids"] = f"{decoder}_ids"
        names[f"{place}_head_attention_mask"] = f"{decoder}_attention"
        names[f"{place}_head_labels"] = f"{decoder}_labels"
    return {theirs: given[own] for theirs, own in names.items()}


PREFIXES = {
    "lm.": "encoder.",
    "c_head.": "decoders.auto_encoding.layers.",
    "d_head.": "decoders.auto_regressive.layers.",
    "d_head_ln_f.": "decoders.auto_regressive.norm.",
}


def _ours_name(name: str) -> str:
    prefix = next(prefix for prefix in PREFIXES if name.startswith(prefix))
    return PREFIXES[prefix] + name.removeprefix(prefix)


def our_masks(inputs: Mapping[str, Any]) -> Side:
    """The tokens that a mask chooses of texts without a frame, words in the order given."""
    words, chosen = WholeWords.of(tokenizer()), []
    for row, keys in rows_with_keys(inputs):
        order = GivenOrder(words.numbers(row[1:-1]), keys)
        how = {"unit": "whole-word", "rate": inputs["rate"], "generators": [order]}
        taken = words.drawn(row[1:-1], [len(row) - 2], **how)
        chosen.append(np.flatnonzero(taken).tolist())
    return _chosen(chosen, inputs)


def official_masks(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """Those of ``CotMAECollator._whole_word_mask`` of cotmae-qc/cotmae/data.py."""
    chosen = []
    with older_transformers(), imported(checkout / "cotmae-qc" / "cotmae", "data") as (data,):
        collator = data.CotMAECollator()
        for row, keys in rows_with_keys(inputs):
            entries = tokenizer().convert_ids_to_tokens(row[1:-1])
            with mock.patch.object(data.random, "shuffle", shuffler(keys)):
                taken = collator._whole_word_mask(entries, mlm_probability=inputs["rate"])
            chosen.append(np.flatnonzero(taken).tolist())
    return _chosen(chosen, inputs)


def _chosen(chosen: list[list[int]], inputs: Mapping[str, Any]) -> Side:
    return Side(values={"chosen": chosen}, compared=sum(len(row) - 2 for row, _ in rows_with_keys(inputs)))


def _masks(about: str, rate: float) -> Compared:
    inputs = {"texts": 21, "keys": 22, "count": 12, "words": [3, 40], "unknown": 0.0, "rate": rate}
    return Compared(about, inputs, our_masks, official_masks, dtype="")


def _compared(about: str, **changes: Any) -> Compared:
    inputs = {"weights": 1, "texts": 31, "count": 3, "dropout": 0.0, "layers": 1, "window": None}
    inputs |= {"decoders": list(PLACES)} | changes
    return Compared(about, inputs, ours, official)


ORACLE = Declared(
    file="cotmae_v2/both_decoders",
    objective="CoT-MAE-qc's encoder with an auto-encoding and an auto-regressive decoder",
    code=ReleasedCode(
        repository="caskcsg/ir",
        commit="94ed5dc68dec8737a3f8d4427d7bee054699fa36",
        files=("cotmae-qc/cotmae/modeling.py", "cotmae-qc/cotmae/arguments.py", "cotmae-qc/cotmae/data.py"),
    ),
    nodes=(
        ConcernedNodes(
            stage="pretrain",
            params={
                "objective.name": ("contextual-autoencoder",),
                "options.views": (["dense"],),
                "options.encoded_texts": ("anchor",),
                "options.bottleneck_slot": ("replace",),
                "options.decoder_layers.auto_encoding": ("bert",),
                "options.decoder_layers.auto_regressive": ("gpt2",),
                "options.causal_targets": (True,),
                "options.masking_unit.whole_word": (True,),
                "options.windows": ("shared",),
                "options.token_loss_reduction": ("mean",),
            },
        ),
    ),
    cases={
        "both": _compared("both decoders, the auto-regressive one without a window"),
        "window": _compared("both decoders, a window of 3", window=3),
        "auto-encoding": _compared(
            "the auto-encoding decoder alone, two layers", decoders=["auto_encoding"], layers=2
        ),
        "auto-regressive": _compared(
            "the auto-regressive decoder alone, two layers and a window of 3",
            decoders=["auto_regressive"],
            layers=2,
            window=3,
        ),
        "with-dropout": _compared("in training, the same places dropped out", dropout=0.1, window=3),
        "encoder-masks": _masks("whole words at the encoder's rate", 0.3),
        "decoder-masks": _masks("whole words at the first version's rate of the decoder", 0.45),
    },
    mutations=(
        Mutation(
            "papers.baselines.bottleneck_decoder:BottleneckDecoder.visible",
            "offsets < self.window",
            "offsets <= self.window",
        ),
        Mutation(
            "papers.baselines.bottleneck_decoder:BottleneckDecoder.visible",
            "mask[:, 0] = True",
            "mask[:, 0] = False",
        ),
        Mutation(
            "papers.baselines.bottleneck_decoder:BottleneckDecoder.visible",
            "mask = offsets >= 0",
            "mask = offsets <= 0",
        ),
        Mutation(
            "papers.cotmae_v2.decoders:PreNormDecoder.forward", "self.norm(hidden)", "-self.norm(hidden)"
        ),
        Mutation("papers.cotmae_v2.decoders:PreNormDecoder.forward", "self.dropout(hidden)", "hidden"),
        Mutation(
            "papers.baselines.whole_words:WholeWords.chosen", "sizes[word] <= left", "sizes[word] < left"
        ),
    ),
    shims=(
        "BertLayer and GPT2Block give tuples",
        "GPT2Block has its causal buffer attn.bias, which the released code overwrites for a window",
        "get_extended_attention_mask, Conv1D and PretrainedConfig are where they were",
    ),
    departures=("CoT-MAE v2's second view was not released: only losses of the dense view are compared.",),
)

if __name__ == "__main__":
    main(ORACLE)
