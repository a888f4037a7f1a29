"""SimLM's retrievers: the contrastive loss, and the distillation from a re-ranker's scores."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import distributed, multiprocessing

from oracles import made_up, shims, simlm_examples, simlm_texts
from oracles.sides import Side, gradients
from repro.retrieval.nn.bi_encoder import CosineBiEncoder, DistilledBiEncoder

LENGTHS = {"query_length": 8, "passage_length": 24}
INPUTS = {
    "seed": 5,
    "corpus": 60,
    "queries": 6,
    "negatives": 9,
    "passages": 4,
    "epoch": 2,
    "turn_seed": 7,
    "temperature": 0.02,
    "processes": 1,
    "loss_scale": -1.0,
    "all_pairs": True,
    "step": None,
    "warmup_steps": 8,
    "distils": False,
    "alpha": 1.0,
}


def ours(inputs: Mapping[str, Any]) -> Side:
    """Our loss and gradients of a whole batch."""
    from transformers import BertModel

    options: dict[str, Any] = {
        "temperature": inputs["temperature"],
        "temperature_warmup": inputs["step"] is not None,
        "terms": "four-blocks" if inputs["all_pairs"] else "query",
        "shares": 1,
        # of a training over R processes that does not multiply its loss by R
        "weight": inputs["alpha"] * (1.0 if inputs["loss_scale"] < 0 else 1 / inputs["processes"]),
        "pooling": "cls",
        "separator": "pair",
        "warmup_steps": inputs["warmup_steps"],
        **LENGTHS,
    }
    kind = CosineBiEncoder
    if inputs["distils"]:
        kind, more = (
            DistilledBiEncoder,
            {"teacher_temperature": 1.0, "student_temperature": inputs["temperature"]},
        )
        options |= more
    model = made_up.weighted(BertModel(made_up.bert(layers=2)), seed=inputs["seed"])
    objective = kind(model, made_up.tokenizer(), **options).train()
    objective.steps.fill_(inputs["step"] or 0)
    batch = objective.collate(simlm_examples.ours(inputs))
    if inputs["distils"]:
        batch["teacher"] = batch["teacher"].double()
    total = sum(objective(batch).values())
    total.backward()
    return Side({"total": total.item()}, gradients(objective))


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """The released model's loss, and the mean of its processes' gradients, as a training takes it."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = (checkout, inputs, Path(folder))
        multiprocessing.spawn(_one_process, arguments, nprocs=inputs["processes"])
        parts = [torch.load(path) for path in sorted(Path(folder).glob("*.pt"))]
    # the loss whose gradient that mean is; a divergence that each process has of its own cannot be told apart
    known = not inputs["distils"] or len(parts) == 1
    losses = {"total": sum(part["loss"] for part in parts) / len(parts) ** 2} if known else {}
    slopes = {
        name: sum(part["gradients"][name] for part in parts) / len(parts) for name in parts[0]["gradients"]
    }
    return Side(losses, slopes)


def _one_process(rank: int, checkout: Path, inputs: Mapping[str, Any], folder: Path) -> None:
    """One process of a training with the released model on its share of the queries."""
    from transformers import BertModel

    torch.set_num_threads(1)
    count = inputs["processes"]
    distributed.init_process_group("gloo", f"file://{folder / 'meeting'}", rank=rank, world_size=count)
    modules = "loaders", "collators", "models.biencoder_model"
    with shims.imported(checkout / simlm_texts.FOLDER, *modules, absent=simlm_texts.ABSENT) as loaded:
        loaders, collators, biencoder = loaded
        lengths = {"q_max_len": LENGTHS["query_length"], "p_max_len": LENGTHS["passage_length"]}
        batch = simlm_examples.official(
            loaders.RetrievalDataLoader,
            collators.BiencoderCollator,
            inputs,
            do_kd_biencoder=inputs["distils"],
            **lengths,
        )
        share = {name: rows.chunk(count)[rank] for name, rows in batch.items()}
        query, passage = (
            {name.removeprefix(side): rows for name, rows in share.items() if name.startswith(side)}
            for side in ("q_", "d_")
        )
        if inputs["distils"]:
            query["kd_labels"] = share["kd_labels"].double()
        lm = made_up.weighted(BertModel(made_up.bert(layers=2)), seed=inputs["seed"])
        model = biencoder.BiencoderModel(_args(rank, inputs), lm, lm).train()
        model.trainer = SimpleNamespace(state=SimpleNamespace(global_step=inputs["step"]))
        loss = model(query=query, passage=passage).loss
        loss.backward()
        slopes = gradients(model, lambda name: name.replace("lm_q.", "model."))
        torch.save({"loss": loss.item(), "gradients": slopes}, folder / f"{rank}.pt")
    distributed.destroy_process_group()


def _args(rank: int, inputs: Mapping[str, Any]) -> SimpleNamespace:
    return SimpleNamespace(
        process_index=rank,
        world_size=inputs["processes"],
        train_n_passages=inputs["passages"],
        t=inputs["temperature"],
        l2_normalize=True,
        t_warmup=inputs["step"] is not None,
        warmup_steps=inputs["warmup_steps"],
        full_contrastive_loss=inputs["all_pairs"],
        use_scaled_loss=True,
        loss_scale=inputs["loss_scale"],
        add_pooler=False,
        do_kd_biencoder=inputs["distils"],
        kd_mask_hn=False,
        kd_cont_loss_weight=inputs["alpha"],
    )
