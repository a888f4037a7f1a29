"""Runs, judgements and encoders in memory, e.g. ``{"q1": {"d7": 2.5}}`` or a DataFrame."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from repro.errors import DataError, UsageError
from repro.machine.bounded_reading import temporary_folder
from repro.retrieval.evaluation import runs, text_lines

# columns of ranx, PyTerrier and ir_measures
QUERIES, DOCUMENTS = ("q_id", "qid", "query_id"), ("doc_id", "docno", "docid")
VALUES = {"score": ("score",), "grade": ("label", "relevance", "rel", "grade", "score")}
ENCODERS = {"SentenceTransformer", "SparseEncoder"}
TAKEN = (
    "A run is a file, a dict {query: {document: score}} or a DataFrame with qid, docno and score. An encoder "
    "is a folder, a name, settings with `model`, or a SentenceTransformer."
)


def refused(given: object) -> UsageError:
    return UsageError(f"a run or an encoder of type {type(given).__name__} cannot be used. {TAKEN}")


def is_frame(given: object) -> bool:
    return type(given).__name__ == "DataFrame" and hasattr(given, "columns")


def is_encoder_object(given: object) -> bool:
    return not ENCODERS.isdisjoint(kind.__name__ for kind in type(given).__mro__)


def is_run(given: object) -> bool:
    """Return whether this is a run in memory, e.g. ``{"q1": {"d7": 2.5}}``."""
    return is_frame(given) or (_is_nested(given) and bool(given))


def _is_nested(given: object) -> bool:
    return isinstance(given, Mapping) and all(isinstance(value, Mapping) for value in given.values())


def run_in_memory(given: Any) -> runs.RunFile:
    """Return the run in a dict or a DataFrame. Raises UsageError for a missing column, DataError."""
    scores = _by_query(given, "score")
    run = runs.run_of_scores(scores, type(given).__name__)
    if not run.rankings:
        raise DataError(f"the {run.form} contains no document. Pass the whole run.")
    return run


def judgements_in_memory(given: Any) -> text_lines.Qrels:
    """Return the judgements in a dict or a DataFrame. Raises UsageError, DataError."""
    if not (_is_nested(given) or is_frame(given)):
        taken = "a file, a dict {query: {document: grade}} or a DataFrame with qid, docno, label"
        problem = f"judgements of type {type(given).__name__} cannot be used"
        raise UsageError(f"{problem}. Judgements are {taken}.")
    qrels = _by_query(given, "grade")
    return {query: {d: _grade(value, query) for d, value in of.items()} for query, of in qrels.items()}


def _grade(value: Any, query: str) -> int:
    try:
        grade = int(value)
    except (OverflowError, TypeError, ValueError):
        grade = None
    if grade is None or isinstance(value, bool) or grade != value:
        raise DataError(f"query {query!r}: the grade {value!r} is not a whole number")
    return grade


def _by_query(given: Any, kind: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for query, document, value in _lines(given, kind):
        values = found.setdefault(str(query), {})
        if str(document) in values:
            raise DataError(f"document {str(document)!r} is listed twice for query {str(query)!r}")
        values[str(document)] = value
    return found


def _lines(given: Any, kind: str) -> Iterator[tuple]:
    if isinstance(given, Mapping):
        return ((query, document, value) for query, of in given.items() for document, value in of.items())
    columns = [given[_column(given, names)].to_list() for names in (QUERIES, DOCUMENTS, VALUES[kind])]
    return zip(*columns, strict=True)


def _column(frame: Any, names: tuple[str, ...]) -> str:
    columns = list(map(str, frame.columns))
    if name := next((name for name in names if name in columns), None):
        return name
    remedy = f"Rename its columns, which are {', '.join(columns[:6])[:80]}."
    raise UsageError(f"the DataFrame has no column {' or '.join(names)}. {remedy}")


def saved_encoder(model: Any) -> tuple[Path, dict[str, Any]]:
    """Save an encoder in a temporary folder. Return the folder and settings it lacks. Raises UsageError."""
    from repro.retrieval.nn.checkpoint import quiet

    folder = temporary_folder() / "encoder"
    try:
        with quiet():
            model.save(str(folder), create_model_card=False)
    except Exception as error:  # the library raises many kinds
        raise UsageError(f"the encoder cannot be saved ({str(error)[:100]}). Pass its folder.") from error
    size = getattr(model, "truncate_dim", None)
    return folder, {"truncate_dim": size} if size else {}
