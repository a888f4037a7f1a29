"""Stage ``imported_run``: somebody else's run file in, a run of the suite out."""

from pathlib import Path

from repro.errors import DataError
from repro.evaluation.foreign_runs import read_foreign
from repro.evaluation.ir_metadata import write_metadata
from repro.evaluation.run_writer import write_run
from repro.progress import Progress
from repro.store.disk import sha256


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``run.trec`` with ties broken by the suite's rule, ``raw.npy`` and what is known of the run.

    Params: ``dataset`` whose topics it answers, ``sha256`` of the file's bytes; ``source`` (its path) and
    ``name`` say where it is foreign. Returns ``queries``, ``lines``, ``nudged``, ``depth`` and ``form``.
    Raises DataError when the file is malformed, or is no longer the one that was asked for.
    """
    path = Path(params["source"])
    foreign = read_foreign(path)
    if sha256(path) != params["sha256"]:
        raise DataError(f"{path}: its bytes changed since it was looked at; run the same command again")
    tag = foreign.tag or "imported"
    counts = write_run(out, foreign.rankings, tag)
    known = {"tag": tag, "data": {"test collection": {"name": params["dataset"]}}}
    write_metadata(out / "run.ir_metadata.yml", known)
    return {**counts, "depth": foreign.depth, "form": foreign.form}
