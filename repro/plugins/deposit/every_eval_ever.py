"""Published numbers and ours, side by side, as files of every_eval_ever's datastore.

A log lies at ``data/<collection>/<developer>/<model>/<uuid>.json``, the scores of its queries beside it.
"""

import hashlib
import json
import statistics
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import numpy as np

from repro.errors import UsageError
from repro.graph import canonical
from repro.manifest.cells import Cell
from repro.plugins.deposit.history import Account, Artefact, History, QueryScores, query_scores
from repro.retrieval.datasets.catalog import catalog
from repro.retrieval.evaluation.measures import parse_measure
from repro.retrieval.evaluation.significance import CONFIDENCE, RESAMPLES, bootstrap_interval, seed_of
from repro.stage_table import TRAININGS
from repro.store.disk import whole_folder
from repro.verdicts.verdict import UNITS

SCHEMA_VERSION = "0.3.0"
OURS = "repro-bench"
# by a row's role: what the authors of the paper are to the system, whose numbers they may have quoted
RELATIONS = {"ours": "first_party", "rerun": "third_party", "cited": "other"}

Log = dict[str, Any]


def is_loggable(account: Account) -> bool:
    """Return whether a cell is a mean of a measure of retrieval with known bounds, and not itself a bound."""
    try:
        parse_measure(account.record.measure)
    except UsageError:
        return False
    return account.record.unit in UNITS and not account.compared.cell.printed.bound


def published_log(cell: Cell, measure: str, now: datetime) -> Log:
    """Return the log of a published number, which its paper documents; ``now`` is when the log is written."""
    manifest = cell.paper.manifest
    links = {"doi": manifest.doi, "arxiv": manifest.arxiv, "code": manifest.code}
    place = {"table": cell.table.id, "row": cell.row.id, "column": cell.column.id}
    score = {"score": float(cell.printed.number), "details": {"published": cell.text}}
    return {
        **_head(cell, _published_model(cell), "published", now),
        "source_metadata": {
            "source_name": manifest.title,
            "source_type": "documentation",
            "source_organization_name": manifest.venue or manifest.title,
            "evaluator_relationship": RELATIONS[cell.role],
            "additional_details": _texts({**links, **place}),
        },
        "eval_library": {"name": "unknown", "version": "unknown"},
        "evaluation_results": [_result(cell, measure, _collection(cell), {}, score)],
    }


def measured_log(
    accounts: Sequence[Account], history: History, uncertainty: Mapping, *, by: str | None, now: datetime
) -> Log:
    """Return the log of what the suite measured for a cell: the mean over seeds, one account each.

    Args:
        uncertainty: of the mean, in the schema's words; empty where it is not known.
        by: who publishes it; None names nobody.
        now: when the log is written.
    """
    record, cell, records = accounts[0].record, accounts[0].compared.cell, [a.record for a in accounts]
    artefacts = history.behind([fingerprint for account in accounts for fingerprint in account.evaluations])
    relation = _relation(artefacts, record.scale)
    judgements = _judgements(accounts, history)
    collection = " + ".join(sorted(judgements)) or _collection(cell, record.scale)
    software = record.environment.get("software", {})
    details = {
        "cell": cell.id,
        "published": cell.text,
        **accounts[0].circumstances,
        "seeds": [r.seed for r in records],
        "values": [r.measured for r in records],
        "fingerprints": [r.fingerprint for r in records],
        "readings": record.readings,
        "substitutes": record.substitutes,
        "machine": record.environment.get("hardware"),
    }
    score = {"score": accounts[0].compared.measured, "details": _texts(details)}
    score |= {"uncertainty": dict(uncertainty)} if uncertainty else {}
    model = _published_model(cell)  # where it is that, or a name of our own where the suite has trained one
    if relation != "third_party":
        ours = f"{OURS}/{cell.paper.name}.{cell.table.id}.{cell.row.id}"
        model = ours if record.scale == "full" else f"{ours}.{record.scale}"
    deployment = "unknown" if record.origin else "self_deployed"
    results = [[r.fingerprint, r.scale, r.seed, r.recorded, r.measured] for r in records]
    result = _result(cell, record.measure, collection, judgements, score)
    return {
        **_head(cell, model, _digest(canonical(results)).hex()[:16], now, deployment=deployment),
        "evaluation_timestamp": record.recorded,
        "source_metadata": {
            "source_name": "repro",
            "source_type": "evaluation_run",
            "source_organization_name": by or "unknown",
            "evaluator_relationship": relation,
        },
        "eval_library": {
            "name": OURS,
            "version": software.get(OURS, "unknown"),
            "additional_details": _texts({"commit": record.environment.get("commit"), **software}),
        },
        "evaluation_results": [result | {"evaluation_timestamp": record.recorded}],
    }


def _head(cell: Cell, model: str, key: str, now: datetime, deployment: str = "unknown") -> Log:
    """Return the identifier of a log; a log written again from the same record has the same one."""
    details = {"deployment_type": deployment, "model_availability": "unknown", "published as": cell.row.label}
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{cell.id}/{model}/{key}",
        "retrieved_timestamp": str(int(now.timestamp())),
        "model_info": {"name": cell.row.label, "id": model, "additional_details": details},
    }


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _published_model(cell: Cell) -> str:
    developer = cell.paper.name if cell.role == "ours" else "unknown"
    return f"{developer}/{cell.paper.name}.{cell.table.id}.{cell.row.id}"


