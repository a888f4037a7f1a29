"""Digests of rows, whatever file they came from: of these very rows, and of what they say."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

SHORT = 16  # bytes kept of a row's digest: those of 21 million passages take 336 MB


class RowDigest:
    """sha256 over rows as they are written, each a line of JSON: equal for equal data from any file."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.count = 0

    def add(self, row: Mapping | Sequence) -> None:
        """Count ``row`` in."""
        self.count += 1
        self._hash.update(_line(row))

    def hexdigest(self) -> str:
        """The digest of all rows so far, in hexadecimal."""
        return self._hash.hexdigest()


class ContentDigest:
    """sha256 over the sorted digests of rows, whose runs of white space count as one blank.

    By it a collection is known as that of its makers, who give it out in several packings: with or without
    line breaks in a text, judgements by query or as they came. Nothing that is ranked or measured follows
    from either; where it does, in a fingerprint, ``RowDigest`` is meant. The digests of rows are sorted and
    not added up, as of sums forgeries are cheap.
    """

    def __init__(self) -> None:
        self._digests = bytearray()

    def add(self, row: Mapping | Sequence) -> None:
        """Count ``row`` in."""
        self._digests += hashlib.sha256(_line(_with_blanks(row))).digest()[:SHORT]

    def hexdigest(self) -> str:
        """The digest of all rows so far, in hexadecimal."""
        import numpy as np  # a plan takes no other digest than the one above

        return hashlib.sha256(np.sort(np.frombuffer(self._digests, f"V{SHORT}")).tobytes()).hexdigest()


def _line(row: Any) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _with_blanks(value: Any) -> Any:
    """The row with its texts' white space as single blanks."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, dict):
        return {key: _with_blanks(each) for key, each in value.items()}
    return list(map(_with_blanks, value)) if isinstance(value, tuple | list) else value
