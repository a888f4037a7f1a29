"""COSTA's pre-training against its equations written a second time, on made-up hidden states."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.declaration import Mutation
from papers.costa.contrastive_spans import SPANS
from repro.nn.projector import Projector
from repro.nn.token_cross_entropy import IGNORED
from tests.papers.costa import written_again as again
from tests.papers.costa.test_contrastive_spans import OPTIONS, objective, rows
from tests.papers.written_twice import Given, Leaves, named, notices, random, redraw, uncollected
from tests.tiny_models import tiny_tokenizer

__all__ = ["uncollected"]
WIDTH, TEXTS = 4, 3
READINGS = {
    "defaults": {},
    "loss-reduction": {"reduction": "sum"},
    "span-similarity": {"similarity": "cosine"},
    "temperature": {"temperature": 1.0},
    "weight": {"weight": 0.7},
    "projector-layers": {"projector_layers": 2},
    "contrastive-input": {"contrastive_input": "clean"},
    "contrastive-loss-scale": {"base": 0.07},
}
DRAWS = {
    "defaults": {},
    "span-start": {"start": "printed"},
    "span-length-rounding": {"rounding": "round"},
    "span-special-tokens": {"spans_reach_sep": True},
    "short-text": {"words": 12},
    "short-text and span-start": {"words": 12, "start": "printed"},
    "short-text, dropped": {"words": 12, "short_text": "drop"},
    "short-text, long enough to be kept": {"words": 40, "short_text": "drop"},
}
CONTRAST = "papers.costa.group_contrastive:group_contrastive"
OBJECTIVE = "papers.costa.contrastive_spans:ContrastiveSpans"
LOSSES_CHANGED = [  # all noticed under the default readings
    Mutation(CONTRAST, "log_denominator - positives", "log_denominator + positives"),
    Mutation(CONTRAST, "log_denominator - positives", "positives - log_denominator"),
    Mutation(CONTRAST, "own | ~anchors", "~anchors"),
    Mutation(CONTRAST, "span_mask.sum(dim=1).clamp(min=1)", "2 * count"),
    Mutation(CONTRAST, "z_text, similarity=similarity) / temperature", "z_text, similarity=similarity)"),
    Mutation(CONTRAST, "similarity=similarity) / temperature  # (N, N*S)", "similarity=similarity)"),
    Mutation(CONTRAST, "spans).diagonal", "spans).roll(1, 0).diagonal"),
    Mutation(OBJECTIVE + ".losses", "self.weight * group", "-self.weight * group"),
    Mutation(OBJECTIVE + ".represent", "hidden[:, 0])", "hidden[:, 1])"),
    Mutation("repro.nn.encoder:span_means", ">= first", "> first"),
    Mutation("repro.nn.encoder:span_means", "< end", "<= end"),
    Mutation("repro.nn.encoder:span_means", "(end - first)", "(end + first)"),
    Mutation("repro.nn.projector:Projector.forward", "torch.tanh(projected)", "-torch.tanh(projected)"),
    Mutation("repro.nn.token_cross_entropy:mlm_loss", 'rows["mlm"].sum()', '-rows["mlm"].sum()'),
]
LENGTHS, STARTS = "papers.costa.spans:span_lengths", "papers.costa.spans:span_starts"
DRAWS_CHANGED = [
    Mutation(LENGTHS, "longest - shortest", "longest + shortest"),
    Mutation(LENGTHS, "+ shortest", "- shortest"),
    Mutation(LENGTHS, "generator.beta(*beta", "generator.beta(*beta[::-1]"),
    Mutation(STARTS, "n - lengths +", "n - lengths -"),
    Mutation(STARTS, 'start == "inclusive"', 'start != "inclusive"'),
    Mutation("papers.costa.spans:_runs", "first + lengths", "first + lengths - 1"),
    Mutation("papers.costa.spans:sampled_spans", 'start == "inclusive"', 'start != "inclusive"'),
    Mutation("papers.costa.spans:sampled_spans", "longest > room", "longest < room"),
    Mutation(OBJECTIVE + ".collate", "drawn + there", "drawn - there"),
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


def check_losses(*, base=None, **changes):
    """Eqs. 4 to 9 and the total: hidden states, and the logits of masked words, are made up."""
    options, weight = OPTIONS | changes, (OPTIONS | changes)["weight"]
    if base is not None:
        changes["weight"] = weight * options["temperature"] / base  # as the recipe has it
    costa = objective(spans=dict.fromkeys(OPTIONS["spans"], 1), **changes).double()
    batch = costa.collate(rows(count=TEXTS, words=9))
    wanted = batch["labels"] != IGNORED
    states = {
        name: random(*wanted.shape, WIDTH, seed=seed)
        for seed, name in enumerate(("masked", "clean"), start=20)
    }
    costa.projector = Projector(
        WIDTH, architecture="nonlinear", layers=options["projector_layers"], initializer_range=1.0
    )
    logits = random(int(wanted.sum()), len(tiny_tokenizer()), seed=22)
    leaves = Leaves(**states, logits=logits, **redraw(costa.projector, seed=1))
    costa.hidden = lambda ids, attention: states["clean" if ids is batch["clean_ids"] else "masked"]
    costa.encoder.cls = Given(logits)
    marked = batch["spans"].tolist(), batch["labels"][wanted].tolist()
    leaves.held(
        sum(costa(batch).values()),
        lambda n: written_loss(n, *marked, options=options, weight=weight, base=base),
        case=f"{__name__} {base} {changes}",
    )


def written_loss(n, spans, labels, *, options, weight, base):
    """The total loss from numbers by name: hidden states, the projector's weights, logits of masked words."""
    layers = [(n[f"{name}.weight"], n[f"{name}.bias"]) for name in ("inner", "dense") if f"{name}.bias" in n]
    hidden = n[options["contrastive_input"]]
    texts = [again.projector(layers, one[0]) for one in hidden]
    groups = [[again.average(one, *span) for span in group] for one, group in zip(hidden, spans, strict=True)]
    how = {"temperature": options["temperature"], "reduction": options["reduction"], "base": base}
    contrast = again.group_contrastive(texts, groups, kind=options["similarity"], **how)
    mlm = again.masked_words(n["logits"], labels, reduction=options["reduction"])
    return again.total(contrast, mlm, weight=weight)


