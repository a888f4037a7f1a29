"""Check the plausibility of scores and facts, which a checksum does not prove.

Scores are e.g. ``{"queries": ["q1"], "measures": {"RR@10": [0.5]}, "missing": [], "ignored": 0}``.
"""

import math
import sys
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

LARGEST = 1 + 1e-9  # score. nDCG is a quotient of float sums and may slightly exceed 1.
LARGEST_NUMBER = sys.float_info.max
NUMBERS = {int, float}


def scores_fault(scores: Any, params: Mapping[str, Any], judged: Collection[str] | None) -> str:
    """Return a reason why scores cannot be those of an evaluation, e.g. "a score by RR@10 is 500.0", or "".

    Args:
        params: parameters of the evaluation. Scores without ``measures`` are of another stage and may exceed
            1.
        judged: the judged queries. None if they are not available.
    """
    try:
        queries, missing, measures = scores["queries"], scores["missing"], scores["measures"]
        lists = queries, missing, *measures.values()
    except (KeyError, TypeError, AttributeError):
        return "it has no queries, measures and missing queries"
    if not all(type(values) is list for values in lists) or not _are({str}, [*queries, *missing]):
        return "its queries, measures and missing queries are not lists"
    if not queries or len(set(queries)) < len(queries) or not {*missing} <= {*queries}:
        return "it has no queries, or some twice, or misses others than these"
    if judged is not None and {*queries} != {*judged}:
        return "its queries are not the judged ones"
    names, limit = (params["measures"], LARGEST) if "measures" in params else (measures, LARGEST_NUMBER)
    if {*names} != measures.keys() or not names:
        return f"its measures are {str([*measures])[:60]}, not {[*names]}"
    faults = (_fault(name, values, len(queries), limit) for name, values in measures.items())
    return next(filter(None, faults), "")


def _fault(measure: str, values: list, count: int, limit: float) -> str:
    if len(values) != count:
        return f"it has {len(values)} scores by {measure} for {count} queries"
    if not _are(NUMBERS, values):
        return f"a score by {measure} is no number"
    if min(values) >= 0 and max(values) <= limit and math.isfinite(sum(values)):  # min and max may skip a nan
        return ""
    wrong = next((value for value in values if not 0 <= value <= limit), "too large")
    return f"a score by {measure} is {str(wrong)[:40]}"


def facts_fault(facts: Any) -> str:
    """Return a reason why the facts of an artefact are invalid, e.g. "its fact seconds is 'x'", or ""."""
    if type(facts) is not dict:
        return "its facts are no mapping"
    wrong = (name for name in _FACTS.keys() & facts.keys() if not _FACTS[name](facts[name]))
    return next((f"its fact {name} is {str(facts[name])[:40]!r}" for name in sorted(wrong)), "")


def _are(types: set[type], values: Iterable) -> bool:
    return {*map(type, values)} <= types


def _is_text(value: Any) -> bool:
    return type(value) is str and value.isprintable()


def _is_number(value: Any) -> bool:
    return type(value) in NUMBERS and 0 <= value < 1e30


def _is_time(value: Any) -> bool:
    try:
        return bool(datetime.fromisoformat(value))
    except (TypeError, ValueError):
        return False


def _are_texts(value: Any) -> bool:
    return type(value) is dict and _are({str}, value.values())


def _is_mapping(value: Any) -> bool:
    return type(value) is dict


def _are_tasks(value: Any) -> bool:
    return _is_mapping(value) and all(
        type(task) is dict and all(map(_is_number, task.values())) for task in value.values()
    )


_FACTS = {  # the facts that are read, with a test of each
    **dict.fromkeys(("code", "digest", "repro"), _is_text),
    **dict.fromkeys(("modules", "libraries", "inputs"), _are_texts),
    **dict.fromkeys(("steps", "resumed_at", "examples", "flops", "documents"), _is_number),
    **dict.fromkeys(("queries", "nudged", "peak_memory_kib", "peak_gpu_bytes"), _is_number),
    "entries": lambda value: type(value) is list and _are({str}, value),
    # a digest of rows, or the sizes of several training sets
    "rows": lambda value: _is_text(value) or (type(value) is list and _are({int}, value)),
    "commit": lambda value: type(value) is str,  # if not hexadecimal, it counts as unknown
    "finished": _is_time,
    "seconds": lambda value: _is_number(value) and value < 1e9,
    "kernels": _is_mapping,
    "tasks": _are_tasks,
}
