"""PROP: the language model that its word sets are drawn from, its losses and its masks.

python -m oracles.prop --checkout PROP
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import nn

from oracles.declaration import Compared, Declared, Mutation, main
from oracles.made_up import masked_lm, normal, tokenizer
from oracles.masked_texts import GivenOrder, rows_with_keys, shuffler
from oracles.prop_script import SCRIPT, counts_of, drawn_one_by_one
from oracles.prop_texts import SETS, STOP_WORDS, collection, save_statistics, token_ids
from oracles.shims import imported
from oracles.sides import Side
from oracles.written import ConcernedNodes, ReleasedCode
from papers.baselines.representative_words import RepresentativeWords
from papers.baselines.whole_words import WholeWords
from papers.baselines.word_set_preference import preference_hinge
from repro.retrieval.nn.masked_tokens import IGNORED, token_cross_entropy

ABSENT = ("boto3", "botocore", "botocore.exceptions")
DRAWN_THINNER = 1e-4  # t of the sub-sampling


def candidates(inputs: Mapping[str, Any]) -> list[tuple[list[str], np.ndarray, np.ndarray]]:
    """Ours for the first texts: the words to draw from, log P(w|d), and the logarithm of their odds."""
    texts = collection(inputs)
    with tempfile.TemporaryDirectory() as folder:
        prop = RepresentativeWords(
            masked_lm(seed=1, layers=1),
            tokenizer(),
            statistics=save_statistics(Path(folder), texts),
            stop_words=list(STOP_WORDS),
            smoothing="average",
            collection="document-frequency",
            candidate_words=inputs["candidates"],
            subsampling=DRAWN_THINNER,
            repeats=True,
            **SETS,
        )
    made = []
    for place, text in enumerate(texts[: inputs["shown"]]):
        generator = np.random.default_rng((inputs["texts"], place))
        words, likely, weights = prop.candidates(token_ids(text), generator=generator)
        names = [tokenizer().convert_ids_to_tokens(word.tolist())[0] for word in words]
        made.append((names, likely, weights - np.logaddexp.reduce(weights)))
    return made


def ours(inputs: Mapping[str, Any]) -> Side:
    """log P(w|d) and log odds of every candidate of the first texts."""
    return _by_word(
        [dict(zip(words, zip(p, odds, strict=True), strict=True)) for words, p, odds in candidates(inputs)]
    )


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """Those that prop/multiprocessing_generate_word_sets.py draws with, on counts of its preprocessing."""
    texts, theirs = collection(inputs), []
    with (
        tempfile.TemporaryDirectory() as folder,
        imported(checkout, "pytorch_pretrain_bert.tokenization", absent=ABSENT),
        imported(checkout / "prop", SCRIPT) as (script,),
    ):
        counts = counts_of(checkout, Path(folder), texts)
        for place, (words, _, _) in enumerate(candidates(inputs)):
            theirs.append(drawn_one_by_one(script, counts, place, words, Path(folder) / f"{place}.json"))
    return _by_word(theirs)


def _by_word(texts: list[dict[str, tuple[float, float]]]) -> Side:
    numbers = {}
    for place, words in enumerate(texts):
        for word, (likely, odds) in words.items():
            numbers |= {f"{place} {word} P": float(likely), f"{place} {word} odds": float(odds)}
    return Side(numbers)


def _logits(inputs: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Scores of pairs, (P, 2), logits of tokens, (N, L, V), labels, (N, L); the first two take a gradient."""
    pairs, tokens = normal((inputs["pairs"], 2), seed=inputs["logits"]), (2 * inputs["pairs"], 4, 9)
    labels = torch.from_numpy(np.random.default_rng(inputs["logits"]).integers(-3, 9, tokens[:2]))
    return pairs.requires_grad_(), normal(tokens, seed=5).requires_grad_(), labels.clamp(min=-1)


def our_losses(inputs: Mapping[str, Any]) -> Side:
    """The sum of both losses, from scores and logits that are given."""
    pairs, tokens, labels = _logits(inputs)
    there = torch.ones(1, len(pairs), dtype=torch.bool)
    loss = preference_hinge(pairs[None], there, scores="pair-softmax", margin=1.0)
    loss = loss + token_cross_entropy(tokens, labels.masked_fill(labels < 0, IGNORED), reduction="mean")
    loss.backward()
    return Side({"loss": loss.item()}, {"pairs": pairs.grad, "tokens": tokens.grad})