def check_draws(*, words=40, **changes):
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
        words_there = again.word_spans(tokens, OPTIONS["stop_words"])
        assert found == written_spans(len(tokens), words_there, generator, OPTIONS | changes)


def written_spans(words, words_there, generator, options):
    """The 4T spans that a text's draws stand for; the ends of the ranges drawn from are held too."""
    words += options["spans_reach_sep"]
    longest = max(longest for _, longest in options["span_tokens"].values())
    if options["short_text"] == "drop" and not again.starts(words, longest, reading=options["start"]):
        return [[0, 0]] * sum(options["spans"].values())
    betas, places, spans = iter(generator.betas), iter(generator.places), []
    for level, count in options["spans"].items():
        if level == "word":
            drawn = [next(places) for _ in range(count)]
            assert all(end == len(words_there) for end, _ in drawn)
            spans += [list(words_there[place]) for _, place in drawn]
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
            inside = again.span(starts[place], length)
            spans.append([inside[0], inside[-1] + 1])
    assert not [*betas, *places]
    return spans


@pytest.mark.parametrize("case", READINGS.values(), ids=READINGS)
def test_both_writings_give_one_loss_and_one_gradient(case):
    check_losses(**case)


@pytest.mark.parametrize("case", DRAWS.values(), ids=DRAWS)
def test_both_writings_give_the_same_spans_of_the_same_draws(case):
    check_draws(**case)


@pytest.mark.parametrize("changed", LOSSES_CHANGED, ids=named)
def test_a_changed_loss_is_noticed(changed):
    assert notices(changed, check_losses, READINGS["defaults"])


@pytest.mark.parametrize("changed", DRAWS_CHANGED, ids=named)
def test_a_changed_draw_is_noticed(changed):
    assert any(notices(changed, check_draws, case) for case in DRAWS.values())
