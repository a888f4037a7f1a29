"""Stage ``compare``: runs over the same queries in, pairwise tests out."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from repro.evaluation import significance
from repro.evaluation.measures import coverage
from repro.evaluation.qrels import Qrels, read_qrels
from repro.evaluation.runs import Run, read_run
from repro.progress import Progress

MAX_P = 0.05  # the level the papers print


def run(params: dict, inputs: dict[str, Path | list[Path]], out: Path, progress: Progress) -> dict:
    """Write ``significance.json`` as :func:`repro.evaluation.significance.compare` returns it.

    Params: ``measures`` (ir_measures names), ``names`` (one for each of the inputs ``runs``, in their order),
    ``ignore_identical_ids`` (BEIR's rule; False when left out). Returns, for each run in order, how many
    judged queries it misses. Raises DataError for a run without any judged query.
    """
    qrels = read_qrels(inputs["qrels"] / "qrels.trec")
    missing: list[int] = []
    with progress.task("runs read", total=len(inputs["runs"])) as advance:
        result = significance.compare(
            [partial(_read, directory, qrels, missing, advance) for directory in inputs["runs"]],
            params["names"],
            qrels,
            params["measures"],
            max_p=MAX_P,
            ignore_identical_ids=params.get("ignore_identical_ids", False),
        )
    (out / "significance.json").write_text(
        json.dumps(result, ensure_ascii=False, allow_nan=False), encoding="utf-8"
    )
    return {"queries": len(qrels), "runs": len(missing), "missing": missing}


def _read(directory: Path, qrels: Qrels, missing: list[int], advance) -> Run:
    ranking = read_run(directory / "run.trec")
    missing.append(len(coverage(ranking, qrels)[0]))
    advance()
    return ranking
