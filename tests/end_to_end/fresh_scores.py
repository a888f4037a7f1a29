"""The toy's cells computed by other code than the suite's."""

import functools
import json
from math import log2

LETTERS, DEPTH = "abcd", 5


@functools.cache
def measured_anew(
    files: tuple[bytes, bytes, bytes], measure: str, *, power: int, seed: int, codes: tuple[int, int]
) -> float:
    """The mean of a measure over the judged queries, by the code of passages and queries in ``codes``."""
    passages, queries = map(_texts, files[:2])
    rankings = {}
    for query, text in queries.items():
        asked = _vector(text, codes[1], power, seed)
        scores = {
            name: sum(x * y for x, y in zip(asked, _vector(text, codes[0], power, seed), strict=True))
            for name, text in passages.items()
        }
        rankings[query] = sorted(passages, key=lambda name: (scores[name], name), reverse=True)[:DEPTH]
    return scored_anew(files[2], measure, rankings)


def scored_anew(judgements: bytes, measure: str, rankings: dict[str, list[str]]) -> float:
    """The mean of a measure over the judged queries, for document ids of each query, best first."""
    grades: dict[str, dict[str, int]] = {}
    for line in judgements.decode().splitlines()[1:]:
        query, document, grade = line.split("\t")
        grades.setdefault(query, {})[document] = int(grade)
    values = [
        _value(measure, [max(judged.get(name, 0), 0) for name in rankings[query]], judged)
        for query, judged in grades.items()
    ]
    return sum(values) / len(values)


def _texts(file: bytes) -> dict[str, str]:
    return {row["_id"]: row["text"] for row in map(json.loads, file.splitlines())}


def _vector(text: str, code: int, power: int, seed: int) -> list[int]:
    step = 3 * code + 5 * seed + 2
    return [text.count(letter) ** power * (1 + place * step % 7) for place, letter in enumerate(LETTERS)]


def _value(measure: str, ranking: list[int], judged: dict[str, int]) -> float:
    name, _, cutoff = measure.partition("@")
    top, relevant = ranking[: int(cutoff)], [grade for grade in judged.values() if grade > 0]
    if name == "RR":
        return next((1 / rank for rank, grade in enumerate(top, 1) if grade), 0.0)
    if name == "R":
        return sum(grade > 0 for grade in top) / len(relevant)
    if name == "Success":
        return float(any(top))
    return _gain(top) / _gain(sorted(relevant, reverse=True)[: int(cutoff)])


def _gain(grades: list[int]) -> float:
    return sum(grade / log2(rank + 1) for rank, grade in enumerate(grades, 1))
