import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from typing import get_args

import numpy as np
import pytest

from repro.errors import DataError, UsageError
from repro.graph import Node
from repro.manifest.cells import select
from repro.manifest.papers import papers
from repro.manifest.printed import parse
from repro.manifest.schema import ToleranceClass
from repro.verdicts.decision import decide
from repro.verdicts.verdict import (
    FAILS,
    NEITHER,
    PASSES,
    UNITS,
    Case,
    Tolerance,
    Verdict,
    equal_after_rounding,
    exact_decimal,
    implied_class,
    prediction_half_width,
)
from repro.verdicts.verdict import tolerance as tolerance_of

ONE_POINT = Tolerance("retrained", Decimal(1), "a thread")


def judge(printed, *measured, scale="full", changed=False, tolerance=ONE_POINT):
    return decide(Case(parse(printed), [exact_decimal(x) for x in measured], scale, changed, tolerance))


@pytest.mark.parametrize(
    ("printed", "measured", "exact"),
    [
        ("66.5", 66.47, True),
        ("66.5", 66.45, True),
        ("66.4", 66.45, True),
        ("66.5", 66.55, False),
        ("66.6", 66.55, True),
        ("66.5", 66.449, False),
        ("66.5", 66.44999999999999, True),  # 66.45 but for the noise of a binary mean
        ("66.5", 0.6645 * 100, True),
        ("0.366", 0.3655, True),
        ("0.366", 0.36549, False),
        ("0.3660", 0.3655, False),  # a printed zero is a digit
        ("0.3660", 0.36604, True),
        ("34", 34.4, True),
        ("-1.3", -1.25, True),
        ("**0.342*†‡**", 0.3421, True),
    ],
)
def test_equal_after_either_rounding_at_the_printed_decimals_is_exact(printed, measured, exact):
    tight = Tolerance("deterministic", Decimal(0), "nothing")
    assert (judge(printed, measured, tolerance=tight).name == "exact") is exact


def test_rounding_is_done_on_decimals_and_not_on_binary_fractions():
    assert round(2.675, 2) == 2.67
    assert equal_after_rounding(Decimal("2.675"), parse("2.68"))
    assert judge("2.68", 2.675).name == "exact"


@pytest.mark.parametrize(
    ("measured", "name"),
    [
        (35.25, "within tolerance"),  # 34.2 may stand for 34.25, and one point from there is inside
        (35.26, "higher"),
        (33.15, "within tolerance"),
        (33.14, "lower"),
        (34.3, "within tolerance"),
    ],
)
def test_without_a_deviation_of_seeds_the_tolerance_alone_decides(measured, name):
    one = judge("34.2", measured)
    assert one.name == name
    assert "retrained tolerance of 1 (a thread)" in one.why
    assert one.half_width == 1
    assert judge("34.2", measured - 0.001, measured + 0.001).name == name


def test_without_a_tolerance_only_equality_can_be_told():
    assert judge("34.2", 34.21, tolerance=None).name == "exact"
    assert judge("34.2", 34.3, tolerance=None).name == "inconclusive"
    assert judge("34.2", 34.3, 34.3, 34.3, tolerance=None).name == "inconclusive"


def test_the_prediction_interval_is_students():
    from scipy.stats import t

    values = [34.0, 34.4, 34.9, 35.0]
    expected = t.ppf(0.975, 3) * np.std(values, ddof=1) * np.sqrt(1 + 1 / 4)
    assert float(prediction_half_width([Decimal(str(v)) for v in values])) == pytest.approx(expected)
    # three seeds: the next one falls within 4.97 standard deviations
    three = [Decimal(x) for x in (-1, 0, 1)]
    assert float(prediction_half_width(three)) == pytest.approx(4.97, abs=0.005)


RETRAINED = tolerance_of("retrained", "RR@10", "fraction")


def test_the_interval_of_a_difference_holds_both_seeds_the_prior_and_rounding():
    from scipy.stats import t

    values = [0.3436, 0.3437, 0.3441]
    pooled = (20 * 0.0015**2 + 2 * np.var(values, ddof=1)) / 22
    expected = t.ppf(0.95, 22) * np.sqrt(pooled * (1 + 1 / 3) + 0.001**2 / 12)
    found = judge("0.342", *values, tolerance=RETRAINED)
    assert found.half_width == pytest.approx(expected)
    assert found.name == "within tolerance"
    assert found.why.startswith("the difference of +0.0018 ± 0.0029 (3 seeds, 90 %) is inside the retrained")
    one_seed = judge("0.342", 0.3436, tolerance=RETRAINED).why
    assert one_seed.startswith("the difference of +0.0016 ± 0.0037 (1 seed")


