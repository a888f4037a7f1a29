"""DPR's ``has_answer``: whether a passage contains an answer, which judges Natural Questions."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from oracles import shims
from oracles.declaration import Compared, Declared, Mutation, main
from oracles.sides import Side, digest
from oracles.written import ConcernedNodes, ReleasedCode
from repro.retrieval.evaluation.answers import contains_answer

# letters with marks, in one code point and in several; what lower case changes; other scripts; what is none
PIECES = (  # noqa: SIM905
    "an Ode to 1,024 U.S.A. x-ray C++ don't café naïve ﬁne ΣΟΦΟΣ σοφός İstanbul ISTANBUL straße STRASSE 東京 "
    "नमस्ते \u200b \u00a0 \u0301 — ½ 😀 e\u0301 Å A\u030a ² _ '"
).split(" ")


def ours(inputs: Mapping[str, Any]) -> Side:
    """Our verdicts on every pair, by the default of reading ``answers-without-a-token``."""
    return _side([contains_answer(text, [answer], tokenless=True) for text, answer in _pairs(inputs)])


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """Those of the released code."""
    absent = ("spacy", "dpr.data.retriever_data")
    modules = "dpr.data.qa_validation", "dpr.utils.tokenizers"
    with shims.imported(checkout, *modules, absent=absent) as [validation, tokenizers]:
        tokenizer = tokenizers.SimpleTokenizer()
        return _side(
            [validation.has_answer([answer], text, tokenizer, "string") for text, answer in _pairs(inputs)]
        )


def _pairs(inputs: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A text and an answer, which is often a piece of it, in the same or in another normal form."""
    generator = np.random.default_rng(inputs["seed"])
    for _ in range(inputs["pairs"]):
        pieces = generator.choice(PIECES, int(generator.integers(1, 12))).tolist()
        first, size = generator.integers(0, len(pieces)), int(generator.integers(1, 4))
        taken = (
            pieces[first : first + size]
            if generator.random() < 0.6
            else generator.choice(PIECES, size).tolist()
        )
        joins = [" ", "", ". "]
        text, answer = (
            str(generator.choice(joins, p=[0.8, 0.1, 0.1])).join(words) for words in (pieces, taken)
        )
        answer = unicodedata.normalize(str(generator.choice(["NFC", "NFD"])), answer)
        yield text, answer.upper() if generator.random() < 0.2 else answer


def _side(verdicts: list[bool]) -> Side:
    values = {"verdicts": digest(list(map(int, verdicts))), "with an answer": sum(verdicts)}
    return Side(values=values, compared=len(verdicts))


CONTAINS = "repro.retrieval.evaluation.answers:contains_answer"
ORACLE = Declared(
    file="simlm/answers",
    objective="DPR's has_answer: whether a passage contains an answer",
    code=ReleasedCode(
        repository="facebookresearch/DPR",
        commit="a31212dc0a54dfa85d8bfa01e1669f149ac832b7",
        files=("dpr/data/qa_validation.py", "dpr/utils/tokenizers.py"),
    ),
    nodes=(
        ConcernedNodes(stage="mine_answers", params={"tokenless_answers": (True,)}),
        ConcernedNodes(stage="evaluate", params={"judgements": ("answers",), "tokenless_answers": (True,)}),
    ),
    cases={
        "pairs": Compared(
            "texts and answers in many scripts", {"seed": 19, "pairs": 1500}, ours, official, dtype=""
        )
    },
    mutations=(
        Mutation(CONTAINS, '" in passage', '" not in passage'),
        Mutation(CONTAINS, "else tokenless", "else not tokenless"),
        Mutation("repro.retrieval.evaluation.answers:tokens", "match.group().lower()", "match.group()"),
    ),
    shims=("spacy and the readers of data sets, of which nothing is used, are empty",),
)

if __name__ == "__main__":
    main(ORACLE)
