"""Stage ``top_passages``: the first passages of a run for a few queries."""

import json
from collections.abc import Sequence
from pathlib import Path

from repro.errors import DataError
from repro.progress import Progress
from repro.retrieval.datasets import arrow
from repro.retrieval.evaluation import runs, text_lines

Query = dict[str, str]


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``exhibit.json``: the first ``depth`` passages, e.g. 5, for each of ``queries``.

    Queries are matched by text, ignoring case and whitespace. An unused query of the collection replaces a
    missing one, with ``found`` false.
    """
    records = arrow.read_queries(inputs["queries"])
    queries = [{"id": record["id"], "text": record["text"]} for record in records]
    selection = chosen_queries(params["queries"], queries)
    source = inputs["run"] / "run.trec"
    ranking = runs.read_run(source)
    judgements = text_lines.read_qrels(inputs["qrels"] / "qrels.trec") if "qrels" in inputs else {}
    hits = {query["id"]: ranking.get(query["id"], [])[: params["depth"]] for query, _ in selection}
    documents = sorted({document for pairs in hits.values() for document, _ in pairs})
    passages = arrow.passages(documents, inputs["corpus"], source=source)
    entries = []
    for request, (query, is_wanted) in zip(params["queries"], selection, strict=True):
        grades = judgements.get(query["id"], {})
        passages_of_query = [
            {"rank": rank, "id": document, "score": score, "grade": grades.get(document)} | passages[document]
            for rank, (document, score) in enumerate(hits[query["id"]], start=1)
        ]
        entries.append({"wanted": request, **query, "found": is_wanted, "passages": passages_of_query})
    exhibit = {"kind": "passages", "queries": entries}
    text = json.dumps(exhibit, ensure_ascii=False, sort_keys=True, allow_nan=False)
    (out / "exhibit.json").write_text(text, encoding="utf-8")
    return {
        "queries": len(entries),
        "found": sum(is_wanted for _, is_wanted in selection),
        "passages": sum(len(entry["passages"]) for entry in entries),
    }


def chosen_queries(wanted: Sequence[str], queries: Sequence[Query]) -> list[tuple[Query, bool]]:
    """Return (query, whether it has the text) per wanted text. Unused queries replace missing ones.

    Raises DataError if there are too few.
    """
    by_text: dict[str, Query] = {}
    for query in queries:
        by_text.setdefault(_words(query["text"]), query)
    texts = set(map(_words, wanted))
    used_ids = {query["id"] for text, query in by_text.items() if text in texts}
    spare = (query for query in queries if query["id"] not in used_ids)
    choices = []
    for text in wanted:
        named = by_text.get(_words(text))
        if (choice := named or next(spare, None)) is None:
            raise DataError(f"{len(queries)} queries are too few for {len(wanted)} different examples")
        choices.append((choice, named is not None))
    return choices


def _words(text: str) -> str:
    return " ".join(text.casefold().split())
