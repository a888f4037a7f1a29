"""Packs sentences into spans of about a given length, as in Condenser's and its successors' preparation."""

from collections.abc import Sequence

import numpy as np

SHORTEST_TARGET = 2  # tokens


def packed(
    lengths: Sequence[int],
    *,
    target: int,
    overshoot: bool,
    short_probability: float,
    generator: np.random.Generator,
) -> list[int]:
    """Pack consecutive sentences of one document into spans; none is lost, split or moved.

    Each span has a target of its own: ``target``, or with ``short_probability`` any of 2..``target``. With
    ``overshoot`` a span is closed by the sentence that takes it beyond its target, and keeps that sentence;
    without, that sentence opens the next span, so that only a span of one sentence can be longer than its
    target. The last span is what is left.

    Args:
        lengths: (S,), tokens of each sentence, all at least 1.
        target: in tokens, at least 2.
        overshoot: whether the sentence that exceeds the target still belongs to the span.
        short_probability: in 0..1.

    Returns:
        the number of sentences in each span; their sum is S.
    """

    def draw_target() -> int:
        is_short = short_probability > 0 and generator.random() < short_probability
        return int(generator.integers(SHORTEST_TARGET, target, endpoint=True)) if is_short else target

    spans: list[int] = []
    span_target, sentences, tokens = draw_target(), 0, 0
    for length in lengths:
        if not overshoot and sentences and tokens + length > span_target:
            spans.append(sentences)
            span_target, sentences, tokens = draw_target(), 0, 0
        sentences, tokens = sentences + 1, tokens + length
        if overshoot and tokens > span_target:
            spans.append(sentences)
            span_target, sentences, tokens = draw_target(), 0, 0
    return [*spans, sentences] if sentences else spans
