"""B-PROP: what the attention of [CLS] makes of the words that its sets are drawn from.

python -m oracles.b_prop --checkout PROP
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import torch

from oracles.declaration import Compared, Declared, Mutation, main
from oracles.excerpts import excerpt
from oracles.made_up import masked_lm, tokenizer
from oracles.prop_texts import SETS, collection, save_statistics, token_ids
from oracles.shims import imported
from oracles.sides import Side
from oracles.written import ConcernedNodes, ReleasedCode
from papers.baselines.contrastive_term_words import ContrastiveTermWords

ABSENT = ("boto3", "botocore", "botocore.exceptions", "h5py")
SCRIPT = "multiprocessing_generate_word_sets"
METHODS = {"cross-entropy": "entropy", "difference": "subtract"}  # of contrasting, ours and theirs
TEMPERATURES = {"cross-entropy": 1.0, "difference": 0.1}


def objective(inputs: Mapping[str, Any]) -> ContrastiveTermWords:
    """Ours with the choices that are defaults of its readings."""
    with tempfile.TemporaryDirectory() as folder:
        return ContrastiveTermWords(
            masked_lm(seed=1, layers=1),
            tokenizer(),
            statistics=save_statistics(Path(folder), collection(inputs)),
            stop_words=[],
            normalise_over="all",
            repeats=False,
            pieces="first",
            saturation=0.01,
            contrast=inputs["contrast"],
            temperature=TEMPERATURES[inputs["contrast"]],
            collection="collection-frequency",
            **SETS,
        )


def attention(inputs: Mapping[str, Any], texts: list[str]) -> torch.Tensor:
    """Made-up attention of [CLS] to the framed texts, (N, L); 0 at padding."""
    lengths = [len(token_ids(text)) + 2 for text in texts]
    made = np.random.default_rng(inputs["attention"]).random((len(texts), max(lengths))) ** 4
    made *= np.arange(max(lengths)) < np.array(lengths)[:, None]
    return torch.from_numpy(made / made.sum(axis=1, keepdims=True))


def shares(b_prop: ContrastiveTermWords, text: str) -> dict[str, float]:
    """r of every entry of a framed text, as ours has it."""
    ids = np.unique(token_ids(f"[CLS] {text} [SEP]"))
    r = b_prop.collection.probabilities([ids[place : place + 1] for place in range(len(ids))])
    r = np.minimum(r, 1.0).astype(np.float32)  # as a batch holds it
    return dict(zip(tokenizer().convert_ids_to_tokens(ids.tolist()), r.tolist(), strict=True))


def ours(inputs: Mapping[str, Any]) -> Side:
    """c and the odds of every word that can be drawn, of the first texts."""
    texts, b_prop, drawn = collection(inputs)[: inputs["shown"]], objective(inputs), []
    examples = [{"input_ids": token_ids(text), "index": n, "epoch": 0} for n, text in enumerate(texts)]
    batch = b_prop.collate(examples)
    batch["word_shares"] = batch["word_shares"].double()
    b_prop.cls_attention = lambda ids, mask: attention(inputs, texts)
    b_prop.sampling = SimpleNamespace(drawn=lambda odds, c, generator: drawn.append((odds, c)) or [None])
    b_prop.word_sets(batch)
    first, end = batch["word_spans"]
    made = []
    for n, (odds, c) in enumerate(drawn):
        ids = batch["clean_ids"][n, first[n][end[n] > 0]].tolist()
        made.append((tokenizer().convert_ids_to_tokens(ids), c, np.exp(odds) / np.exp(odds).sum()))
    return _by_word([dict(zip(names, zip(c, p, strict=True), strict=True)) for names, c, p in made])


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """Those of bprop/multiprocessing_generate_word_sets.py on what its other script makes of attention."""
    texts, b_prop, made = collection(inputs)[: inputs["shown"]], objective(inputs), []
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(checkout),  # the script opens lists of stop words, which it makes no use of
        imported(checkout, "pytorch_pretrain_bert.tokenization", absent=ABSENT),
        imported(checkout / "bprop", SCRIPT) as (script,),
        mock.patch.object(script, "random", lambda: 1.0),
    ):
        for n, (text, row) in enumerate(zip(texts, attention(inputs, texts).tolist(), strict=True)):
            path = Path(folder) / f"{n}.json"
            script.generate_word_sets_from_document(
                docs={n: _document(checkout, text, row)},
                chunk_indexs=[n],
                stem=False,
                rop_num_per_doc=1,
                possion_lambda=3,
                vocab_mean_attentions=shares(b_prop, text),
                tokenizer=None,
                stem2word=None,
                output_filename=path,
                method=METHODS[inputs["contrast"]],
            )
            instance = json.loads(path.read_text())
            c, odds = instance["content_with_atts"], instance["content_with_softmaxed_prob"]
            made.append({word: (c[word], odds[word]) for word in c})
    return _by_word(made)


def _document(checkout: Path, text: str, row: list[float]) -> dict[str, Any]:
    """A document as the script reads it, by the statements that add up and saturate attention."""
    words = f"[CLS] {text} [SEP]".split()
    names = {
        "args": SimpleNamespace(stem=False, aggregate="sum", saturation="k"),
        "mean_atts_with_words": list(zip(words, row[: len(words)], strict=True)),
        "data": {},
    }
    path = checkout / "bprop" / "transform_vanilla_attention_to_term_distribution.py"
    made = excerpt(path, "doc2att = {}", "output_attention_file.write", names)
    pieces = {"doc_id": 0, "content": text, "bert_tokenized_content": words[1:-1]}
    return made["data"] | pieces


def _by_word(texts: list[dict[str, tuple[float, float]]]) -> Side:
    numbers = {}
    for place, words in enumerate(texts):
        for word, (c, odds) in words.items():
            numbers |= {f"{place} {word} c": float(c), f"{place} {word} odds": float(odds)}
    return Side(numbers)


INPUTS = {"texts": 95, "count": 600, "shown": 2, "attention": 96}
ORACLE = Declared(
    file="baselines/b_prop",
    objective="B-PROP",
    numbers="scores and odds",
    code=ReleasedCode(
        repository="Albert-Ma/PROP",
        commit="8f0248f2cd262ea9a7ce8ffd8ca494028449ebd8",
        files=(
            "bprop/multiprocessing_generate_word_sets.py",
            "bprop/transform_vanilla_attention_to_term_distribution.py",
        ),
    ),
    nodes=(
        ConcernedNodes(
            stage="pretrain",
            params={
                "objective.name": ("b-prop",),
                "options.saturation": (0.01,),
                "options.normalise_over": ("all",),
                "options.stop_words": ([],),
                "options.set_words": ("letters",),
            },
        ),
    ),
    cases={
        contrast: Compared(
            f"words of two texts, contrasted by {contrast}", INPUTS | {"contrast": contrast}, ours, official
        )
        for contrast in METHODS
    },
    mutations=(
        Mutation(
            "papers.baselines.contrastive_term_distribution:contrastive_term_scores", "c = -p * ", "c = p * "
        ),
        Mutation(
            "papers.baselines.contrastive_term_distribution:contrastive_term_scores",
            "(p - collection)",
            "(p + collection)",
        ),
        Mutation(
            "papers.baselines.contrastive_term_distribution:contrastive_term_scores",
            "(attention + saturation)",
            "(attention + 2 * saturation)",
        ),
        Mutation(
            "papers.baselines.contrastive_term_words:ContrastiveTermWords.word_sets",
            "c / self.temperature",
            "-c / self.temperature",
        ),
    ),
    shims=("an empty boto3 and h5py", "random numbers of the scripts are given"),
    departures=(
        "the random distribution is that of counts; the released code averages attention over all texts "
        "(reading b-prop-random-distribution): both sides are given the same here",
        "the released code caps a score at 100, which no score reaches",
    ),
)

if __name__ == "__main__":
    main(ORACLE)
