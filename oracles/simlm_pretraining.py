"""SimLM's pre-training: the losses of encoder, decoder and generator, and all of their gradients."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import nn

from oracles import made_up, shims, simlm_texts
from oracles.declaration import Compared, Declared, Mutation, main
from oracles.sides import Side, digest, gradients
from oracles.written import ConcernedNodes
from papers.simlm import generator as fillings
from papers.simlm.generator import Generator
from papers.simlm.replaced_language_modelling import ReplacedLanguageModelling

WEIGHT = 0.2  # of the generator's own loss
MASKS = {"unit": "whole-word", "superset": "union", "mask": 1.0, "random": 0.0}
DECODER = {"layers": 2, "segments": "zeros", "slot": "replace", "shared_head": True}
TOKEN_LOSS = {"per": 64, "specials": False}  # the texts that the released scripts encode together


def ours(inputs: Mapping[str, Any]) -> Side:
    """Our losses and gradients of a training step."""
    batch, draws = simlm_texts.ours(inputs), _draws(inputs)
    replacement = {"training": inputs["generator"], "dropout": True, "draws": "independent"}
    objective = ReplacedLanguageModelling(
        _model(inputs),
        made_up.tokenizer(),
        masks={"encoder_rate": inputs["encoder_rate"], "decoder_rate": inputs["decoder_rate"], **MASKS},
        replacement=replacement,
        generator_weight=WEIGHT,
        decoder=DECODER,
        token_loss=TOKEN_LOSS,
        length=inputs["length"],
        seed=0,
    )
    objective.generator = Generator(_generator(inputs), **replacement)
    sides = iter(["encoder", "decoder"])
    drawn = lambda hidden, head: draws[side := next(sides)][batch[f"{side}_chosen"]]  # noqa: E731
    with mock.patch.object(fillings, "sampled", drawn), made_up.same_dropouts(inputs["seed"]) as dropouts:
        losses = objective.train()(batch)
    total = sum(losses.values())
    total.backward()
    numbers = {name: loss.item() for name, loss in (losses | {"total": total}).items()}
    return Side(numbers, gradients(objective), {"dropouts": digest(dropouts)}, compared=len(dropouts))


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """The released model's, fed by the released collator."""
    modules = "collators", "models.rlm"
    with shims.imported(checkout / simlm_texts.FOLDER, *modules, absent=simlm_texts.ABSENT) as [
        collators,
        rlm,
    ]:
        batch = simlm_texts.official(collators, inputs)
        args = SimpleNamespace(
            rlm_decoder_layers=DECODER["layers"],
            rlm_generator_model_name="",
            rlm_freeze_generator=inputs["generator"] == "frozen",
            rlm_generator_mlm_weight=WEIGHT,
        )
        found = SimpleNamespace(from_pretrained=lambda name: _generator(inputs))
        tokens = iter(_draws(inputs).values())
        drawn = lambda logits: SimpleNamespace(sample=lambda: next(tokens))  # noqa: E731
        with mock.patch.object(rlm, "AutoModelForMaskedLM", found):
            model = rlm.ReplaceLM(args, _model(inputs))
        shims.giving_tuples(model.decoder)
        model.encoder.get_extended_attention_mask = shims.extended_attention_mask
        with mock.patch.object(rlm, "Categorical", drawn), made_up.same_dropouts(inputs["seed"]) as dropouts:
            made = model.train()(batch)
    made.loss.backward()
    losses = {"encoder": made.encoder_mlm_loss, "decoder": made.decoder_mlm_loss, "total": made.loss}
    if inputs["generator"] != "frozen":
        losses["generator"] = WEIGHT * made.g_mlm_loss
    numbers = {name: loss.item() for name, loss in losses.items()}
    return Side(numbers, gradients(model, _our_name), {"dropouts": digest(dropouts)}, compared=len(dropouts))


PARTS = {"encoder": "network.encoder", "decoder": "network.decoder.layers", "generator": "generator.model"}


