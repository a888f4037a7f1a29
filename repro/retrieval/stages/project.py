"""Stage ``project``: one query and its top candidates in a plane."""

import json
from pathlib import Path

import numpy as np

from repro.errors import DataError
from repro.progress import Progress
from repro.retrieval.evaluation import runs, text_lines

FEWEST = 4  # for t-SNE


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``exhibit.json``: points of a query and of its ``candidates`` best documents, at least 4.

    The default ``query`` is the first. scikit-learn's t-SNE starts from the principal components, with a
    perplexity of at most a third of the points. A document of ``grade`` or above is relevant.
    """
    query, candidates = _candidates(params, inputs["run"])
    query_vector = _vectors(inputs["queries"], [query])  # (1, H)
    vectors = _vectors(inputs["passages"], candidates)  # (C, H)
    grades = text_lines.read_qrels(inputs["qrels"] / "qrels.trec").get(query, {})
    relevant = np.array([grades.get(document, 0) >= params["grade"] for document in candidates])
    perplexity = min(params["perplexity"], len(candidates) / 3)  # a third of the other points
    points = _t_sne(np.concatenate([query_vector, vectors]), perplexity=perplexity, seed=params["seed"])
    exhibit = {
        "kind": "scatter",
        "query": query,
        "perplexity": perplexity,
        "points": [_point(query, points[0], "query", None)]
        + [
            _point(document, place, "relevant" if hit else "other", grades.get(document))
            for document, place, hit in zip(candidates, points[1:], relevant, strict=True)
        ],
        "measured": measured((vectors * query_vector).sum(axis=1), relevant),  # equal vectors tie exactly
    }
    (out / "exhibit.json").write_text(json.dumps(exhibit, sort_keys=True))
    return {"candidates": len(candidates), "perplexity": perplexity, **exhibit["measured"]}


def measured(scores: np.ndarray, relevant: np.ndarray) -> dict[str, float | None]:
    """Return the means ``similarity_to_relevant`` and ``similarity_to_others``, and the ``auc``.

    ``scores``, (C,), are inner products, ``relevant`` is (C,) bool. The AUC is the probability that a
    relevant candidate is more similar (ties count half). Undefined values are None.
    """
    hits, misses = scores[relevant], scores[~relevant]
    auc = None
    if len(hits) and len(misses):
        auc = float((hits[:, None] > misses).mean() + (hits[:, None] == misses).mean() / 2)
    return {
        "similarity_to_relevant": float(hits.mean()) if len(hits) else None,
        "similarity_to_others": float(misses.mean()) if len(misses) else None,
        "auc": auc,
    }


def _candidates(params: dict, run: Path) -> tuple[str, list[str]]:
    rankings = runs.read_run(run / "run.trec")
    query = next(iter(rankings)) if params["query"] is None else params["query"]
    ranking = rankings.get(query)
    if ranking is None:
        raise DataError(f"{run}: query {query!r} is not in the run")
    documents = [document for document, _ in ranking[: params["candidates"]]]
    if len(documents) < FEWEST:
        raise DataError(f"{run}: query {query!r} has {len(documents)} candidates, and t-SNE needs {FEWEST}")
    return query, documents


def _vectors(folder: Path, ids: list[str]) -> np.ndarray:
    places = dict.fromkeys(ids, -1)
    with open(folder / "ids.txt", encoding="utf-8", newline="\n") as file:
        for place, line in enumerate(file):
            if (identifier := line.rstrip("\n")) in places:
                places[identifier] = place
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")
    for identifier, place in places.items():
        if not 0 <= place < len(vectors):
            raise DataError(f"{folder}: {identifier!r} has no vector")
    return np.stack([vectors[places[identifier]] for identifier in ids]).astype(np.float64)


def _t_sne(vectors: np.ndarray, *, perplexity: float, seed: int) -> np.ndarray:
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    varies = vectors.shape[1] > 1 and (vectors != vectors[0]).any()  # otherwise no principal components
    start = "pca" if varies else "random"
    projection = TSNE(perplexity=perplexity, random_state=seed, init=start, method="exact", n_jobs=1)
    with threadpool_limits(1):
        return projection.fit_transform(vectors)


def _point(identifier: str, place: np.ndarray, role: str, grade: int | None) -> dict:
    return {"id": identifier, "x": float(place[0]), "y": float(place[1]), "role": role, "grade": grade}
