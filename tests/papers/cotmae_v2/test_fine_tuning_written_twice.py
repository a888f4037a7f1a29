"""CoT-MAE v2's fine-tuning against its equations written a second time, on made-up vectors."""

from __future__ import annotations

import pytest

from oracles.declaration import Mutation
from papers.cotmae_v2.printed_denominator import PrintedDenominator
from repro.retrieval.nn.multi_view_bi_encoder import MultiViewBiEncoder
from tests.papers.cotmae_v2 import fine_tuning_written_again as again
from tests.papers.scalars import value
from tests.papers.written_twice import Leaves, named, notices, random
from tests.retrieval.nn.test_multi_view_bi_encoder import OPTIONS, TEACHER, objective, start

__all__ = ["start"]
QUERIES, PASSAGES, DENSE, SPARSE = 4, 2, 3, 8
DEFAULTS = {"top_k": 2, "flops_weight": {"queries": 2**-5, "passages": 2**-4, "ramp_steps": 0}}
READINGS = {
    "defaults": {},
    "hybrid-similarity": {"hybrid_similarity": ["sparse", "sparse"]},
    "contrastive-denominator": {"contrastive_denominator": "printed"},
    "similarity": {"similarity": "cosine"},
    "view-objective, one for each": {"view_objective": "separate"},
    "view-objective, both": {"view_objective": "both"},
    "in-batch-negatives": {"in_batch_negatives": "own"},
    "in-batch-negatives and contrastive-denominator": {
        "in_batch_negatives": "own",
        "contrastive_denominator": "printed",
    },
    "sparse-truncation": {"sparse_truncation": {"after": "saturation", "queries": False, "passages": True}},
    "flops-vectors": {"flops_vectors": "after"},
    "flops-weight": {"flops_weight": DEFAULTS["flops_weight"] | {"ramp_steps": 2}},
    "flops-scope": {"flops_weight": DEFAULTS["flops_weight"] | {"shares": 2}},
    "temperature": {"temperature": 3.0},
    "distillation": {"distillation": TEACHER},
    "distillation-direction": {"distillation": TEACHER | {"direction": "student-teacher"}},
    "distillation-weight": {"distillation": TEACHER | {"contrastive_weight": 0.2}},
    "distillation-training": {"distillation": TEACHER | {"teacher_temperature": 2.0}},
    "distillation-views": {"distillation": TEACHER, "view_objective": "separate"},
}
OBJECTIVE, SPARSE_VIEW = (
    "repro.retrieval.nn.multi_view_bi_encoder:MultiViewBiEncoder",
    "repro.retrieval.nn.view_encoder:",
)
CHANGED = [  # a case that notices, and a change
    (
        "defaults",
        Mutation("repro.retrieval.nn.contrastive:similarities", "left @ right.T", "-left @ right.T"),
    ),
    ("defaults", Mutation("repro.retrieval.nn.contrastive:view_similarities", "sum(by_view", "-sum(by_view")),
    (
        "hybrid-similarity",
        Mutation("repro.retrieval.nn.contrastive:view_similarities", "in terms)", "in set(terms))"),
    ),
    ("temperature", Mutation(OBJECTIVE + ".losses", "score / self", "score * self")),
    ("defaults", Mutation(OBJECTIVE + ".ranking_losses", "places * rows.shape[1]", "places")),
    (
        "distillation-weight",
        Mutation(OBJECTIVE + ".ranking_losses", "weight * self.con", "-weight * self.con"),
    ),
    ("distillation", Mutation(OBJECTIVE + ".ranking_losses", "= divergence(", "= -divergence(")),
    ("distillation-direction", Mutation(OBJECTIVE + ".ranking_losses", "== ", "!= ")),
    ("distillation", Mutation("repro.retrieval.nn.contrastive:divergence", "log_p - log_q", "log_p + log_q")),
    ("distillation-training", Mutation(OBJECTIVE + ".ranking_losses", '["teacher"] /', '["teacher"] *')),
    ("defaults", Mutation(OBJECTIVE + ".flops_losses", "weight * ramp", "-weight * ramp")),
    ("flops-weight", Mutation(OBJECTIVE + ".flops_losses", ".square()", "")),
    ("flops-vectors", Mutation(OBJECTIVE + ".losses", "if self.flops_after", "if not self.flops_after")),
    ("flops-scope", Mutation(OBJECTIVE + "._penalty", "/ len(shares)", "")),
    ("defaults", Mutation(SPARSE_VIEW + "_MeanMagnitude.backward", "gradient / len", "-gradient / len")),
    ("defaults", Mutation(SPARSE_VIEW + "_MeanMagnitude.forward", "mean(dim=0)", "sum(dim=0)")),
    ("defaults", Mutation(SPARSE_VIEW + "top_k", "values > last", "values < last")),
    (
        "contrastive-denominator",
        Mutation("papers.cotmae_v2.printed_denominator:printed_denominator", "own, -", "own, "),
    ),
    (
        "contrastive-denominator",
        Mutation(
            "papers.cotmae_v2.printed_denominator:printed_denominator", "return scores", "return -scores"
        ),
    ),
]


