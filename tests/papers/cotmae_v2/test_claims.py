"""What the text of CoT-MAE v2 states, beside its own tables."""

import pytest

from repro.manifest.papers import paper
from repro.plugins.statements.statements import statements
from tests.papers.statements import contradicted_in_print, sentences
from tests.plugins.statements.made_up_values import MadeUp


def test_the_claims_of_the_text_are_there_and_five_are_contradicted_by_its_tables():
    assert len(sentences("cotmae_v2")) >= 33
    assert contradicted_in_print("cotmae_v2") == {
        "best-distilled",
        "best-on-eleven-of-fourteen",
        "best-on-the-benchmarks",
        "every-view-contributes",
        "first-version-above-cocondenser",
    }


def _of_seeds(second, first):
    """Values of Figure 3 in all three measures, a seed each."""
    seeds = (42, 43, 2022, 2023)
    measures = ("dev.rr10", "dev.r50", "dev.r1000")
    return {
        f"{version}.{seed}/{measure}": value
        for version, values in (("cotmae_v2", second), ("cotmae", first))
        for seed, value in zip(seeds, values, strict=True)
        for measure in measures
    }


@pytest.mark.parametrize(
    ("second", "first", "state", "p"),
    [
        ((41.4, 41.1, 41.6, 41.2), (39.4, 39.9, 39.1, 39.6), "holds", "p 0.000"),
        ((41.4, 38.1, 41.6, 37.2), (39.4, 39.9, 39.1, 39.6), "fails", "p 0.9"),
    ],
)
def test_the_statistical_statement_of_figure_3_is_judged_by_students_test_over_seeds(second, first, state, p):
    [claim] = [
        s for s in statements(paper("cotmae_v2")) if s.id.endswith("/significant-over-the-first-version")
    ]
    judged = claim.judge(MadeUp(_of_seeds(second, first)))
    assert judged.state == state and p in judged.test
    assert len(judged.measures) == 3
