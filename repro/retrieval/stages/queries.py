"""Stage ``queries``: the queries of one split, with answers for answer sets."""

import json
from pathlib import Path

from repro.progress import Progress
from repro.retrieval.datasets import catalog, digests, reading


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``queries.jsonl``: id and text, and answers for an answer set, in the order of the source."""
    digest, content = digests.RowDigest(), digests.ContentDigest()
    path = out / "queries.jsonl"
    entry = catalog.dataset(params["dataset"])
    task = progress.task(f"reading queries of {entry.id}", entry.counts.get("queries"))
    with (
        digests.planned_source(params) as source,
        path.open("w", encoding="utf-8", newline="\n") as file,
        task as advance,
    ):
        for query in reading.queries(source, first=params.get("first")):
            row = reading.query_row(query, entry)
            digest.add(row)
            content.add(row)
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            advance()
    facts = {"queries": digest.count, "digest": digest.hexdigest()}
    return facts if "first" in params else facts | {"rows": content.hexdigest()}
