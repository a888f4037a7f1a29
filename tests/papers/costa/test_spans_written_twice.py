"""COSTA's spans against Eqs. 1 to 3 and Algorithm 1 written a second time, from the same draws."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.declaration import Mutation
from papers.costa.contrastive_spans import SPANS
from tests.papers.costa import written_again as again
from tests.papers.costa.test_contrastive_spans import OPTIONS, objective, rows
from tests.papers.written_twice import named, notices
from tests.tiny_models import tiny_tokenizer

DRAWS = {
    "defaults": {},
    "span-start": {"start": "printed"},
    "span-length-rounding": {"rounding": "round"},
    "span-special-tokens": {"spans_reach_sep": True},
    "span-unit": {"span_unit": "words"},
    "span-unit of short texts": {"span_unit": "words", "words": 12, "spans_reach_sep": True},
    "stop-words-left-out": {"stop_words_left_out": "after"},
    "stop-words-left-out, dropped": {"stop_words_left_out": "after", "words": 40, "short_text": "drop"},
    "short-text": {"words": 12},
    "short-text and span-start": {"words": 12, "start": "printed"},
    "short-text, dropped": {"words": 12, "short_text": "drop"},
    "short-text, long enough to be kept": {"words": 40, "short_text": "drop"},
}
DEFAULTS = {"span_unit": "pieces", "stop_words_left_out": "before"}  # of options that may be left out
LENGTHS, STARTS = "papers.costa.spans:span_lengths", "papers.costa.spans:span_starts"
CHANGED = [
    Mutation(LENGTHS, "longest - shortest", "longest + shortest"),
    Mutation(LENGTHS, "+ shortest", "- shortest"),
    Mutation(LENGTHS, "generator.beta(*beta", "generator.beta(*beta[::-1]"),
    Mutation(STARTS, "n - lengths +", "n - lengths -"),
    Mutation(STARTS, 'start == "inclusive"', 'start != "inclusive"'),
    Mutation("papers.costa.spans:_draw_runs", "first + lengths", "first + lengths - 1"),
    Mutation("papers.costa.spans:sampled_spans", 'start == "inclusive"', 'start != "inclusive"'),
    Mutation("papers.costa.spans:_fitting", "longest > room", "longest < room"),
    Mutation("papers.costa.contrastive_spans:ContrastiveSpans.collate", "drawn + there", "drawn - there"),
]


class Recorded:
    """A generator that keeps what was drawn: beta's parameters and draws, ends of ranges and draws."""

    def __init__(self, generator: np.random.Generator):
        self.generator, self.betas, self.places = generator, [], []

    def beta(self, *parameters, size):
        drawn = self.generator.beta(*parameters, size=size)
        self.betas += [(parameters, fraction) for fraction in drawn.tolist()]
        return drawn

    def integers(self, low, high, *size):
        drawn = self.generator.integers(low, high, *size)
        self.places += list(zip(np.broadcast_to(high, drawn.shape).tolist(), drawn.tolist(), strict=True))
        return drawn


def check(*, words=40, **changes):
    """Eqs. 1 to 3 and Algorithm 1: from the same draws, the same spans in the same places."""
    costa, pieces = objective(**changes), tiny_tokenizer().convert_ids_to_tokens
    made = []
    costa.generators = lambda examples, stream, **how: (
        [made.append(Recorded(g)) or made[-1] for g in generators(examples, stream, **how)]
        if stream == SPANS
        else generators(examples, stream, **how)
    )
    generators = type(costa).generators.__get__(costa)
    examples = rows(count=4, words=words)
    batch = costa.collate(examples)
    for example, generator, found in zip(examples, made, batch["spans"].tolist(), strict=True):
        tokens = pieces(example["input_ids"][: OPTIONS["length"] - 2].tolist())
        assert found == written_spans(tokens, generator, OPTIONS | DEFAULTS | changes)


def written_spans(tokens, generator, options):
    """The 4T spans that a text's draws stand for; the ends of the ranges drawn from are held too."""
    after = options["stop_words_left_out"] == "after"
    words_there = again.word_spans(tokens, [] if after else options["stop_words"])
    left = again.word_spans(tokens, options["stop_words"])
    tokens = tokens + ["[SEP]"] * options["spans_reach_sep"]
    sizes = again.words_of_pieces(tokens) if options["span_unit"] == "words" else [1] * len(tokens)
    words = len(sizes)
    longest = max(longest for _, longest in options["span_tokens"].values())
    if options["short_text"] == "drop" and not again.starts(words, longest, reading=options["start"]):
        return [[0, 0]] * sum(options["spans"].values())
    betas, places, spans = iter(generator.betas), iter(generator.places), []
    for level, count in options["spans"].items():
        if level == "word":
            drawn = [next(places) for _ in range(count)]
            assert all(end == len(words_there) for end, _ in drawn)
            chosen = [words_there[place] for _, place in drawn]
            spans += [list(word) if word in left else [0, 0] for word in chosen]
            continue
        shortest, longest = options["span_tokens"][level]
        how = again.bounds(words, shortest=shortest, longest=longest, start=options["start"])
        for _ in range(count):
            parameters, fraction = next(betas)
            assert parameters == (4, 2)
            length = again.span_length(
                fraction, shortest=how[0], longest=how[1], rounding=options["rounding"]
            )
            end, place = next(places)
            starts = again.starts(words, length, reading=options["start"])
            assert end == len(starts)
            inside = again.in_pieces(again.span(starts[place], length), sizes)
            spans.append([inside[0], inside[-1] + 1])
    assert not [*betas, *places]
    return spans


@pytest.mark.parametrize("case", DRAWS.values(), ids=DRAWS)
def test_both_writings_give_the_same_spans_of_the_same_draws(case):
    check(**case)


@pytest.mark.parametrize("changed", CHANGED, ids=named)
def test_a_changed_draw_is_noticed(changed):
    assert any(notices(changed, check, case) for case in DRAWS.values())
