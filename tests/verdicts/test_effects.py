from dataclasses import dataclass, field, replace
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest

from repro.verdicts.effects import delta_ri, effect_ratio, effects, order_agreement, orders
from tests.floats import close


@dataclass(frozen=True)
class Made:
    cell: SimpleNamespace
    measured: float | None
    verdict: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(name="lower"))
    outdated: str = ""

    @property
    def published(self) -> float | None:
        return None if self.cell.printed.value is None else float(self.cell.printed.value)


def made(row, printed, measured, *, role="rerun", column="rr", group="g", verdict="lower") -> Made:
    value = None if printed is None else Decimal(printed)
    cell = SimpleNamespace(
        row=SimpleNamespace(id=row, group=group),
        column=SimpleNamespace(id=column),
        role=role,
        is_numeric=value is not None,
        printed=SimpleNamespace(value=value),
    )
    return Made(cell, measured, SimpleNamespace(name=verdict))


def test_the_effect_ratio_and_delta_ri_are_repro_evals():
    overall = pytest.importorskip("repro_eval.measure.overall_effects")
    printed, measured = (0.366, 0.330), (0.351, 0.327)
    told = [{"t": {"rr": value}} for value in (*printed, *measured)]
    assert effect_ratio(printed, measured) == pytest.approx(overall.ER(*told)["rr"])
    assert delta_ri(printed, measured) == pytest.approx(overall.DRI(*told)["rr"])


def test_an_offset_cancels_in_the_effect_ratio_and_a_factor_in_delta_ri():
    assert effect_ratio((0.4, 0.3), (0.5, 0.4)) == pytest.approx(1)
    assert delta_ri((0.4, 0.3), (0.2, 0.15)) == pytest.approx(0)


def test_a_gain_of_nothing_in_print_has_no_ratio():
    assert effect_ratio((0.3, 0.3), (0.4, 0.3)) is None
    assert delta_ri((0.3, 0.0), (0.4, 0.3)) is delta_ri((0.3, 0.2), (0.4, 0.0)) is None


def test_the_order_of_rows_is_scipys_tau_b():
    from scipy.stats import kendalltau

    printed, measured = [0.3, 0.31, 0.31, 0.4], [0.2, 0.25, 0.24, 0.21]
    assert order_agreement(printed, measured) == pytest.approx(kendalltau(printed, measured).statistic)
    generator = np.random.default_rng(0)
    for size in (3, 4, 7, 30):
        for many in (2, 5, 100):
            one, other = generator.integers(many, size=(2, size)).tolist()
            if len(set(one)) > 1 < len(set(other)):
                close(order_agreement(one, other), kendalltau(one, other).statistic)
    assert order_agreement([1, 2, 3], [4, 5, 6]) == 1
    assert order_agreement([1, 2], [1, 2]) is order_agreement([1, 1, 1], [1, 2, 3]) is None


def test_our_rows_stand_against_every_baseline_the_authors_ran_in_their_group():
    cells = [
        made("g.ours", "0.366", 0.351, role="ours"),
        made("g.bert", "0.330", 0.327),
        made("g.seed", "0.339", 0.330),
        made("h.bert", "0.1", 0.2, group="h"),
        made("g.paper", "0.35", 0.2, role="cited"),
        made("g.other", "0.2", 0.3, column="r50"),
    ]
    found = effects(cells)
    assert [(e.row, e.over) for e in found] == [("g.ours", "g.bert"), ("g.ours", "g.seed")]
    assert {e.column for e in found} == {"rr"}
    assert found[0].effect_ratio == pytest.approx(0.024 / 0.036)
    assert found[0].as_json().keys() == {"over", "effect_ratio", "delta_ri"}


def test_what_is_unmeasured_unprinted_scaled_incomparable_or_outdated_is_left_out():
    cells = [made(f"g.{i}", f"0.{i}", i / 10, role="ours" if i == 5 else "rerun") for i in (1, 3, 5)]
    assert orders(cells) == {"rr": (1.0, 3)}
    out = [
        made("a", "0.9", None),
        made("b", None, 0.1),
        made("c", "0.9", 0.1, verdict="scaled"),
        made("d", "0.9", 0.1, verdict="not comparable"),
        replace(made("e", "0.9", 0.1), outdated="the recipe has changed"),
    ]
    assert orders(cells + out) == {"rr": (1.0, 3)}
    assert effects(cells + out) == effects(cells)
    assert orders(cells[:2] + out) == {}
