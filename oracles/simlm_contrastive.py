"""SimLM's retrievers on labels: cosines over a temperature, four blocks of them, and what processes share."""

from __future__ import annotations

from oracles import simlm_biencoder, simlm_texts
from oracles.declaration import Compared, Declared, Mutation, main
from oracles.written import ConcernedNodes


def _compared(about: str, **changes) -> Compared:
    return Compared(about, simlm_biencoder.INPUTS | changes, simlm_biencoder.ours, simlm_biencoder.official)


CONTRAST = "repro.retrieval.nn.contrastive:four_block_contrastive"
ORACLE = Declared(
    file="simlm/cosine-contrastive",
    objective="SimLM's retrievers: the contrastive loss over four blocks of cosines",
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
                "objective.name": ("cosine-contrastive",),
                "options.terms": ("four-blocks", "query"),
                "separator": ("pair",),
                "pooling": ("cls",),
            },
        ),
    ),
    cases={
        "four-blocks": _compared("all pairs of queries and passages"),
        "query": _compared("passages alone beside a query", all_pairs=False),
        "processes": _compared("two processes that see each other's passages", processes=2),
        "unscaled": _compared(
            "two processes, loss not multiplied (Natural Questions)", processes=2, loss_scale=1.0
        ),
        # 1/64 at these steps: held by float32, in which the temperature of a step is kept
        "warm-up": _compared("temperature at step 4 of 8 of its warm-up", step=4, temperature=1 / 64),
        "first-step": _compared("temperature at the first step of its warm-up", step=0, temperature=1 / 64),
        "warmed": _compared("temperature after its warm-up", step=20, temperature=1 / 64),
    },
    mutations=(
        Mutation(CONTRAST, "masked_fill(diagonal, -torch.inf)", "masked_fill(diagonal, 0.0)"),
        Mutation(CONTRAST, "(positives, queries), ", "(positives, -queries), "),
        Mutation(CONTRAST, 'similarity="cosine") / temperature', 'similarity="cosine") / -temperature'),
        Mutation(
            "repro.retrieval.nn.bi_encoder:CosineBiEncoder.contrastive",
            "self.weight * reduce",
            "-self.weight * reduce",
        ),
        Mutation("repro.retrieval.nn.bi_encoder:CosineBiEncoder.warmed", "min=1.0", "max=1.0"),
        Mutation("repro.retrieval.stages.finetune:next_slice", "epoch + seed", "epoch - seed"),
    ),
    shims=simlm_texts.SHIMS,
)

if __name__ == "__main__":
    main(ORACLE)
