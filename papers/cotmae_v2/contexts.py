"""The encoded span and the texts that the decoders reconstruct (§3.2, after CoT-MAE §3.1)."""

from collections.abc import Mapping, Sequence

import numpy as np

from repro.errors import DataError, UsageError, check_known

KINDS = ("random", "nearby", "overlap")
TRUNCATIONS = ("random", "head")
WINDOW = 100  # spans to either side, the first version's default
STREAM = 20  # of random numbers; an objective that masks these texts draws from others


class Contexts:
    """Draws one span of a document, the anchor, and contexts of it, which are other texts from the same
    document.

    The kinds of contexts are those of CoT-MAE's first version. ``random`` is another span, at most 100 spans
    away, and ``nearby`` the one before or after. ``overlap`` is the anchor's last k sentences and those that
    follow or, if the anchor is the last span, its first k sentences and those before them. k is 1 for an
    anchor of fewer than 4 sentences, and uniform in 1..floor(n/2) otherwise.

    Draws depend on (seed, epoch, index). The anchor is any span of the document, or the one that the example
    names (reading ``pretraining-examples``).

    Args:
        kinds: the kinds of contexts, drawn with equal probability (reading ``context-selection``).
        room: the maximum number of tokens of a returned text, without [CLS] and [SEP].
        truncation: the kept part of a longer text: ``random``, a window anywhere in it, or ``head``
            (reading ``span-truncation``).
        seed: the seed of all random choices.

    Raises UsageError for no or an unknown kind, an unknown truncation or no room.
    """

    def __init__(self, *, kinds: Sequence[str], room: int, truncation: str, seed: int):
        check_known("kind of context", *kinds, valid=KINDS)
        if not kinds:
            raise UsageError(f"there is no kind of context. Give some of {', '.join(KINDS)}.")
        check_known("truncation", truncation, valid=TRUNCATIONS)
        if room < 1:
            raise UsageError(f"a text of {room} tokens is empty. Give a longer length.")
        self.kinds, self.room, self.truncation, self.seed = tuple(kinds), room, truncation, seed

    def draw(
        self, example: Mapping, count: int, *, whole: bool = False
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return an anchor and contexts of it. The kind of each context is drawn anew.

        Args:
            example: ``input_ids`` (n,), ``sentences`` (S,) tokens of each and ``spans`` (P,) sentences of
                each, ``epoch`` and ``index``, and ``anchor``, a span's number, if examples are spans.
            count: C, the number of contexts.
            whole: whether to return texts uncut.

        Returns the anchor, (a,), and C contexts, (c,), of at most ``room`` tokens unless ``whole``. The
        anchor does not depend on C. Raises DataError for an example without spans or with only one.
        """
        if "spans" not in example:
            raise DataError("the tokens have no spans. Tokenise the corpus with policy 'spans'.")
        sentences, spans = _begins(example["sentences"]), _begins(example["spans"])
        if len(spans) < 3:
            raise DataError(
                f"text {example['index']} has one span and thus no context. "
                "Tokenise the corpus with at least 2 as minimum_spans."
            )
        generator = np.random.default_rng((self.seed, STREAM, example["epoch"], example["index"]))
        anchor = int(example["anchor"] if "anchor" in example else generator.integers(len(spans) - 1))
        document, texts = np.asarray(example["input_ids"]), []
        for place in range(1 + count):
            kind = self.kinds[generator.integers(len(self.kinds))] if place else "anchor"
            first, end = self._bounds(kind, anchor, sentences, spans, generator)
            text = document[first:end]
            texts.append(text if whole else self.window(text, generator))
        return texts[0], texts[1:]

    def window(self, text: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return at most ``room`` tokens of a text, by reading ``span-truncation``."""
        over = len(text) - self.room
        first = int(generator.integers(over + 1)) if over > 0 and self.truncation == "random" else 0
        return text[first : first + self.room]

    def _bounds(self, kind: str, anchor: int, sentences, spans, generator) -> tuple[int, int]:
        if kind == "overlap":
            return overlapping(anchor, sentences, spans, aim=self.room + 2, generator=generator)
        span = anchor
        if kind != "anchor":
            reach = WINDOW if kind == "random" else 1
            span = other_span(anchor, len(spans) - 1, reach=reach, generator=generator)
        return tuple(sentences[spans[span : span + 2]].tolist())


def other_span(anchor: int, count: int, *, reach: int, generator: np.random.Generator) -> int:
    """Return the number of a random span (of ``count`` >= 2) within ``reach`` of the anchor, except the
    anchor."""
    first, last = max(0, anchor - reach), min(count - 1, anchor + reach)
    drawn = int(generator.integers(first, last))
    return drawn + (drawn >= anchor)


def overlapping(
    anchor: int, sentences: np.ndarray, spans: np.ndarray, *, aim: int, generator: np.random.Generator
) -> tuple[int, int]:
    """Return the first token, and one past the last, of a text that shares whole sentences with the anchor.
    It continues beyond the anchor by whole sentences until it has ``aim`` tokens, or to the end of the
    document.

    Args:
        anchor: the span's number in 0..P-1.
        sentences: (S + 1,), the start of each sentence, and the end of the text.
        spans: (P + 1,), the first sentence of each span, and the number of sentences.
        aim: tokens of a text with [CLS] and [SEP], as in the first version's preparation.
    """
    first, end = spans[anchor], spans[anchor + 1]
    half = int(end - first) // 2
    shared = int(generator.integers(1, half, endpoint=True)) if half > 1 else 1
    if anchor < len(spans) - 2:
        begin = int(sentences[end - shared])
        last = min(max(int(np.searchsorted(sentences, begin + aim)), end), len(sentences) - 1)
        return begin, int(sentences[last])
    finish = int(sentences[first + shared])
    begin = min(max(int(np.searchsorted(sentences, finish - aim, side="right")) - 1, 0), first)
    return int(sentences[begin]), finish


def _begins(lengths) -> np.ndarray:
    begins = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=begins[1:])
    return begins