def check(start, **changes):
    """Eqs. 7, 15 and 16, the top k, and the penalty on sparse vectors, which are zero in places."""
    options = OPTIONS | DEFAULTS | changes
    kind = PrintedDenominator if options["contrastive_denominator"] == "printed" else MultiViewBiEncoder
    made = objective(start, kind, **DEFAULTS | changes)
    count = QUERIES * PASSAGES
    raw = {side: random(n, SPARSE, seed=n) for side, n in (("q", QUERIES), ("p", count))}
    raw["p"][:, :2] = 0.25  # of equal values the first stay
    dense = {side: random(n, DENSE, seed=9 + n) for side, n in (("q", QUERIES), ("p", count))}
    teacher = random(QUERIES, PASSAGES, seed=3)
    leaves = Leaves(dense_q=dense["q"], dense_p=dense["p"], raw_q=raw["q"], raw_p=raw["p"])
    sides = {"queries": "q", "passages": "p"}
    represented = {f"{name}.dense": dense[side] for name, side in sides.items()}
    represented |= {f"{name}.sparse": raw[side].relu() for name, side in sides.items()}
    losses = made.train().losses(represented | {"teacher": teacher})
    leaves.held(
        sum(losses.values()),
        lambda n: written(n, teacher.tolist(), options),
        case=f"{__name__} {changes}",
    )


def positive(vectors):
    """The frequencies of Eq. 5: 0 where a word's maximum is not above it."""
    return [[number if value(number) > 0 else 0.0 for number in vector] for vector in vectors]


def written(n, teacher, options):
    """All losses of a first step."""
    whole = {side: positive(n[f"raw_{side}"]) for side in "qp"}
    cut = {"q": options["sparse_truncation"]["queries"], "p": options["sparse_truncation"]["passages"]}
    kept = {
        side: [again.highest(one, options["top_k"]) if cut[side] else one for one in whole[side]]
        for side in "qp"
    }
    queries, passages = (list(zip(n[f"dense_{side}"], kept[side], strict=True)) for side in "qp")
    groups = [passages[at : at + PASSAGES] for at in range(0, len(passages), PASSAGES)]
    weights = options["flops_weight"]
    ramp = min(1.0, (1 / weights["ramp_steps"]) ** 2) if weights["ramp_steps"] else 1.0
    regularised = kept if options["flops_vectors"] == "after" else whole
    loss = ranking(queries, groups, teacher, options)
    for side, name in (("q", "queries"), ("p", "passages")):
        vectors, shares = regularised[side], weights.get("shares", 1)
        size = len(vectors) // shares
        for at in range(shares):
            penalty = again.flops(vectors[at * size : (at + 1) * size]) / shares
            loss = loss + weights[name] * ramp * penalty
    return loss


def ranking(queries, groups, teacher, options):
    """Eq. 15, or Eq. 16 with Eq. 15 beside it by its weight."""
    terms, kind, distilled = options["hybrid_similarity"], options["similarity"], options["distillation"]
    loss, weight = 0.0, 1.0
    if distilled is not None:
        weight, over = distilled["contrastive_weight"], distilled["teacher_temperature"]
        taught = [[score / over for score in row] for row in teacher]
        separate = options["view_objective"] == "separate"
        for views in (["dense"], ["sparse"]) if separate else (terms,):
            scores = [
                [again.similarity(query, passage, views=views, kind=kind) for passage in group]
                for query, group in zip(queries, groups, strict=True)
            ]
            loss = loss + again.distillation(scores, taught, direction=distilled["direction"])
    if weight:
        how = {"kind": kind, "form": options["contrastive_denominator"], "terms": terms}
        how |= {"own": options["in_batch_negatives"] == "own", "temperature": options["temperature"]}
        how["objective"] = options["view_objective"]
        loss = loss + weight * again.contrast_of_views(queries, groups, **how)
    return loss


@pytest.mark.parametrize("case", READINGS.values(), ids=READINGS)
def test_both_writings_give_one_loss_and_one_gradient(start, case):
    check(start, **case)


@pytest.mark.parametrize(("case", "changed"), CHANGED, ids=named)
def test_a_changed_equation_is_noticed(start, case, changed):
    assert notices(changed, check, READINGS[case] | {"start": start})
