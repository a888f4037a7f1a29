"""The released script that draws PROP's word sets, run on counts of made-up texts."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

from oracles.excerpts import excerpt
from oracles.prop_texts import STOP_WORDS

SCRIPT = "multiprocessing_generate_word_sets"


def counts_of(checkout: Path, folder: Path, texts: list[str]) -> dict[str, Any]:
    """Counts and shares, by the statements of the two scripts."""
    words = {str(place): re.findall(r"[a-zA-Z]+", text) for place, text in enumerate(texts)}
    names = {
        "args": SimpleNamespace(output_dir=folder, stem=False),
        "docs": words,
        "doc_idx_pool": list(words),
        "en_stopwords": set(STOP_WORDS),
        "trange": lambda count, desc: range(count),
        "json": json,
    }
    counted = excerpt(
        checkout / "prop" / "preprocessing_data.py", "corpus_df_file =", "with corpus_info_file", names
    )
    lines = (folder / "doc_tf_file.json").read_text().splitlines()
    names = counted | {"math": math, "total_word_num": counted["total_word_num"]}
    path = checkout / "prop" / f"{SCRIPT}.py"
    shares = excerpt(path, "total_df = 0", "print('total_doc_num", names)
    kept = excerpt(path, "words_kept_prob = {}", "del corpus_word_tf", names)
    return {
        "docs_tf": {row["id"]: row for row in map(json.loads, lines)},
        "normalized_df": shares["normalized_df"],
        "words_kept_prob": kept["words_kept_prob"],
        "average_doc_word_num": counted["average_doc_word_num"],
    }


def drawn_one_by_one(
    script, counts: Mapping[str, Any], place: int, words: list[str], path: Path
) -> dict[str, tuple]:
    """log P(w|d) and log odds of each candidate: the script draws sets of one word, each word in turn."""
    turn, seen = iter(words + words[: len(words) % 2]), {}

    def choice(names, size, p):
        seen.update(zip(names, p, strict=True))
        return [next(turn)]

    document = str(place)
    own = counts["docs_tf"][document]["tf"]
    with (
        mock.patch.object(np.random, "poisson", lambda mean: 1),
        mock.patch.object(np.random, "choice", choice),
        mock.patch.object(np.random, "rand", lambda: 0.0),
        mock.patch.object(script, "random", lambda: 1.0),
    ):
        script.generate_word_sets_from_document(
            docs={document: []},
            chunk_indexs=[document],
            stem=False,
            rop_num_per_doc=(len(words) + 1) // 2,
            possion_lambda=3,
            negative_table=SimpleNamespace(sample=lambda count: [word for word in words if word not in own]),
            stem2word=None,
            epoch_file_name=path,
            **counts,
        )
    sets = json.loads(path.read_text())["rep_word_sets"]
    likely = {word: score for pair in sets for word, score in pair}
    odds = {word: math.log(seen[word] * min(1.0, counts["words_kept_prob"][word])) for word in likely}
    total = np.logaddexp.reduce(list(odds.values()))
    return {word: (likely[word], odds[word] - total) for word in likely}
