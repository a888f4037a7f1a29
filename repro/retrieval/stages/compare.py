"""Stage ``compare``: pairwise significance tests of runs or of scores."""

import json
from pathlib import Path

from repro.errors import DataError
from repro.progress import Progress
from repro.retrieval.evaluation import runs, significance, text_lines
from repro.retrieval.evaluation.measures import coverage

MAX_P = 0.05  # the level the papers print


def run(params: dict, inputs: dict, out: Path, progress: Progress) -> dict:
    """Write ``significance.json``, the result of ``evaluation.significance.compare``.

    ``measures`` are e.g. ``"nDCG@10"``, ``names`` those of the ``runs``. Inputs ``scores`` may replace
    ``runs`` and ``qrels``: for each name, one per collection that a cell averages over.
    """
    if "scores" in inputs:
        return _by_scores(params, inputs["scores"], out)
    qrels = text_lines.read_qrels(inputs["qrels"] / "qrels.trec")
    missing: list[int] = []
    with progress.task("runs read", total=len(inputs["runs"])) as advance:
        result = significance.compare(
            (_read(directory, qrels, missing, advance) for directory in inputs["runs"]),
            params["names"],
            qrels,
            params["measures"],
            max_p=MAX_P,
            ignore_identical_ids=params.get("ignore_identical_ids", False),
        )
    _write(out, result)
    return {"queries": len(qrels), "runs": len(missing), "missing": missing}


def _read(directory: Path, qrels: text_lines.Qrels, missing: list[int], advance) -> runs.Run:
    ranking = runs.read_run(directory / "run.trec")
    missing.append(len(coverage(ranking, qrels)[0]))
    advance()
    return ranking


def _by_scores(params: dict, directories: list[Path], out: Path) -> dict:
    names, measures = params["names"], params["measures"]
    members = len(directories) // len(names)
    records = [json.loads((d / "scores.json").read_text(encoding="utf-8")) for d in directories]
    systems = [records[i : i + members] for i in range(0, len(records), members)]
    queries = joint_queries(systems)
    scores = [{m: weighted_scores(parts, m) for m in measures} for parts in systems]
    _write(out, significance.compare_scores(scores, names, queries, measures, max_p=MAX_P))
    missing = [sum(len(part["missing"]) for part in parts) for parts in systems]
    return {"queries": len(queries), "runs": len(names), "missing": missing}


def joint_queries(systems: list[list[dict]]) -> list[str]:
    """Return query ids prefixed by their collection's number, e.g. ``"0:q1"``.

    ``systems`` lists each system's scores by collection. Raises DataError if their queries differ.
    """
    ids = [[f"{n}:{q}" for n, part in enumerate(parts) for q in part["queries"]] for parts in systems]
    if any(queries != ids[0] for queries in ids):
        raise DataError("the systems were scored on different queries and cannot be compared by query")
    return ids[0]


def weighted_scores(parts: list[dict], measure: str) -> list[float]:
    """Return scores of all ``parts``, weighted so that their mean is the mean of the parts' means."""
    total = sum(len(part["queries"]) for part in parts)
    weights = [total / (len(parts) * len(part["queries"])) for part in parts]
    return [w * x for w, part in zip(weights, parts, strict=True) for x in part["measures"][measure]]


def _write(out: Path, result: dict) -> None:
    text = json.dumps(result, ensure_ascii=False, allow_nan=False)
    (out / "significance.json").write_text(text, encoding="utf-8")
