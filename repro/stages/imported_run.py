"""Stage ``imported_run``: somebody else's run file in, a run of the suite out."""

from pathlib import Path

from repro.datasets.digests import file_sha256, unchanged
from repro.evaluation.foreign_runs import read_foreign
from repro.evaluation.ir_metadata import write_metadata
from repro.evaluation.run_writer import write_run
from repro.progress import Progress


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``run.trec`` with ties broken by the suite's rule, ``raw.npy`` and what is known of the run.

    Params: ``dataset`` whose topics it answers, ``sha256`` of the file's bytes; ``source`` (its path) and
    ``name`` say where it is foreign. Returns ``queries``, ``lines``, ``nudged``, ``depth`` and ``form``.
    Raises DataError when the file is malformed, or is no longer the one that was asked for.
    """
    path = Path(params["source"])
    with unchanged([path], params["sha256"], lambda: file_sha256(path)):
        foreign = read_foreign(path)
    tag = foreign.tag or "imported"
    counts = write_run(out, foreign.rankings, tag)
    metadata = {"tag": tag, "data": {"test collection": {"name": params["dataset"]}}}
    write_metadata(out / "run.ir_metadata.yml", metadata)
    return {**counts, "depth": foreign.depth, "form": foreign.form}
