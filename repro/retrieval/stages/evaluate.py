"""Stage ``evaluate``: per-query scores of a run by judgements."""

import json
from dataclasses import asdict
from pathlib import Path

from repro.progress import Progress
from repro.retrieval.datasets.arrow import passages
from repro.retrieval.evaluation import runs, text_lines
from repro.retrieval.evaluation.answers import answer_measures, read_answers, score_by_answers
from repro.retrieval.evaluation.measures import check_grades, score


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``scores.json``: queries, measures, missing, ignored (see ``Scores``).

    ``measures`` are e.g. ``"RR@10"``, ``judgements`` is ``qrels``, or ``answers``, which needs inputs
    ``queries`` and ``corpus``. Raises DataError if ``qrels`` have no relevant document for a measure.
    """
    ranking = runs.read_run(inputs["run"] / "run.trec")
    if params["judgements"] == "qrels":
        qrels, ignore = text_lines.read_qrels(inputs["qrels"] / "qrels.trec"), params["ignore_identical_ids"]
        check_grades(qrels, params["measures"])
        scores = score(ranking, qrels, params["measures"], ignore_identical_ids=ignore)
    else:
        answers, measures = read_answers(inputs["queries"] / "queries.jsonl"), params["measures"]
        depth = max((measure.cutoff for measure in answer_measures(measures).values()), default=0)
        documents = sorted({document for qid in answers for document, _ in ranking.get(qid, ())[:depth]})
        with progress.task("passages with answers"):
            found = passages(documents, inputs["corpus"], source=inputs["run"])
        texts = {document: passage["text"] for document, passage in found.items()}
        tokenless = params.get("tokenless_answers", False)
        scores = score_by_answers(ranking, answers, texts, measures, tokenless=tokenless)
    text = json.dumps(asdict(scores), ensure_ascii=False, allow_nan=False)
    (out / "scores.json").write_text(text, encoding="utf-8")
    counts = {"queries": len(scores.queries), "missing": len(scores.missing), "ignored": scores.ignored}
    return counts | {"means": scores.means}
