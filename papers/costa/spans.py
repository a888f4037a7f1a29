"""Multi-granularity span sampling (§3.2, Eqs. 1-3)."""

from collections.abc import Mapping

import numpy as np

from repro.nn.words import Words

GRANULARITIES = ("word", "phrase", "sentence", "paragraph")
ROUNDINGS = {"floor": np.floor, "round": np.rint}
STARTS = ("inclusive", "printed")
SHORT_TEXTS = ("clip", "drop")


def span_lengths(
    count: int,
    shortest: int,
    longest: int,
    *,
    beta: tuple[float, float],
    rounding: str,
    generator: np.random.Generator,
) -> np.ndarray:
    """Eq. 1: l = p * (l_max - l_min) + l_min with p ~ Beta(alpha, beta), as a whole number of tokens.

    Reading ``span-length-rounding``: ``floor``, as in DeCLUTR, which the section follows, or ``round``, to
    the nearest. (count,) int64.
    """
    p = generator.beta(*beta, size=count)
    return ROUNDINGS[rounding](p * (longest - shortest) + shortest).astype(np.int64)


def span_starts(lengths: np.ndarray, n: int, *, start: str, generator: np.random.Generator) -> np.ndarray:
    """Eq. 2: start ~ U(1, n - l), under one of two readings (``span-start``), as positions from 0.

    ``inclusive``: every place where the span fits, 0..n-l. ``printed``: counting from 1 as the equation does,
    that is 0..n-l-1 from 0, so that no span ends with the text. Every length must leave at least one start.

    Args:
        lengths: (S,).
        n: the text's length in tokens.

    Returns:
        (S,) int64.
    """
    places = n - lengths + (1 if start == "inclusive" else 0)
    return generator.integers(0, places)


def sampled_spans(
    input_ids: np.ndarray,
    *,
    words: Words,
    counts: Mapping[str, int],
    bounds: Mapping[str, tuple[int, int]],
    beta: tuple[float, float],
    rounding: str,
    start: str,
    short_text: str,
    generator: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """The spans of one text (Eq. 3: end = start + l), granularity by granularity, independent draws.

    A text too short for a granularity's longest span: reading ``short-text``. ``clip`` cuts the bounds to
    what fits, so that only a text with room for no start, or with no word to sample, goes without; ``drop``
    leaves the text without any span, hence out of the loss.

    Args:
        input_ids: (n,), without special tokens around.
        words: the vocabulary's words and the stop list.
        counts: T for each granularity; one that is missing or 0 is not sampled.
        bounds: (l_min, l_max) in tokens for phrase, sentence and paragraph.
        beta: (alpha, beta) of Eq. 1.
        rounding: ``floor`` or ``round``.
        start: ``inclusive`` or ``printed``.
        short_text: ``clip`` or ``drop``.

    Returns:
        spans, (S, 2) with S the sum of the counts, and which of them exist, (S,); the others are (0, 0).
    """
    spans, exist = [], []
    room = len(input_ids) - (0 if start == "inclusive" else 1)
    for granularity in GRANULARITIES:
        count = counts.get(granularity, 0)
        if count == 0:
            continue
        if granularity == "word":
            drawn = _words(words.spans(input_ids), count, generator)
        else:
            shortest, longest = bounds[granularity]
            if longest > room:
                shortest, longest = (0, 0) if short_text == "drop" else (min(shortest, room), room)
            how = {"beta": beta, "rounding": rounding, "start": start, "generator": generator}
            drawn = _runs(len(input_ids), count, (shortest, longest), **how)
        found = drawn[:, 1] > 0
        if short_text == "drop" and not found.all():
            return _no_spans(sum(counts.values()))
        spans.append(drawn)
        exist.append(found)
    return np.concatenate(spans), np.concatenate(exist)


def _words(candidates: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    if len(candidates) == 0:
        return _no_spans(count)[0]
    return candidates[generator.integers(0, len(candidates), count)]  # (T, 2)


def _runs(
    n: int, count: int, bounds: tuple[int, int], *, beta, rounding: str, start: str, generator
) -> np.ndarray:
    if bounds[1] < 1:
        return _no_spans(count)[0]
    lengths = span_lengths(count, *bounds, beta=beta, rounding=rounding, generator=generator)
    first = span_starts(lengths, n, start=start, generator=generator)
    return np.stack((first, first + lengths), axis=1)  # (T, 2)


def _no_spans(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((count, 2), dtype=np.int64), np.zeros(count, dtype=bool)