@pytest.mark.parametrize(
    ("off", "name"),
    [(0.0012, "within tolerance"), (0.0014, "inconclusive"), (0.0086, "inconclusive"), (0.0088, "higher")],
)
def test_a_difference_is_judged_by_its_whole_interval(off, name):
    assert judge("0.342", 0.342 + off, tolerance=RETRAINED).name == name  # 0.005 less and plus 0.0037
    below = judge("0.342", 0.342 - off, tolerance=RETRAINED).name
    assert below == name.replace("higher", "lower")


def test_deviating_seeds_widen_the_interval_and_equal_ones_narrow_it():
    seeds = ((0.35, 0.35, 0.35), (0.35,), (0.346, 0.35, 0.354))
    widths = [judge("0.342", *values, tolerance=RETRAINED).half_width for values in seeds]
    assert widths == sorted(set(widths))


@pytest.mark.parametrize("known", [("0.342", "0.341", "0.336"), ("0.342", "0.300", "0.310")])
def test_a_pass_that_most_other_rows_would_have_is_uninformative(known):
    own, *others = map(parse, known)
    near = sum(abs(other.number - own.number) <= Decimal("0.001") for other in others)
    case = Case(own, [Decimal("0.3421")], tolerance=RETRAINED, rivals=others)
    found = decide(case)
    assert (found.name, found.discrimination) == ("exact", (near, 2))
    assert found.why.endswith(f"; {near} of 2 other rows of this column would pass too")
    twice = decide(replace(case, rivals=[*others, parse("0.343")]))
    assert twice.name == ("uninformative" if near else "exact")
    assert twice.half_width == found.half_width and twice.difference == found.difference
    failing = decide(replace(case, values=[Decimal("0.4")]))
    assert (failing.name, failing.discrimination) == ("higher", None)


@pytest.mark.parametrize("measured", [(34.2,), (34.2, 34.2, 34.2), (99.0,)])
def test_other_scales_and_changed_recipes_are_never_compared(measured):
    for name, found in (
        ("scaled", judge("34.2", *measured, scale="tiny")),
        ("scaled", judge("34.2", *measured, scale="small", changed=True)),
        ("not comparable", judge("34.2", *measured, changed=True)),
    ):
        assert found.name == name
        assert found.name in NEITHER
        assert found.difference is None
        assert found.mean == pytest.approx(measured[0])


def test_nothing_measured_is_not_run_at_any_scale():
    found = {judge("34.2").name, judge("34.2", scale="tiny").name, judge("34.2", changed=True).name}
    assert found == {"not run"}


@pytest.mark.parametrize(
    ("printed", "measured", "name"),
    [
        (">150GB", 170, "consistent"),
        (">150GB", 150, "lower"),
        ("<27GB", 26.1, "consistent"),
        ("≤27", 28, "higher"),
        ("≤27", 27, "consistent"),
        ("≥27", 27, "consistent"),
        ("≥27", 26, "lower"),
        ("-", 34, "inconclusive"),
        ("n.a.", 34, "inconclusive"),
    ],
)
def test_a_printed_bound_is_obeyed_or_not_and_words_leave_the_question_open(printed, measured, name):
    assert judge(printed, measured, tolerance=None).name == name


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_measurement_that_is_no_number_is_refused(bad):
    with pytest.raises(DataError, match="must be absent"):
        judge("34.2", 34.0, bad)


def test_every_verdict_passes_fails_or_does_neither():
    assert {"exact", "consistent", "within tolerance"} == PASSES
    assert {"lower", "higher", "failed"} == FAILS
    assert {"inconclusive", "uninformative", "not comparable", "scaled", "blocked", "not run"} == NEITHER
    with pytest.raises(AssertionError):
        Verdict("OKish", "")


