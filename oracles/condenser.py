"""Condenser: masked words predicted from a late [CLS] beside early tokens, and from the last layer.

python -m oracles.condenser --checkout Condenser
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
from oracles.made_up import masked_lm, same_dropouts, tokenizer, weighted
from oracles.masked_texts import GivenOrder, framed_rows, masked_side, rows_with_keys, shuffler
from oracles.older_transformers import older_transformers
from oracles.shims import giving_tuples, imported
from oracles.sides import Side, gradients
from oracles.written import ConcernedNodes, ReleasedCode
from papers.baselines.condenser import Condenser
from papers.baselines.whole_words import WholeWords

LAYERS, EARLY = 4, 2  # of the encoder, half of them before the head's tokens


def condenser(inputs: Mapping[str, Any]) -> Condenser:
    """Ours over a small BERT, with weights from the seed."""
    made = Condenser(
        masked_lm(seed=inputs["weights"], layers=LAYERS, dropout=inputs["dropout"]),
        tokenizer(),
        masking={"rate": 0.15, "mask": 0.8, "random": 0.1},
        unit="whole-word",
        head_layers=2,
        early_share=EARLY / LAYERS,
        late=inputs["late"],
        quota="text",
        length=32,
        seed=7,
    )
    weighted(made.head, seed=inputs["weights"] + 1)
    return made.train(inputs["dropout"] > 0)


def batch(inputs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """So many masked texts of one segment."""
    side = masked_side(framed_rows(inputs["count"], seed=inputs["texts"], words=(4, 15)), rate=0.3, seed=8)
    side |= {"masked_ids": side["ids"], "attention_mask": side["attention"]}
    return side | {"segments": torch.zeros_like(side["ids"])}


def ours(inputs: Mapping[str, Any]) -> Side:
    """The loss and its gradient."""
    made = condenser(inputs)
    with same_dropouts(inputs["weights"]):
        loss = sum(made(batch(inputs)).values())
    loss.backward()
    return Side({"loss": loss.item()}, gradients(made))


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """``CondenserForPretraining`` of modeling.py with the same weights."""
    from_ours, given = condenser(inputs), batch(inputs)
    with older_transformers(), imported(checkout, "modeling") as (modeling,):
        arguments = SimpleNamespace(n_head_layers=2, skip_from=EARLY, late_mlm=inputs["late"])
        released = modeling.CondenserForPretraining(from_ours.encoder, arguments, None, None).double()
        released.c_head.load_state_dict(from_ours.head.layers.state_dict())
        giving_tuples(released.c_head)
        texts = {"input_ids": given["ids"], "attention_mask": given["attention"]}
        with same_dropouts(inputs["weights"]):
            loss = released.train(inputs["dropout"] > 0)(texts, given["labels"])
        loss.backward()
    return Side({"loss": loss.item()}, gradients(released, _ours_name))


def _ours_name(name: str) -> str:
    return (
        name.replace("lm.", "encoder.", 1)
        if name.startswith("lm.")
        else name.replace("c_head.", "head.layers.")
    )


def our_masks(inputs: Mapping[str, Any]) -> Side:
    """The tokens of framed texts that ours chooses, words in the order given."""
    words, chosen = WholeWords.of(tokenizer()), []
    for row, keys in rows_with_keys(inputs):
        order = GivenOrder(words.numbers(row), keys)
        how = {"unit": "whole-word", "rate": inputs["rate"], "quota": "text"}
        taken = words.drawn(row, [len(row)], generators=[order], **how)
        chosen.append(np.flatnonzero(taken).tolist())
    return _chosen(chosen, inputs)


def official_masks(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """Those of ``CondenserCollator._whole_word_mask`` of data.py, which sees a text without its frame."""
    chosen = []
    with older_transformers(), imported(checkout, "data") as (data,):
        collator = data.CondenserCollator(tokenizer(), mlm_probability=inputs["rate"])
        for row, keys in rows_with_keys(inputs):
            with mock.patch.object(data.random, "shuffle", shuffler(keys[1:])):
                taken = collator._whole_word_mask(tokenizer().convert_ids_to_tokens(row[1:-1]))
            chosen.append((1 + np.flatnonzero(taken)).tolist())
    return _chosen(chosen, inputs)


def _chosen(chosen: list[list[int]], inputs: Mapping[str, Any]) -> Side:
    return Side(values={"chosen": chosen}, compared=sum(len(row) for row, _ in rows_with_keys(inputs)))


def _compared(about: str, **changes: Any) -> Compared:
    inputs = {"weights": 1, "texts": 41, "count": 4, "dropout": 0.0, "late": True}
    return Compared(about, inputs | changes, ours, official)


ORACLE = Declared(
    file="baselines/condenser",
    objective="Condenser",
    code=ReleasedCode(
        repository="luyug/Condenser",
        commit="74880ab8d230c5bb4a4b363d50856b9bd711d38d",
        files=("modeling.py", "data.py"),
    ),
    nodes=(
        ConcernedNodes(
            stage="pretrain",
            params={
                "objective.name": ("condenser",),
                "options.unit": ("whole-word",),
                "options.quota": ("text",),
                "options.early_share": (0.5,),
            },
        ),
    ),
    cases={
        "with-late-mlm": _compared("the head's loss and that of the last layer"),
        "head-alone": _compared("the head's loss alone", late=False),
        "with-dropout": _compared("in training, the same places dropped out", dropout=0.1),
        "masks": Compared(
            "whole words, 15 % of the tokens of a text, some of them unknown",
            {"texts": 42, "keys": 43, "count": 20, "words": [3, 50], "unknown": 0.1, "rate": 0.15},
            our_masks,
            official_masks,
            dtype="",
        ),
    },
    mutations=(
        Mutation("papers.baselines.condenser:Condenser.forward", "early[:, 1:]", "late[:, 1:]"),
        Mutation("papers.baselines.condenser:Condenser.forward", "late[:, :1]", "-late[:, :1]"),
        Mutation(
            "papers.baselines.condenser:Condenser.forward",
            "self._cross_entropy(values_at(late",
            "-self._cross_entropy(values_at(late",
        ),
        Mutation("papers.baselines.whole_words:WholeWords.chosen", "_sums(inside, lengths) if", "lengths if"),
    ),
    shims=("BertLayer gives a tuple", "get_extended_attention_mask", "an empty DataCollatorForWholeWordMask"),
)

if __name__ == "__main__":
    main(ORACLE)