def _relation(artefacts: Sequence[Artefact], scale: str) -> str:
    """Say how the suite stands to the model: it trained it, took it as it is, or does not know any more."""
    if scale != "full" or any(artefact.stage in TRAININGS for artefact in artefacts):
        return "first_party"
    return "third_party" if artefacts and all(artefact.stage for artefact in artefacts) else "other"


def _judgements(accounts: Sequence[Account], history: History) -> dict[str, str | None]:
    """Return the collections whose judgements scored the records -> digest of these; None if unknown."""
    evaluations = [history.artefact(name) for account in accounts for name in account.evaluations]
    inputs = [evaluation.identity.get("inputs", {}).get("qrels") for evaluation in evaluations]
    known = [qrels for name in inputs if name and (qrels := history.artefact(name)).identity]
    return {qrels.identity["params"]["dataset"]: qrels.facts.get("digest") for qrels in known}


def _collection(cell: Cell, scale: str = "full") -> str:
    """Name the collection of a cell, or those that an average is taken over."""
    columns = {column.id: column for column in cell.table.columns}
    member_datasets = [columns[name].dataset for name in cell.column.mean_of]
    name = cell.column.dataset or " + ".join(dict.fromkeys(filter(None, member_datasets)))
    return name if scale == "full" else f"stand-in for {name} at scale {scale}"


def _result(
    cell: Cell, measure: str, collection: str, judgements: Mapping[str, str | None], score: Mapping[str, Any]
) -> Log:
    entry, parsed_measure = catalog().get(collection), parse_measure(measure)
    facts = {"title": entry.title, "licence": entry.licence, "catalogue": entry.source} if entry else {}
    facts |= {f"judgements of {name}": digest for name, digest in judgements.items() if digest}
    return {
        "evaluation_result_id": cell.id,
        "evaluation_name": collection,
        "source_data": {
            "dataset_name": collection,
            "source_type": "other",
            "additional_details": _texts(facts),
        },
        "metric_config": {
            "metric_id": f"ir_measures.{measure}",
            "metric_name": measure,
            "metric_kind": parsed_measure.name,
            "metric_unit": "percent" if cell.unit == "percent" else "proportion",
            "metric_parameters": {"cutoff": parsed_measure.cutoff, "rel": parsed_measure.rel},
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0,
            "max_score": int(UNITS[cell.unit]),
        },
        "score_details": dict(score),
    }


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Return values as additional details take them: text, or JSON as text; None is left out."""
    present = {name: value for name, value in values.items() if value is not None}
    return {name: v if isinstance(v, str) else canonical(v) for name, v in present.items()}


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
            scores, uncertainty = [query_scores(account, history) for account in cell_accounts], {}
            if len(cell_accounts) > 1:
                uncertainty = _over_seeds([account.record.measured for account in cell_accounts])
            elif len(scores[0]) == 1:
                uncertainty = _over_queries(scores[0][0], cell_accounts[0].record.measure)
            log = measured_log(cell_accounts, history, uncertainty, by=by, now=now)
            if not all(scores):
                summary.without_queries.append(cell.id)
                scores = []
            _write(log, scratch, list(chain.from_iterable(scores)))
            summary.measured += 1
    return summary


def _write(log: Log, root: Path, scores: Sequence[QueryScores] = ()) -> None:
    """Write a log, and before it the scores of its queries, whose checksum it states."""
    developer, model = log["model_info"]["id"].split("/")
    folder = f"data/repro-{log['evaluation_id'].partition('/')[0]}/{developer}/{model}"
    name = uuid.UUID(bytes=_digest(log["evaluation_id"])[:16], version=4)
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
            "checksum": _digest(text).hex(),
            "total_rows": len(lines),
            "additional_details": {"input.raw": note, "is_correct": "whether the score is above 0"},
        }
    text = json.dumps(log, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    (root / folder / f"{name}.json").write_text(text, encoding="utf-8")


def _rows(log: Log, scores: Sequence[QueryScores]) -> Iterator[dict]:
    """Yield one object per query and evaluation; a query is named by its id, and a ranking is no answer."""
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


def _over_queries(of_run: QueryScores, measure: str) -> dict[str, Any]:
    """Return the 95 % bootstrap interval of the mean, in the words of the schema; empty below two queries.

    Queries are drawn as in the tests between rows: the interval is that of the difference to a system that
    scores 0 everywhere.
    """
    values = np.array([of_run.scores, np.zeros(len(of_run.scores))])
    if values.shape[1] < 2:
        return {}
    low, high = bootstrap_interval(values, resamples=RESAMPLES, seed=seed_of(measure, of_run.queries))
    interval = {"lower": float(low[0, 1]), "upper": float(high[0, 1]), "confidence_level": CONFIDENCE}
    return {
        "confidence_interval": interval | {"method": "percentile bootstrap over queries"},
        "standard_deviation": statistics.stdev(of_run.scores),
        "num_samples": len(of_run.scores),
        "num_bootstrap_samples": RESAMPLES,
    }


def _over_seeds(values: Sequence[float]) -> dict[str, Any]:
    """Return the 95 % interval of the mean over seeds by Student's t, in the words of every_eval_ever."""
    from scipy.stats import t

    mean, error = statistics.fmean(values), statistics.stdev(values) / len(values) ** 0.5
    half_width = float(t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * error
    interval = {"lower": mean - half_width, "upper": mean + half_width, "confidence_level": CONFIDENCE}
    return {
        "standard_error": {"value": error, "method": "standard deviation over seeds / sqrt(seeds)"},
        "confidence_interval": interval | {"method": "Student's t over seeds"},
        "num_samples": len(values),
    }
