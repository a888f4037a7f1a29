"""SimLM's distilled retriever: the divergence from a re-ranker's scores, and the contrastive loss."""

from __future__ import annotations

from oracles import simlm_biencoder, simlm_texts
from oracles.declaration import Compared, Declared, Mutation, main
from oracles.written import ConcernedNodes


def _compared(about: str, **changes) -> Compared:
    inputs = simlm_biencoder.INPUTS | {"seed": 6, "distils": True, "alpha": 0.2} | changes
    return Compared(about, inputs, simlm_biencoder.ours, simlm_biencoder.official)


DIVERGENCE = "repro.retrieval.nn.contrastive:divergence"
ORACLE = Declared(
    file="simlm/distillation",
    objective="SimLM's distillation: divergence from the re-ranker, and labels",
    code=simlm_texts.released(
        "models/biencoder_model.py",
        "loaders/biencoder_dataloader.py",
        "collators/biencoder_collator.py",
        "utils.py",
    ),
    nodes=(
        ConcernedNodes(
            stage="finetune",
            params={
                "objective.name": ("distillation",),
                "options.terms": ("four-blocks", "query"),
                "options.teacher_temperature": (1, 1.0),
                "separator": ("pair",),
                "pooling": ("cls",),
            },
        ),
    ),
    cases={
        "marco": _compared("α 0.2 on the contrastive loss"),
        "processes": _compared("two processes: gradients alone", processes=2),
        "questions": _compared(
            "α 1, temperature at step 4 of 8 of its warm-up (Natural Questions)",
            alpha=1.0,
            step=4,
            temperature=1 / 64,
        ),
    },
    mutations=(
        Mutation(DIVERGENCE, "(log_p - log_q)", "(log_p + log_q)"),
        Mutation(DIVERGENCE, "in (target, scores)", "in (scores, target)"),
        Mutation(
            "repro.retrieval.nn.bi_encoder:DistilledBiEncoder.losses",
            "cosines / self",
            "-cosines / self",
        ),
        Mutation(
            "repro.retrieval.nn.contrastive:own_columns", "dim1=0, dim2=1).T", "dim1=0, dim2=1).T.flip(1)"
        ),
    ),
    shims=simlm_texts.SHIMS,
)

if __name__ == "__main__":
    main(ORACLE)
