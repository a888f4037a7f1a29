"""Stage ``imported_run``: convert a run file made by others, e.g. by pyserini."""

from collections.abc import Sequence
from pathlib import Path

from repro.progress import Progress
from repro.retrieval.datasets import digests, sources
from repro.retrieval.evaluation.run_writer import write_metadata, write_run
from repro.retrieval.evaluation.runs import read_run_file

_LOW = -3.4e38  # padding is -3.4028235e38, the smallest float32


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``run.trec`` with ties broken by the suite's rule, ``raw.npy`` and the run's metadata.

    Raises DataError if the file ``source`` is malformed or its digest is not ``sha256``.
    """
    path = Path(params["source"])
    with digests.unchanged([path], params["sha256"], lambda: sources.file_digest(path)):
        given = read_run_file(path, strict=False)
    tag = given.tag or "imported"
    counts = write_run(out, {query: _lifted(ranking) for query, ranking in given.rankings.items()}, tag)
    metadata = {"tag": tag, "data": {"test collection": {"name": params["dataset"]}}}
    write_metadata(out / "run.ir_metadata.yml", metadata)
    return {**counts, "depth": max(map(len, given.rankings.values())), "form": given.form}


def _lifted(ranking: Sequence[tuple[str, float]]) -> Sequence[tuple[str, float]]:
    if not ranking or ranking[-1][1] > _LOW:
        return ranking
    return [(document, max(score, _LOW)) for document, score in ranking]
