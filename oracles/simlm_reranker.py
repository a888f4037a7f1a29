"""SimLM's re-ranker: the passages that it chooses, the listwise loss, and R-Drop."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from torch import nn

from oracles import made_up, shims, simlm_examples, simlm_texts
from oracles.declaration import Compared, Declared, Mutation, main
from oracles.sides import Side, digest, gradients
from oracles.written import ConcernedNodes
from repro.retrieval.nn.cross_encoder import CrossEncoder

LENGTH = 32


def ours(inputs: Mapping[str, Any]) -> Side:
    """Our loss and gradients of a training step, and its dropouts."""
    objective = CrossEncoder(
        _model(inputs),
        made_up.tokenizer(),
        trained_passages=inputs["passages"] // inputs["factor"],
        regulariser="r-drop" if inputs["r_drop"] else "none",
        passage_length=LENGTH,
        separator=": ",
    ).train()
    batch = objective.collate(simlm_examples.ours(inputs))
    with made_up.same_dropouts(inputs["seed"]) as dropouts:
        total = sum(objective(batch).values())
    total.backward()
    values = {"dropouts": digest(dropouts)}
    return Side({"total": total.item()}, gradients(objective), values, compared=len(dropouts))


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """The released model's, fed by the released loader and collator."""
    modules = "loaders", "collators", "models.cross_encoder_model"
    with shims.imported(checkout / simlm_texts.FOLDER, *modules, absent=simlm_texts.ABSENT) as loaded:
        loaders, collators, cross_encoder = loaded
        loading = loaders.CrossEncoderDataLoader, collators.CrossEncoderCollator
        batch = simlm_examples.official(*loading, inputs, rerank_max_length=LENGTH)
        args = SimpleNamespace(
            rerank_forward_factor=inputs["factor"],
            train_n_passages=inputs["passages"],
            rerank_use_rdrop=inputs["r_drop"],
        )
        model = cross_encoder.Reranker(_model(inputs), args).train()
        with made_up.same_dropouts(inputs["seed"]) as dropouts:
            loss = model(batch).loss
    loss.backward()
    slopes = gradients(model, lambda name: name.replace("hf_model.", "model.", 1))
    return Side({"total": loss.item()}, slopes, {"dropouts": digest(dropouts)}, compared=len(dropouts))


def _model(inputs: Mapping[str, Any]) -> nn.Module:
    from transformers import BertForSequenceClassification, ElectraConfig, ElectraForSequenceClassification

    config = made_up.bert(layers=2, dropout=inputs["dropout"], num_labels=1)
    if inputs["head"] == "bert":
        return made_up.weighted(BertForSequenceClassification(config), seed=inputs["seed"])
    config = ElectraConfig(**config.to_dict())
    config.embedding_size = config.hidden_size
    return made_up.weighted(ElectraForSequenceClassification(config), seed=inputs["seed"])


INPUTS = {"seed": 8, "corpus": 60, "queries": 5, "negatives": 14, "passages": 8, "epoch": 1, "turn_seed": 3}


def _compared(about: str, **changes) -> Compared:
    usual = {"head": "electra", "factor": 2, "r_drop": True, "dropout": 0.1}
    return Compared(about, INPUTS | usual | changes, ours, official)


ORACLE = Declared(
    file="simlm/cross-encoder",
    objective="SimLM's re-ranker: its hardest passages, listwise loss and R-Drop",
    code=simlm_texts.released(
        "models/cross_encoder_model.py",
        "loaders/cross_encoder_dataloader.py",
        "collators/cross_encoder_collator.py",
    ),
    nodes=(
        ConcernedNodes(
            stage="finetune",
            params={
                "objective.name": ("cross-encoder",),
                "options.regulariser": ("r-drop", "none"),
                "separator": (": ",),
            },
        ),
    ),
    cases={
        "r-drop": _compared("R-Drop with dropout 0.1, the same in the same places"),
        "bert": _compared("R-Drop, BERT's head", head="bert"),
        "a-quarter": _compared("two of eight passages trained on", factor=4),
        "plain": _compared("without R-Drop", r_drop=False),
        "all": _compared("all passages trained on, no dropout", factor=1, r_drop=False, dropout=0.0),
    },
    mutations=(
        Mutation("repro.retrieval.nn.cross_encoder:hardest", "scores[:, 1:]", "-scores[:, 1:]"),
        Mutation(
            "repro.retrieval.nn.cross_encoder:CrossEncoder.forward",
            "divergence(first, second) + ",
            "divergence(first, second) - ",
        ),
        Mutation(
            "repro.retrieval.nn.cross_encoder:CrossEncoder._scores", "return scores.to", "return -scores.to"
        ),
        Mutation("repro.retrieval.nn.contrastive:divergence", "(log_p - log_q)", "(log_p + log_q)"),
    ),
    shims=simlm_texts.SHIMS,
)

if __name__ == "__main__":
    main(ORACLE)
