"""SimLM's collator: framed texts, segments, whole-word masks of encoder and decoder, predicted positions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oracles import simlm_texts
from oracles.declaration import Compared, Declared, Mutation, main
from oracles.shims import imported
from oracles.sides import Side, digest
from oracles.written import ConcernedNodes


def ours(inputs: Mapping[str, Any]) -> Side:
    """Our arrays for given shuffles of the words of each text."""
    return _side(simlm_texts.compared(simlm_texts.ours(inputs), released=False))


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """The arrays of the released collator for the same shuffles."""
    with imported(checkout / simlm_texts.FOLDER, "collators", absent=simlm_texts.ABSENT) as [collators]:
        return _side(simlm_texts.compared(simlm_texts.official(collators, inputs), released=True))


def _side(arrays) -> Side:
    size = sum(array.numel() for array in arrays.values())
    return Side(values={name: digest(array.long()) for name, array in arrays.items()}, compared=size)


RATES = ((0.3, 0.5), (0.15, 0.15), (0.15, 0.3), (0.3, 1.0), (0.4, 0.6))


def _case(encoder: float, decoder: float) -> Compared:
    inputs = {"seed": 17, "texts": 80, "words": 60, "length": 64}
    inputs |= {"encoder_rate": encoder, "decoder_rate": decoder}
    return Compared(f"rates {encoder} and {decoder}", inputs, ours, official, dtype="")


MASKS = {"options.masks.unit": ("whole-word",), "options.masks.superset": ("union",)}
ORACLE = Declared(
    file="simlm/collator",
    objective="SimLM's collator: texts, segments, masks of encoder and decoder, predicted positions",
    code=simlm_texts.released("collators/rlm_collator.py", "collators/collator_utils.py"),
    nodes=(
        ConcernedNodes(
            stage="pretrain", params={"objective.name": ("simlm",), **MASKS, "options.masks.mask": (1.0, 1)}
        ),
    ),
    cases={f"{encoder}-{decoder}": _case(encoder, decoder) for encoder, decoder in RATES},
    mutations=(
        Mutation(
            "papers.simlm.masks:Masks.further_rate", "(1 - self.encoder_rate)", "(1 + self.encoder_rate)"
        ),
        Mutation("papers.simlm.masks:Masks.chosen", "encoder | draw(rate", "encoder & draw(rate"),
        Mutation("papers.baselines.whole_words:WholeWords.chosen", "left -= sizes", "left += sizes"),
        Mutation("papers.baselines.whole_words:WholeWords.numbers", "~self.continues", "self.continues"),
        Mutation(
            "papers.baselines.whole_words:WholeWords.chosen", "sizes[word] <= left", "sizes[word] < left"
        ),
    ),
    shims=simlm_texts.SHIMS,
)

if __name__ == "__main__":
    main(ORACLE)
