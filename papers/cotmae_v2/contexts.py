"""The span that is encoded and the texts that the decoders reconstruct (§3.2, after CoT-MAE §3.1)."""

from collections.abc import Mapping, Sequence

import numpy as np

from repro.errors import DataError, UsageError, check_known

KINDS = ("random", "nearby", "overlap")
TRUNCATIONS = ("random", "head")
WINDOW = 100  # spans to either side, the first version's default
STREAM = 20  # of random numbers; an objective that masks these texts draws from others


class Contexts:
    """One span of a document, the anchor, and contexts of it: other text of the same document.

    The kinds are the first version's: ``random``, another span, at most 100 spans away; ``nearby``, the one
    before or after; ``overlap``, the anchor's last k sentences and the text that follows, or, where the
    anchor is the document's last span, its first k sentences and the text before them. k is 1 for an anchor
    of fewer than 4 sentences, else uniform in 1..floor(n/2).

    Everything drawn depends on (seed, epoch, index), so a document gives one anchor an epoch.

    Args:
        kinds: those that a context is drawn from, with equal odds (reading ``context-selection``).
        room: tokens of any text that is given, without [CLS] and [SEP].
        truncation: what is kept of a longer span: ``random``, a window anywhere in it, or ``head`` (reading
            ``span-truncation``). An overlapping context takes no more further text than there is room for.
        seed: of all choices.

    Raises UsageError for no or an unknown kind, an unknown truncation or no room.
    """

    def __init__(self, *, kinds: Sequence[str], room: int, truncation: str, seed: int):
        check_known("kind of context", *kinds, valid=KINDS)
        if not kinds:
            raise UsageError(f"there is no kind of context; give some of {', '.join(KINDS)}")
        check_known("truncation", truncation, valid=TRUNCATIONS)
        if room < 1:
            raise UsageError(f"a room of {room} tokens holds no text")
        self.kinds, self.room, self.truncation, self.seed = tuple(kinds), room, truncation, seed

    def draw(self, example: Mapping, count: int) -> tuple[np.ndarray, list[np.ndarray]]:
        """An anchor, and contexts of it, each of a kind of its own.

        Args:
            example: ``input_ids`` (n,), ``sentences`` (S,) tokens of each and ``spans`` (P,) sentences of
                each, ``epoch`` and ``index``.
            count: C, contexts.

        Returns:
            the anchor, (a,), and C contexts, (c,), all of at most ``room`` tokens. The anchor does not
            depend on C.

        Raises DataError for a document without spans, or of one span.
        """
        if "spans" not in example:
            raise DataError("the tokens have no spans; tokenise the corpus with policy 'spans'")
        sentences, spans = _bounds(example["sentences"]), _bounds(example["spans"])
        if len(spans) < 3:
            raise DataError(
                f"text {example['index']} has one span, hence no other text as its context; "
                "tokenise the corpus with at least 2 as minimum_spans"
            )
        generator = np.random.default_rng((self.seed, STREAM, example["epoch"], example["index"]))
        anchor = int(generator.integers(len(spans) - 1))
        tokens = [self._truncated(*sentences[spans[anchor : anchor + 2]], generator)]
        for _ in range(count):
            kind = self.kinds[generator.integers(len(self.kinds))]
            first, end = self._context(kind, anchor, sentences, spans, generator)
            tokens.append(self._truncated(first, end, generator))
        texts = [np.asarray(example["input_ids"])[first:end] for first, end in tokens]
        return texts[0], texts[1:]

    def _context(self, kind: str, anchor: int, sentences, spans, generator) -> tuple[int, int]:
        """First token of a context, and one past its last."""
        if kind == "overlap":
            return overlapping(anchor, sentences, spans, room=self.room, generator=generator)
        reach = WINDOW if kind == "random" else 1
        other = other_span(anchor, len(spans) - 1, reach=reach, generator=generator)
        return tuple(sentences[spans[other : other + 2]].tolist())

    def _truncated(self, first: int, end: int, generator) -> tuple[int, int]:
        over = int(end) - int(first) - self.room
        if over > 0:
            first += int(generator.integers(over + 1)) if self.truncation == "random" else 0
            end = first + self.room
        return int(first), int(end)


def other_span(anchor: int, count: int, *, reach: int, generator: np.random.Generator) -> int:
    """Any of ``count`` >= 2 spans that lies within ``reach`` of the anchor and is not the anchor."""
    first, last = max(0, anchor - reach), min(count - 1, anchor + reach)
    drawn = int(generator.integers(first, last))
    return drawn + (drawn >= anchor)


def overlapping(
    anchor: int, sentences: np.ndarray, spans: np.ndarray, *, room: int, generator: np.random.Generator
) -> tuple[int, int]:
    """First token of a text that shares whole sentences with the anchor and goes on beyond it, and one past
    its last token.

    Longer than ``room`` only where the shared sentences are.

    Args:
        anchor: the span's number in 0..P-1.
        sentences: (S + 1,), where in the text each sentence begins, and its end.
        spans: (P + 1,), with which sentence each span begins, and their number.
    """
    first, end = spans[anchor], spans[anchor + 1]
    half = int(end - first) // 2
    shared = int(generator.integers(1, half, endpoint=True)) if half > 1 else 1
    if anchor < len(spans) - 2:
        begin = int(sentences[end - shared])
        return begin, max(int(sentences[end]), min(begin + room, int(sentences[-1])))
    finish = int(sentences[first + shared])
    return min(int(sentences[first]), max(finish - room, 0)), finish


def _bounds(lengths) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(lengths)))
