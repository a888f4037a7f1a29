"""Stage ``top_passages``: what a run ranks first for a few queries, in words."""

from __future__ import annotations

import json
from pathlib import Path

from repro.errors import DataError, UsageError
from repro.evaluation.qrels import Qrels, read_qrels
from repro.evaluation.runs import Run, read_run
from repro.progress import Progress


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``exhibit.json``: for each of ``queries``, which are texts, its first ``depth`` passages.

    A text is looked for without regard to case and white space. Where no query of the run has it, the run's
    first query that is not shown otherwise stands in, and ``found`` is false; the text is left out if there
    is none. Grades are null without the input ``qrels``, and for what is not judged.

    Raises:
        UsageError: ``depth`` is below 1.
        DataError: the run is empty, or names a query or passage that does not exist.
    """
    if params["depth"] < 1:
        raise UsageError(f"depth is {params['depth']}; at least one passage has to be shown")
    ranking = read_run(inputs["run"] / "run.trec")
    if not ranking:
        raise DataError(f"{inputs['run']}: the run is empty")
    judged = read_qrels(inputs["qrels"] / "qrels.trec") if "qrels" in inputs else {}
    texts = _query_texts(inputs["queries"], ranking)
    chosen = _chosen(params["queries"], texts)
    firsts = {query: ranking[query][: params["depth"]] for _, query, _ in chosen}
    passages = _passages(inputs["corpus"], {d for first in firsts.values() for d, _ in first}, progress)
    shown = [
        {
            "wanted": wanted, "id": query, "text": texts[query], "found": found,
            "passages": _ranked(query, firsts[query], passages, judged),
        }
        for wanted, query, found in chosen
    ]  # fmt: skip
    text = json.dumps({"kind": "passages", "queries": shown}, ensure_ascii=False, sort_keys=True)
    (out / "exhibit.json").write_text(text, encoding="utf-8")
    return {"queries": len(shown), "found": sum(query["found"] for query in shown)}


def _query_texts(folder: Path, ranking: Run) -> dict[str, str]:
    """The texts of the run's queries, in the run's order."""
    with open(folder / "queries.jsonl", encoding="utf-8") as file:
        texts = {query["id"]: query["text"] for query in map(json.loads, file)}
    lost = next((query for query in ranking if query not in texts), None)
    if lost is not None:
        raise DataError(f"{folder}: query {lost!r} of the run is not among the queries")
    return {query: texts[query] for query in ranking}


def _chosen(wanted: list[str], texts: dict[str, str]) -> list[tuple[str, str, bool]]:
    """(wanted text, query id, whether it has that text); those found are taken before any stands in."""
    ids = {_folded(text): query for query, text in reversed(texts.items())}  # of equal texts the first
    found = {text: ids[_folded(text)] for text in wanted if _folded(text) in ids}
    spare = (query for query in texts if query not in found.values())
    pairs = [(text, found.get(text) or next(spare, None), text in found) for text in wanted]
    return [(text, query, known) for text, query, known in pairs if query is not None]


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _passages(folder: Path, wanted: set[str], progress: Progress) -> dict[str, tuple[str, str]]:
    """Titles and texts by id."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from datasets import load_from_disk

    corpus = load_from_disk(str(folder / "arrow")).with_format("arrow", columns=["id", "title", "text"])
    passages: dict[str, tuple[str, str]] = {}
    with progress.task("passages to show", total=len(corpus)) as advance:
        for batch in corpus.iter(batch_size=100_000):
            ids = batch["id"]
            rows = batch.filter(pc.is_in(ids, value_set=pa.array(sorted(wanted), type=ids.type))).to_pylist()
            passages |= {row["id"]: (row["title"], row["text"]) for row in rows}
            advance(len(batch))
    lost = sorted(wanted - passages.keys())
    if lost:
        raise DataError(f"{folder}: {len(lost)} passages of the run are missing, the first is {lost[0]!r}")
    return passages


def _ranked(query: str, first: list[tuple[str, float]], passages: dict, judged: Qrels) -> list[dict]:
    grades = judged.get(query, {})
    return [
        {
            "rank": rank, "id": document, "title": passages[document][0], "text": passages[document][1],
            "score": score, "grade": grades.get(document),
        }
        for rank, (document, score) in enumerate(first, 1)
    ]  # fmt: skip
