"""Stage ``qrels``: the relevance judgements of one split in TREC format."""

from pathlib import Path

from repro.progress import Progress
from repro.retrieval.datasets import digests, reading
from repro.retrieval.datasets.first_rows import FirstRows


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``qrels.trec``, lines "query 0 document grade" without duplicates, empty for answer sets.

    In a rehearsal, queries beyond the first rows are left out, and documents beyond them are replaced.
    """
    first_rows, name = FirstRows.of(inputs), params["dataset"]
    with digests.planned_source(params) as source, progress.task(f"reading judgements of {name}"):
        if first_rows is None:
            judgements = reading.judgements(source)
        else:
            judgements = first_rows.judgements(reading.judgement_rows(source, whole=False))
    digest, content = digests.RowDigest(), digests.ContentDigest()
    task = progress.task(f"writing judgements of {name}", total=len(judgements))
    with task as advance, (out / "qrels.trec").open("w", encoding="utf-8", newline="\n") as file:
        for judgement in judgements:
            digest.add(judgement)
            content.add(judgement)
            file.write(f"{judgement.query} 0 {judgement.document} {judgement.grade}\n")
            advance()
    queries = len({judgement.query for judgement in judgements})
    facts = {"qrels": len(judgements), "queries": queries, "digest": digest.hexdigest()}
    return facts | {"rows": content.hexdigest()} if first_rows is None else facts
