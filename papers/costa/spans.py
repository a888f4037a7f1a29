"""Multi-granularity span sampling (§3.2, Eqs. 1-3)."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from repro.retrieval.nn.text import Words

GRANULARITIES = ("word", "phrase", "sentence", "paragraph")
ROUNDINGS = {"floor": np.floor, "round": np.rint}
STARTS = ("inclusive", "printed")
SHORT_TEXTS = ("clip", "drop")
UNITS = ("pieces", "words")
STOP_WORDS = ("before", "after")


def span_lengths(
    count: int,
    shortest: np.ndarray,
    longest: np.ndarray,
    *,
    beta: tuple[float, float],
    rounding: str,
    generators: Sequence[np.random.Generator],
) -> np.ndarray:
    """Draw span lengths by Eq. 1: l = p * (l_max - l_min) + l_min with p ~ Beta(alpha, beta), as a whole
    number of tokens.

    Reading ``span-length-rounding``: ``floor``, as in DeCLUTR, which the section follows, or ``round``, to
    the nearest. Maps the bounds, (N, 1), and generators of N texts to (N, count) int64.
    """
    p = np.array([generator.beta(*beta, size=count) for generator in generators])
    return ROUNDINGS[rounding](p * (longest - shortest) + shortest).astype(np.int64)


def span_starts(
    lengths: np.ndarray, n: np.ndarray, *, start: str, generators: Sequence[np.random.Generator]
) -> np.ndarray:
    """Draw span starts by Eq. 2, start ~ U(1, n - l), under reading ``span-start``. Returned positions count
    from 0.

    ``inclusive``: every place where the span fits, 0..n-l. ``printed``: counting from 1 as the equation does,
    i.e. 0..n-l-1 from 0, so no span ends with the text. Every length must leave at least one start.

    Args:
        lengths: (N, T), the lengths of T spans of each text.
        n: (N, 1), the texts' lengths in tokens.

    Returns (N, T) int64.
    """
    places = n - lengths + (1 if start == "inclusive" else 0)
    return np.array([generator.integers(0, own) for generator, own in zip(generators, places, strict=True)])


def sampled_spans(
    texts: Sequence[np.ndarray],
    *,
    words: Words,
    counts: Mapping[str, int],
    bounds: Mapping[str, tuple[int, int]],
    beta: tuple[float, float],
    rounding: str,
    start: str,
    short_text: str,
    unit: str = "pieces",
    stop_words: str = "before",
    generators: Sequence[np.random.Generator],
) -> tuple[np.ndarray, np.ndarray]:
    """Return the spans of N texts (Eq. 3: end = start + l), drawn independently for each granularity.

    Reading ``short-text`` is for a text that is too short for a granularity's longest span. ``clip`` cuts the
    bounds to fit, so only a text without room for a start, or without a word to sample, has no span. ``drop``
    leaves the text without any span, hence out of the loss.

    Args:
        texts: (n,) each, without special tokens.
        words: the vocabulary's words and the stop list.
        counts: granularity -> T, its number of spans. Missing or 0 means no span.
        bounds: granularity -> (l_min, l_max) in units, except for words.
        beta: (alpha, beta) of Eq. 1.
        rounding: ``floor`` or ``round``.
        start: ``inclusive`` or ``printed``.
        short_text: ``clip`` or ``drop``.
        unit: reading ``span-unit``: whether n and l of Eqs. 1 and 2 count ``pieces`` or ``words``.
        stop_words: reading ``stop-words-left-out``: whether stop words are left out ``before`` T words are
            drawn, or ``after``, so that fewer than T words may remain.
        generators: one for each text.

    Returns spans, (N, S, 2) with S the sum of the counts, and their mask, (N, S). Missing ones are (0, 0).
    """
    edges = [_edges(text, words, unit) for text in texts]
    n = np.array([len(of_text) - 1 for of_text in edges])
    room = n - (0 if start == "inclusive" else 1)
    draw_runs = partial(_draw_runs, beta=beta, rounding=rounding, start=start)
    spans, kept = [], np.ones(len(texts), dtype=bool)
    for granularity in (name for name in GRANULARITIES if counts.get(name, 0)):
        drawn = np.zeros((len(texts), counts[granularity], 2), dtype=np.int64)
        if granularity == "word":
            has_any = _draw_words(drawn, texts, words, kept, generators, stop_words=stop_words)
        else:
            shortest, longest = _fitting(bounds[granularity], room, short_text=short_text)
            draw_runs(drawn, n, (shortest, longest), kept & (longest > 0), generators)
            if unit == "words":
                drawn = np.stack([of_text[units] for of_text, units in zip(edges, drawn, strict=True)])
            has_any = drawn[:, 0, 1] > 0
        if short_text == "drop":
            kept = kept & has_any
        spans.append(drawn)
    sampled = np.concatenate(spans, axis=1)  # (N, S, 2)
    sampled[~kept] = 0
    return sampled, sampled[:, :, 1] > 0


def _edges(text: np.ndarray, words: Words, unit: str) -> np.ndarray:
    """Return the starts of a text's units, and its end: (n,) to (units + 1,). Marks and cut words count
    too."""
    if unit == "pieces":
        return np.arange(len(text) + 1)
    begins = ~words.continues[text]
    begins[:1] = True
    return np.append(np.flatnonzero(begins), len(text))


def _fitting(bounds: tuple[int, int], room: np.ndarray, *, short_text: str) -> tuple[np.ndarray, np.ndarray]:
    """Return (l_min, l_max) in each of N texts with ``room`` (N,) for a span: (N,) each, 0 if dropped."""
    shortest, longest = (np.full(len(room), bound) for bound in bounds)
    short = longest > room
    shortest[short] = 0 if short_text == "drop" else np.minimum(shortest, room)[short]
    longest[short] = 0 if short_text == "drop" else room[short]
    return shortest, longest


def _draw_words(drawn, texts, words: Words, kept: np.ndarray, generators, *, stop_words: str) -> np.ndarray:
    """Write T random words of each kept text that has words into ``drawn``, (N, T, 2). Drawn stop words stay
    (0, 0). Returns a mask of the texts with words, (N,)."""
    ends = np.cumsum([len(text) for text in texts])
    together, lengths = np.concatenate(texts), np.diff(ends, prepend=0)
    found = (words if stop_words == "before" else words.with_stop_words).spans(together, lengths)  # (O, 2)
    left_out = np.zeros(len(found), dtype=bool)
    if stop_words == "after":
        left_out = ~np.isin(found[:, 0], words.spans(together, lengths)[:, 0])
    begins = np.append(0, ends)
    places = np.searchsorted(found[:, 0], begins).tolist()
    for text in np.flatnonzero(kept).tolist():
        first, candidates = places[text], places[text + 1] - places[text]
        if candidates:
            chosen = first + generators[text].integers(0, candidates, drawn.shape[1])
            drawn[text] = np.where(left_out[chosen, None], 0, found[chosen] - begins[text])
    return np.diff(places) > 0


def _draw_runs(drawn, n: np.ndarray, bounds, kept: np.ndarray, generators, *, start: str, **how) -> None:
    shortest, longest, n = (of[kept, None] for of in (*bounds, n))  # (K, 1)
    own = [generator for generator, is_kept in zip(generators, kept.tolist(), strict=True) if is_kept]
    if own:
        lengths = span_lengths(drawn.shape[1], shortest, longest, generators=own, **how)  # (K, T)
        first = span_starts(lengths, n, start=start, generators=own)
        drawn[kept] = np.stack((first, first + lengths), axis=2)
