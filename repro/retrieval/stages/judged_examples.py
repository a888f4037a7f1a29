"""Stage ``judged_examples``: a training set from judgements."""

from collections.abc import Iterator
from pathlib import Path

from repro.errors import DataError
from repro.progress import Progress
from repro.retrieval.datasets.arrow import SCORED_EXAMPLES, write_rows
from repro.retrieval.evaluation.text_lines import read_qrels

FIRST_SCORE = 1000.0  # as in DPR's files


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``arrow/``: documents of grade 1 or more as positives, those of ``negative_grade`` as negatives.

    A query that lacks one of them is left out. DPR's questions have grade 2 for the annotated passage, 1 for
    BM25's passages with the answer, 0 for hard negatives and -1 for others. The first positive scores 1,000,
    others 0, so that only it is ``confident``.
    """

    def examples() -> Iterator[dict]:
        for query, grades in judgements.items():
            advance()
            positives = sorted((d for d, grade in grades.items() if grade >= 1), key=lambda d: -grades[d])
            negatives = [d for d, grade in grades.items() if grade == params["negative_grade"]]
            if not positives or not negatives:
                continue
            yield {
                "query": query,
                "positives": positives,
                "negatives": negatives,
                "positive_scores": [FIRST_SCORE] + [0.0] * (len(positives) - 1),
                "negative_scores": [0.0] * len(negatives),
            }

    with progress.task("reading judgements"):
        judgements = read_qrels(inputs["qrels"] / "qrels.trec")
    with progress.task("choosing examples", total=len(judgements)) as advance:
        count = write_rows(examples(), SCORED_EXAMPLES, out / "arrow")
    if not count:
        grade = params["negative_grade"]
        raise DataError(f"{inputs['qrels']}: no query has both a positive and a negative of grade {grade}")
    return {"queries": count, "queries_left_out": len(judgements) - count}