def _our_name(name: str) -> str:
    part, _, rest = name.partition(".")
    return f"{PARTS[part]}.{rest}"


def _model(inputs: Mapping[str, Any]) -> nn.Module:
    return made_up.masked_lm(seed=inputs["seed"], layers=3, dropout=inputs["dropout"])


def _generator(inputs: Mapping[str, Any]) -> nn.Module:
    """A small ELECTRA generator, whose embeddings are narrower than its layers."""
    from transformers import ElectraConfig, ElectraForMaskedLM

    config = ElectraConfig(**made_up.bert(layers=2, hidden=16, dropout=inputs["dropout"]).to_dict())
    config.embedding_size = 8
    return made_up.weighted(ElectraForMaskedLM(config), seed=inputs["seed"] + 1)


def _draws(inputs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """The tokens that are put at every position, for the encoder and for the decoder."""
    shape = simlm_texts.ours(inputs)["clean_ids"].shape
    drawn = np.random.default_rng((inputs["seed"], 1)).integers(5, len(made_up.tokenizer()), (2, *shape))
    return dict(zip(("encoder", "decoder"), torch.from_numpy(drawn), strict=True))


INPUTS = {"seed": 3, "texts": 12, "words": 40, "length": 48, "encoder_rate": 0.3, "decoder_rate": 0.5}
OPTIONS = {
    "replacement.dropout": (True,),
    "decoder.segments": (DECODER["segments"],),
    "decoder.slot": (DECODER["slot"],),
    "decoder.shared_head": (True,),
    "token_loss.per": (TOKEN_LOSS["per"],),
    "token_loss.specials": (False,),
}


def _compared(about: str, **changes) -> Compared:
    return Compared(about, INPUTS | {"dropout": 0.0, "generator": "frozen"} | changes, ours, official)


def _concerned(training: str) -> ConcernedNodes:
    known = {f"options.{name}": values for name, values in OPTIONS.items()}
    trained = {"objective.name": ("simlm",), "options.replacement.training": (training,)}
    return ConcernedNodes(stage="pretrain", params=trained | known)


MUTATIONS = (
    ("papers.simlm.bottleneck:EncoderDecoder.decode", "embedded[:, 1:]", "-embedded[:, 1:]"),
    (
        "papers.simlm.replaced_language_modelling:ReplacedLanguageModelling.forward",
        "hidden[:, 0]",
        "-hidden[:, 0]",
    ),
    ("papers.simlm.token_losses:predicted", "torch.logical_not", "torch.Tensor.bool"),
    ("papers.simlm.token_losses:average", "return losses[0]", "return -losses[0]"),
    ("papers.simlm.generator:Generator.loss", "return average", "return -average"),
    (
        "papers.baselines.bottleneck_decoder:BottleneckDecoder.from_last_layers",
        "len(encoder) - layers",
        "0",
    ),
    (
        "papers.baselines.bottleneck_decoder:BottleneckDecoder.visible",
        "attention_mask[:, None, :].bool()",
        "~attention_mask[:, None, :].bool()",
    ),
)
ORACLE = Declared(
    file="simlm/replaced-language-modelling",
    objective="SimLM's pre-training: losses of encoder, decoder and generator",
    code=simlm_texts.released("models/rlm.py", "collators/rlm_collator.py", "collators/collator_utils.py"),
    nodes=(_concerned("frozen"), _concerned("joint")),
    cases={
        "frozen": _compared("the generator is frozen"),
        "joint": _compared("the generator learns (Table 12)", generator="joint"),
        "dropout": _compared("with dropout 0.1, the same in the same places", dropout=0.1, generator="joint"),
    },
    mutations=tuple(Mutation(*mutation) for mutation in MUTATIONS),
    shims=(
        *simlm_texts.SHIMS,
        "a layer of the decoder returns a tuple; get_extended_attention_mask is that of transformers 4.15",
    ),
)

if __name__ == "__main__":
    main(ORACLE)
