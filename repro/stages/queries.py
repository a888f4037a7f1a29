"""Stage ``queries``: the queries of one split, with answers where strings decide."""

import json
from pathlib import Path

from repro.datasets import reading
from repro.datasets.catalog import dataset
from repro.datasets.digests import RowDigest
from repro.datasets.source import Source
from repro.progress import Progress


def run(params: dict, inputs: dict[str, Path | list[Path]], out: Path, progress: Progress) -> dict:
    """Write ``queries.jsonl``: id and text, and answers for an answer set, in the order of the source.

    ``params``: dataset (id) and source (a queries Source as JSON). Returns the number of queries and the
    digest of what was written. Raises DataError when the source is malformed or not the collection of the
    papers.
    """
    source = Source.from_json(params["source"])
    with_answers = dataset(params["dataset"]).answers
    digest = RowDigest()
    with (out / "queries.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        for query in reading.queries(source):
            row = {"id": query.id, "text": query.text}
            if with_answers:
                row["answers"] = list(query.answers)
            digest.add(row)
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return {"queries": digest.count, "digest": digest.hexdigest()}
