"""Published numbers and ours, side by side, as files of every_eval_ever's datastore.

A log lies at ``data/<collection>/<developer>/<model>/<uuid>.json``, the scores of its queries beside it.
"""

import hashlib
import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from pathlib import Path

from repro.exchange.evaluation_logs import Log, is_loggable, measured_log, published_log
from repro.exchange.history import Account, History
from repro.exchange.query_scores import (
    QueryScores,
    query_scores,
    uncertainty_over_queries,
    uncertainty_over_seeds,
)
from repro.exchange.whole_folder import whole_folder


@dataclass
class Summary:
    """How many logs were written, and which cells have none or no scores of queries."""

    published: int = 0
    measured: int = 0
    left_out: list[str] = field(default_factory=list)
    without_queries: list[str] = field(default_factory=list)


def write_logs(
    accounts: Sequence[Account], history: History, to: Path, *, by: str | None, now: datetime
) -> Summary:
    """Write the folder ``to`` whole, or not at all: two logs per cell, and the scores of every query of ours.

    Args:
        accounts: the records of each cell one after the other.
        by: who publishes them; None names nobody.
        now: when they are written.

    Raises UsageError when ``to`` holds something, StoreError when stored scores are not what was written.
    """
    summary = Summary()
    with whole_folder(to) as scratch:
        for cell, group in groupby(accounts, key=lambda account: account.compared.cell):
            cell_accounts = list(group)
            if not is_loggable(cell_accounts[0]):
                summary.left_out.append(cell.id)
                continue
            if cell.printed.value is not None:
                _write(published_log(cell, cell_accounts[0].record.measure, now), scratch)
                summary.published += 1
            scores = [query_scores(account, history) for account in cell_accounts]
            log = measured_log(cell_accounts, history, _uncertainty(cell_accounts, scores), by=by, now=now)
            known_scores = scores if all(scores) else []
            if not known_scores:
                summary.without_queries.append(cell.id)
            _write(log, scratch, [evaluation for seed_scores in known_scores for evaluation in seed_scores])
            summary.measured += 1
    return summary


def _uncertainty(accounts: Sequence[Account], scores: Sequence[list[QueryScores]]) -> dict:
    """The uncertainty over seeds where there are several, else over the queries of the one evaluation."""
    if len(accounts) > 1:
        return uncertainty_over_seeds([account.record.measured for account in accounts])
    [parts] = scores
    return uncertainty_over_queries(parts[0], accounts[0].record.measure) if len(parts) == 1 else {}


def _write(log: Log, root: Path, scores: Sequence[QueryScores] = ()) -> None:
    """Write a log, and before it the scores of its queries, whose checksum it states."""
    developer, model = log["model_info"]["id"].split("/")
    folder = f"data/repro-{log['evaluation_id'].partition('/')[0]}/{developer}/{model}"
    name = uuid.UUID(bytes=hashlib.sha256(log["evaluation_id"].encode()).digest()[:16], version=4)
    (root / folder).mkdir(parents=True, exist_ok=True)
    if scores:
        lines = [json.dumps(row, sort_keys=True) + "\n" for row in _rows(log, scores)]
        text, place = "".join(lines), f"{folder}/{name}_samples.jsonl"
        (root / place).write_text(text, encoding="utf-8")
        note = "queries are named, not quoted, and rankings are left out: their texts are others' to license"
        log["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": place,
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(text.encode()).hexdigest(),
            "total_rows": len(lines),
            "additional_details": {"input.raw": note, "is_correct": "whether the score is above 0"},
        }
    text = json.dumps(log, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    (root / folder / f"{name}.json").write_text(text, encoding="utf-8")


def _rows(log: Log, scores: Sequence[QueryScores]) -> Iterator[dict]:
    """One object per query and evaluation; a query is named by its id, and a ranking is no answer."""
    [result] = log["evaluation_results"]
    shared_fields = {
        "schema_version": log["schema_version"],
        "evaluation_id": log["evaluation_id"],
        "model_id": log["model_info"]["id"],
        "evaluation_name": result["evaluation_name"],
        "evaluation_result_id": result["evaluation_result_id"],
        "interaction_type": "single_turn",
        "output": {"raw": []},
        "answer_attribution": [],
    }
    for evaluation in scores:
        for query, score in zip(evaluation.queries, evaluation.scores, strict=True):
            yield shared_fields | {
                "sample_id": query,
                "input": {"raw": query, "reference": []},
                "evaluation": {"score": score, "is_correct": score > 0},
                "metadata": {"evaluation": evaluation.fingerprint},
            }
