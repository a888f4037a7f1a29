"""Stage ``rerank``: re-rank the top of a run with a cross-encoder."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from repro.machine.shard import shard
from repro.progress import Progress
from repro.retrieval.datasets.arrow import document_rows, query_texts
from repro.retrieval.evaluation.run_writer import rankings, write_run
from repro.retrieval.nn.cross_encoder import PairScorer, PairTexts, score_pairs
from repro.store.disk import BLOCKS

Ranking = tuple[str, list[str], list[float]]


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``run.trec`` and ``raw.npy``: the first ``depth`` passages of each query by a cross-encoder.

    Passages from rank ``depth`` + 1 to ``keep`` follow in the input's order, each one point below the one
    before. Pairs are read and scores rounded as in ``score_pairs``.
    """
    source, depth = inputs["run"] / "run.trec", params["depth"]
    results = list(rankings(source))
    options = {name: params[name] for name in ("length", "separator", "precision")}
    scorer = PairScorer(inputs["model"] / "model", say=progress.note, **options)
    texts = query_texts(inputs["queries"], [query for query, _, _ in results], source=source)
    sizes = [len(documents[:depth]) for _, documents, _ in results]
    documents = pa.array([document for _, ranking, _ in results for document in ranking[:depth]])
    rows = document_rows(documents, inputs["corpus"], source=source)
    pairs = PairTexts(texts, inputs["corpus"], query=np.repeat(np.arange(len(texts)), sizes), row=rows)
    with progress.task("re-ranking", total=len(pairs)) as advance:
        settings = {"decimals": params["decimals"], "scratch": out / BLOCKS}
        scores = score_pairs(pairs, scorer, advance=advance, **settings)
    if not shard().whole:
        return {}
    logits = np.split(scores, np.cumsum(sizes)[:-1])
    facts = write_run(out, _rerank(results, logits, depth=depth, keep=params["keep"]), tag="rerank")
    return facts | {"pairs": len(pairs), **scorer.facts()}


def _rerank(
    results: list[Ranking], scores: list[np.ndarray], *, depth: int, keep: int
) -> Iterator[tuple[str, list[str], np.ndarray]]:
    for (query, documents, _), logits in zip(results, scores, strict=True):
        tail = documents[depth : max(depth, keep)]
        places = np.arange(1, len(tail) + 1)
        yield query, documents[:depth] + tail, np.concatenate((logits, logits.min() - places))
