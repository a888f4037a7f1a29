"""COSTA's pre-training against its equations written a second time, on made-up hidden states."""

from __future__ import annotations

import pytest

from oracles.declaration import Mutation
from repro.retrieval.nn.encoder import Projector
from repro.retrieval.nn.masked_tokens import IGNORED
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
    "short-text": {"short_text": "drop", "texts": (40, 9, 40)},
    "a text without a word that is no stop word": {"texts": (9, 0, 9)},
}
CONTRAST = "papers.costa.group_contrastive:group_contrastive"
OBJECTIVE = "papers.costa.contrastive_spans:ContrastiveSpans"
CHANGED = [  # a case that notices, and a change
    ("defaults", Mutation(CONTRAST, "log_denominator - positives", "log_denominator + positives")),
    ("defaults", Mutation(CONTRAST, "log_denominator - positives", "positives - log_denominator")),
    ("defaults", Mutation(CONTRAST, "own | ~anchors", "~anchors")),
    ("defaults", Mutation(CONTRAST, "span_mask.sum(dim=1).clamp(min=1)", "2 * count")),
    (
        "defaults",
        Mutation(CONTRAST, "z_text, similarity=similarity) / temperature", "z_text, similarity=similarity)"),
    ),
    (
        "defaults",
        Mutation(CONTRAST, "similarity=similarity) / temperature  # (N, N*S)", "similarity=similarity)"),
    ),
    ("defaults", Mutation(CONTRAST, "spans).diagonal", "spans).roll(1, 0).diagonal")),
    ("defaults", Mutation(OBJECTIVE + ".losses", "self.weight * group", "-self.weight * group")),
    ("defaults", Mutation(OBJECTIVE + ".represent", "hidden[:, 0])", "hidden[:, 1])")),
    ("defaults", Mutation("repro.retrieval.nn.encoder:span_means", ">= first", "> first")),
    ("defaults", Mutation("repro.retrieval.nn.encoder:span_means", "< end", "<= end")),
    ("defaults", Mutation("repro.retrieval.nn.encoder:span_means", "(end - first)", "(end + first)")),
    (
        "defaults",
        Mutation("repro.retrieval.nn.encoder:Projector.forward", "torch.tanh(output)", "-torch.tanh(output)"),
    ),
    (
        "defaults",
        Mutation("repro.retrieval.nn.masked_tokens:mlm_loss", 'rows["mlm"].sum()', '-rows["mlm"].sum()'),
    ),
    ("short-text", Mutation(CONTRAST, "~span_mask.flatten(), -torch.inf", "~span_mask.flatten(), torch.inf")),
    ("short-text", Mutation(CONTRAST, "own | ~anchors", "own")),
    ("short-text", Mutation(CONTRAST, "total / anchors.sum()", "total / count")),
]


def examples(counts):
    """Texts of so many words; one of 0 has stop words alone."""
    made = [rows(count=TEXTS, words=count or 9)[at] for at, count in enumerate(counts)]
    stops = tiny_tokenizer()("the of and a in to is was it", add_special_tokens=False)["input_ids"]
    return [one if count else one | {"input_ids": stops} for one, count in zip(made, counts, strict=True)]


def check_losses(*, base=None, texts=(9,) * TEXTS, **changes):
    """Eqs. 4 to 9 and the total: hidden states, and the logits of masked words, are made up."""
    options, weight = OPTIONS | changes, (OPTIONS | changes)["weight"]
    if base is not None:
        changes["weight"] = weight * options["temperature"] / base  # as the recipe has it
    costa = objective(spans=dict.fromkeys(OPTIONS["spans"], 1), **changes).double()
    batch = costa.collate(examples(texts))
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
        case=f"{__name__} {base} {texts} {changes}",
    )


def written_loss(n, spans, labels, *, options, weight, base):
    """The total loss from numbers by name: hidden states, the projector's weights, logits of masked words."""
    layers = [(n[f"{name}.weight"], n[f"{name}.bias"]) for name in ("inner", "dense") if f"{name}.bias" in n]
    hidden = n[options["contrastive_input"]]
    texts = [again.projector(layers, one[0]) for one in hidden]
    groups = [
        [again.average(one, start, end) for start, end in group if end > start]
        for one, group in zip(hidden, spans, strict=True)
    ]
    how = {"temperature": options["temperature"], "reduction": options["reduction"], "base": base}
    contrast = again.group_contrastive(texts, groups, kind=options["similarity"], **how)
    mlm = again.masked_words(n["logits"], labels, reduction=options["reduction"])
    return again.total(contrast, mlm, weight=weight)


@pytest.mark.parametrize("case", READINGS.values(), ids=READINGS)
def test_both_writings_give_one_loss_and_one_gradient(case):
    check_losses(**case)


@pytest.mark.parametrize(("case", "changed"), CHANGED, ids=named)
def test_a_changed_equation_is_noticed(case, changed):
    assert notices(changed, check_losses, READINGS[case])