def test_one_or_two_seeds_import_no_scipy():
    code = (
        "import sys\nfrom decimal import Decimal\n"
        "from repro.verdicts.decision import decide\nfrom repro.verdicts.verdict import Case, Tolerance\n"
        "from repro.manifest.printed import parse\n"
        "t = Tolerance('retrained', Decimal(1), 'x')\n"
        "print(decide(Case(parse('34.2'), [Decimal('34.5')], 'full', False, t)).name)\n"
        "print({'scipy', 'numpy'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["within tolerance", "set()"]


@pytest.mark.parametrize(
    ("name", "measure", "half_width"),
    [
        ("deterministic", "RR@10", "0.0005"),
        ("re-encoded", "R(rel=2)@1000", "0.001"),
        ("retrained", "RR@100", "0.005"),
        ("retrained", "nDCG@10", "0.013"),
        ("retrained", "Success@20", "0.015"),
    ],
)
def test_classes_are_stated_as_fractions_and_given_in_the_unit_of_print(name, measure, half_width):
    assert tolerance_of(name, measure, "fraction").half_width == Decimal(half_width)
    assert tolerance_of(name, measure, "percent").half_width == 100 * Decimal(half_width)


@pytest.mark.parametrize(
    ("name", "measure", "published", "half_width"),
    [
        ("retrained", "R@1000", "0.98", "0.003"),
        ("retrained", "R(rel=2)@1000", "0.77", "0.015"),
        ("retrained", "Success@100", "0.95", "0.0075"),
        ("retrained", "RR@10", "0.98", "0.005"),
        ("re-encoded", "R@1000", "0.999", "0.001"),
    ],
)
def test_near_its_end_a_recall_may_miss_by_a_share_of_what_it_lacks(name, measure, published, half_width):
    for unit, one in (("fraction", 1), ("percent", 100)):
        found = tolerance_of(name, measure, unit, published=one * Decimal(published))
        assert found.half_width == one * Decimal(half_width)
        assert found.seed_sd == (0 if name == "re-encoded" else found.half_width * Decimal("0.3"))


def test_no_published_number_may_miss_by_less_after_training_than_after_encoding():
    cells = select(tuple(papers()), tables=(), rows=(), cells=())
    judged = [c for c in cells if c.unit in UNITS and c.printed.value is not None]
    assert len(judged) > 500
    for cell in judged:
        how = {"unit": cell.unit, "published": cell.printed.value}
        widths = [tolerance_of(n, cell.column.measure, **how) for n in ("re-encoded", "retrained")]
        assert widths == [None, None] or widths[0].half_width <= widths[1].half_width, cell.id


@pytest.mark.parametrize("name", get_args(ToleranceClass))  # those that a manifest may name
@pytest.mark.parametrize("measure", ["RR@10", "nDCG@10", "R@1000", "R(rel=2)@1000", "Success@20"])
def test_every_class_covers_every_kind_of_measure_and_names_its_source(name, measure):
    found = tolerance_of(name, measure, "fraction")
    assert found.name == name
    assert len(found.source) > 20
    assert "\n" not in found.source


def test_classes_grow_with_what_is_done_again():
    classes = ("deterministic", "re-encoded", "retrained")
    for measure in ("RR@10", "nDCG@10", "R@1000", "Success@20"):
        widths = [tolerance_of(name, measure, "percent").half_width for name in classes]
        assert widths == sorted(set(widths))


def test_a_row_without_a_class_is_retrained():
    assert tolerance_of(None, "RR@10", "percent") == tolerance_of("retrained", "RR@10", "percent")


@pytest.mark.parametrize(("measure", "unit"), [("accuracy", "percent"), (None, "GB"), ("RR@10", "GB")])
def test_what_the_classes_do_not_cover_has_no_tolerance(measure, unit):
    assert tolerance_of("retrained", measure, unit) is None


def test_an_unknown_class_is_told_the_known_ones():
    with pytest.raises(UsageError, match=r"'retraned'.*Did you mean retrained.*deterministic, re-encoded"):
        tolerance_of("retraned", "RR@10", "percent")


def test_a_graph_implies_its_class_by_what_is_made_again_in_it():
    stages = ("corpus", "backbone", "released")
    documents, backbone, released = (Node(stage, {"name": "x"}) for stage in stages)
    objective = {"objective": {"name": "mlm", "version": 1, "path": ""}}
    pretrained = Node("pretrain", objective, {"model": backbone})
    found = {}
    for name, model in {"backbone": backbone, "released": released, "pretrained": pretrained}.items():
        passages = Node("encode", {"kind": "passages"}, {"model": model, "texts": documents})
        found[name] = implied_class([Node("search", {"depth": 10}, {"passages": passages})])
    assert found == {"backbone": "re-encoded", "released": "re-encoded", "pretrained": "retrained"}
    tuned = Node("finetune", objective, {"model": backbone})
    assert implied_class([documents, tuned]) == "retrained"
    index = Node("lucene_index", {"multifield": False}, {"corpus": documents})
    assert implied_class([Node("bm25", {"depth": 10}, {"index": index})]) == "deterministic"
