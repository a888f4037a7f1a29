"""Run files without a fault, read by a CSV parser: strict where the reader of lines is, and faster."""

from __future__ import annotations

import zlib
from itertools import pairwise
from pathlib import Path

import numpy as np

from repro.evaluation.text_lines import opened

_COLUMNS = ("query", "q0", "document", "rank", "score", "tag")
_PLAIN = bytes([10, *range(32, 127)])  # one space between columns, and nothing that only looks like one
_LARGEST = float(np.finfo(np.float32).max)


def read_sound(path: Path) -> dict[str, list[tuple[str, float]]] | None:
    """``{qid: [(document, score), …]}`` of a run file, best first; None where anything is unusual.

    The reader that goes line by line then says what is wrong and where, or that nothing is.
    """
    import pyarrow as pa

    try:
        with opened(path) as file:
            data = file.buffer.read()
        if not data or data.translate(None, _PLAIN):
            return None
        columns = _parsed(data)
    except (OSError, EOFError, zlib.error, pa.ArrowInvalid):
        return None
    if columns is None:
        return None
    queries, documents, scores = columns
    narrow = scores.astype(np.float32)
    falls = np.append(narrow[1:] < narrow[:-1], True)  # (N,): whether the next line is below this one
    codes = queries.indices.to_numpy()
    starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
    names, run = queries.dictionary.to_pylist(), {}
    if len(starts) > len(names) + 1:
        return None  # a query in several places
    for start, end in pairwise(starts):
        listed = documents[start:end].to_pylist()
        if len(set(listed)) != len(listed):
            return None  # a document twice
        pairs = list(zip(listed, scores[start:end].tolist(), strict=True))
        run[names[codes[start]]] = pairs if falls[start : end - 1].all() else ranked(pairs)
    return run


def ranked(pairs: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Documents by score in float32, then by id, both descending: trec_eval's order."""
    narrow = np.fromiter((score for _, score in pairs), np.float32, len(pairs))
    order = sorted(zip(narrow.tolist(), pairs, strict=True), reverse=True)  # pairs begin with the id
    return [pair for _, pair in order]


def _parsed(data: bytes):
    """Queries (dictionary array), documents (array) and scores (numpy); None for a value out of place."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    table = csv.read_csv(
        pa.BufferReader(data),
        csv.ReadOptions(column_names=_COLUMNS),
        csv.ParseOptions(delimiter=" ", quote_char=False, double_quote=False, ignore_empty_lines=False),
        csv.ConvertOptions(
            column_types={**dict.fromkeys(_COLUMNS, pa.string()), "score": pa.float64()},
            null_values=[],
            strings_can_be_null=False,
        ),
    )
    scores = table["score"].to_numpy()
    sound = (
        (np.abs(scores) <= _LARGEST).all()  # nan is not
        and pc.all(pc.ascii_is_decimal(table["rank"])).as_py()
        and not any(pc.any(pc.equal(table[name], "")).as_py() for name in _COLUMNS if name != "score")
    )
    if not sound:
        return None
    return table["query"].combine_chunks().dictionary_encode(), table["document"].combine_chunks(), scores