def official_losses(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """``PROP.forward`` of pytorch_pretrain_bert/modeling.py behind its encoder."""
    pairs, tokens, labels = _logits(inputs)
    with imported(checkout, "pytorch_pretrain_bert.modeling", absent=ABSENT) as (modeling,):
        prop = SimpleNamespace(
            bert=lambda *_, **__: (tokens, pairs.reshape(-1, 1)),
            rep=nn.Identity(),
            dropout=nn.Identity(),
            cls=SimpleNamespace(predictions=nn.Identity()),
            config=SimpleNamespace(vocab_size=tokens.shape[-1]),
        )
        ids = torch.zeros(labels.shape, dtype=torch.int64)
        loss = modeling.PROP.forward(
            prop, ids, masked_lm_labels=labels, representative_word_sets_label=ids[:, 0]
        )
        loss.backward()
    return Side({"loss": loss.item()}, {"pairs": pairs.grad, "tokens": tokens.grad})


def our_masks(inputs: Mapping[str, Any]) -> Side:
    """The tokens of framed texts that are chosen by a quota of their words."""
    words, chosen = WholeWords.of(tokenizer()), []
    for row, keys in rows_with_keys(inputs):
        order = GivenOrder(words.numbers(row), keys)
        how = {"rate": 0.15, "quota": "words", "most": inputs["most"]}
        chosen.append(words.chosen(row, [len(row)], generators=[order], **how))
    return Side(
        values={"chosen": [np.flatnonzero(one).tolist() for one in chosen]}, compared=sum(map(len, chosen))
    )


def official_masks(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """``create_masked_lm_predictions`` of prop/multiprocessing_generate_pairwise_instances.py.

    The text stands behind a query of no words, [CLS] [SEP], which has one token more than [CLS].
    """
    chosen = []
    name = "multiprocessing_generate_pairwise_instances"
    with (
        imported(checkout, "pytorch_pretrain_bert.tokenization", absent=ABSENT),
        imported(checkout / "prop", name) as (script,),
    ):
        for row, keys in rows_with_keys(inputs):
            entries = tokenizer().convert_ids_to_tokens(row)
            with (
                mock.patch.object(script, "shuffle", shuffler(np.insert(keys, 1, 0.0))),
                mock.patch.object(script, "sample", lambda words, count: words[:count]),
            ):
                _, places, _ = script.create_masked_lm_predictions(
                    ["[CLS]", "[SEP]", *entries[1:]], 0.15, inputs["most"], True, ["any"]
                )
            chosen.append([place - 1 for place in places])
    rows = rows_with_keys(inputs)
    return Side(values={"chosen": chosen}, compared=sum(len(row) for row, _ in rows))


MASKS = {"texts": 93, "keys": 94, "count": 12, "unknown": 0.0}
ORACLE = Declared(
    file="baselines/prop",
    objective="PROP",
    numbers="losses and log-probabilities",
    code=ReleasedCode(
        repository="Albert-Ma/PROP",
        commit="8f0248f2cd262ea9a7ce8ffd8ca494028449ebd8",
        files=(
            "prop/preprocessing_data.py",
            "prop/multiprocessing_generate_word_sets.py",
            "prop/multiprocessing_generate_pairwise_instances.py",
            "pytorch_pretrain_bert/modeling.py",
        ),
    ),
    nodes=(
        ConcernedNodes(
            stage="pretrain",
            params={
                "objective.name": ("prop",),
                "options.smoothing": ("average",),
                "options.collection": ("document-frequency",),
                "options.scores": ("pair-softmax",),
                "options.margin": (1.0,),
                "options.set_words": ("letters",),
                "options.ties": ("second",),
                "options.masking.unit": ("whole-word",),
            },
        ),
    ),
    cases={
        "word-sets": Compared(
            "log P(w|d) and the odds of a draw, of the words of two texts and of others",
            {"texts": 91, "count": 600, "shown": 2, "candidates": 50},
            ours,
            official,
        ),
        "losses": Compared(
            "preference and MLM of seven pairs", {"pairs": 7, "logits": 92}, our_losses, official_losses
        ),
        "masks": Compared(
            "whole words, 15 % of their number",
            MASKS | {"words": [3, 60], "most": 60},
            our_masks,
            official_masks,
            dtype="",
        ),
        "fewest-masks": Compared(
            "at most four tokens", MASKS | {"words": [20, 60], "most": 4}, our_masks, official_masks, dtype=""
        ),
    },
    mutations=(
        Mutation(
            "papers.baselines.word_set_preference:preference_hinge",
            "margin - values[..., 0]",
            "margin + values[..., 0]",
        ),
        Mutation(
            "papers.baselines.word_set_preference:preference_hinge", "+ values[..., 1]", "- values[..., 1]"
        ),
        Mutation(
            "papers.baselines.representative_words:RepresentativeWords.candidates",
            "(len(spans) + self.mu)",
            "(len(spans) + 2 * self.mu)",
        ),
        Mutation(
            "papers.baselines.representative_words:RepresentativeWords.candidates",
            "counts + self.mu",
            "counts + 2 * self.mu",
        ),
        Mutation(
            "papers.baselines.representative_words:RepresentativeWords.candidates",
            "np.sqrt(rare) + rare",
            "np.sqrt(rare) - 0.5 * rare",
        ),
        Mutation("papers.baselines.whole_words:WholeWords.chosen", "min(most, left)", "max(most, left)"),
    ),
    shims=(
        "an empty boto3",
        "PROP.forward reads a layer `rep` that its class does not make; it is given the scores",
        "random numbers of the scripts are given",
    ),
    departures=(
        "the released model encodes text and set together; rows of it are bi-encoders (COSTA §4.3.2)",
        "words rarer than 100 times in the collection stop the released draw of sets; here they are drawn",
        "words in pieces count as their rarest piece (reading word-counts-of-pieces)",
        "the released code masks [UNK] too",
    ),
)

if __name__ == "__main__":
    main(ORACLE)
