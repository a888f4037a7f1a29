"""Stage ``score_pairs``: a training set with a re-ranker's scores of its passages."""

from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from repro.machine.shard import shard
from repro.progress import Progress
from repro.retrieval.datasets import arrow
from repro.retrieval.nn.cross_encoder import PairScorer, PairTexts, score_pairs
from repro.store.disk import BLOCKS


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write the training set with a cross-encoder's logits as ``positive_scores`` and ``negative_scores``.

    All positives of a query and its first ``per_query`` negatives are kept. Query and passage are read
    together, cut to ``length`` tokens. Scores are rounded to ``decimals``, e.g. 4, unless None.
    """
    rows = arrow.read_rows(inputs["training_set"])
    options = {name: params[name] for name in ("length", "separator", "precision")}
    scorer = PairScorer(inputs["model"] / "model", say=progress.note, **options)
    names = rows.data.column("query").to_pylist()
    queries = arrow.query_texts(inputs["queries"], names, source=inputs["training_set"])
    scores = {}
    for side, depth in (("positives", None), ("negatives", params["per_query"])):
        lists = pc.list_slice(rows.data.column(side), 0, depth)
        documents, offsets = pc.list_flatten(lists), arrow.list_offsets(lists)
        passages = arrow.document_rows(documents, inputs["corpus"], source=inputs["training_set"])
        places = np.repeat(np.arange(len(queries)), np.diff(offsets))
        pairs = PairTexts(queries, inputs["corpus"], query=places, row=passages)
        with progress.task(f"scoring {side}", total=len(pairs)) as advance:
            settings = {"decimals": params["decimals"], "scratch": out / BLOCKS / side}
            logits = score_pairs(pairs, scorer, advance=advance, **settings)
        scores[side] = arrow.Lists(logits, offsets)
    if not shard().whole:
        return {}

    def examples():
        for place, row in enumerate(rows.select_columns(["query", "positives", "negatives"])):
            row_scores = {side: scores[side][place] for side in scores}
            row["negatives"] = row["negatives"][: len(row_scores["negatives"])]
            yield row | {f"{side.removesuffix('s')}_scores": list(row_scores[side]) for side in row_scores}

    arrow.write_rows(examples(), arrow.SCORED_EXAMPLES, out / "arrow")
    counts = {side: len(lists.values) for side, lists in scores.items()}
    return {"queries": len(rows), **counts, **scorer.facts()}
