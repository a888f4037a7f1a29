"""The trend of a figure: which runs enter it, and what its files and sentences say.

Of repro/plugins/studies/trend_charts.
"""

import csv
from types import SimpleNamespace as Made

import pytest

from repro.manifest.schema import Figure, SizeTrend
from repro.plugins.studies.trend_charts import draw_trend, panel_trends, sentence, warning
from repro.writers.drawing import _faces

MANIFEST = {
    "id": "scaling",
    "about": "a toy",
    "x": "steps",
    "unit": "percent",
    "panels": [{"id": "rr", "head": ["Toy", "MRR@10"]}],
    "points": [1, 4],
    "trend": {"reference": "Base", "across": "width", "to": {"x": 16, "across": 8}},
    "lines": [
        {
            "id": f"{method}-{width}",
            "label": f"{method}, {width}",
            "method": method,
            "recipe": "r",
            "over": over,
            "with": {"width": width},
        }
        for width in (2, 4)
        for method, over in (("Base", "steps"), ("None", None), ("Ours", "steps"))
    ]
    + [{"id": "level", "label": "level", "recipe": "r"}],
}
FIGURE = Figure.model_validate(MANIFEST)


def points(score, seeds=(1, 2)):
    """Every cell of the figure, with a score by method, steps, width and seed."""
    made = []
    for row in FIGURE.as_table.rows:
        method, steps = row.group.partition("-")[0], row.with_.get("steps", 0)
        records = [
            Made(seed=seed, measured=score(method, steps, row.with_.get("width"), seed)) for seed in seeds
        ]
        made.append(Made(cell=Made(row=row, column=FIGURE.panels[0]), records=records))
    return made


def score(method, steps, width, seed):
    """The method is 3 above at 1 and 2, and a point more a doubling of the steps; beyond, noise."""
    if method == "level":
        return 99.0
    own = {"Base": 0, "None": -5, "Ours": 3 + (steps == 4) * 2 + 0.1 * seed * (width == 2)}
    return 10 + seed + own[method]


def test_a_level_line_is_ranked_at_every_place_of_the_axis_and_not_fitted():
    [panel] = panel_trends(FIGURE, points(score))
    trends = {trend.method: trend for trend in panel.methods}
    sizes = {(1.0, 2.0), (1.0, 4.0), (4.0, 2.0), (4.0, 4.0)}
    assert trends.keys() == {"Ours"} and set(trends["Ours"].means) == sizes
    assert [order.methods for order in panel.orders] == [3] * 6
    assert trends["Ours"].doublings[0].value == pytest.approx(1)


def test_a_sentence_says_where_it_stands_what_growth_adds_and_what_follows():
    [panel] = panel_trends(FIGURE, points(score))
    [ours] = (sentence(trend, FIGURE.trend) for trend in panel.methods)
    assert ours.startswith(
        "Ours: a higher mean than Base, untested, at 4 of 4 sizes, +5.0 at 4 / 4; twice the x makes +1.0 ("
    )
    assert ours.endswith(": all above Base.")
    lower = points(lambda m, x, w, s: score(m, x, w, s) - (m == "Ours") * (score(m, x, w, s) - s - 5))
    [panel] = panel_trends(FIGURE, lower)
    assert sentence(panel.methods[0], FIGURE.trend) == (
        "Ours: a higher mean than Base, untested, at 0 of 4 sizes, −5.0 at 4 / 4; twice the x makes"
        " +0.0 (+0.0 to +0.0), twice the width +0.0 (+0.0 to +0.0);"
        " at 16 / 8 −5.0 (−5.0 to −5.0): all below Base."
    )


def test_a_wide_interval_tells_no_sign():
    noisy = points(lambda m, x, w, s: score(m, x, w, s) + (m == "Ours") * 9 * (-1) ** (s + x))
    [panel] = panel_trends(FIGURE, noisy)
    assert "its sign cannot be told" in sentence(panel.methods[0], FIGURE.trend)


def test_the_files_hold_every_number_that_the_sentences_round(tmp_path):
    written = list(draw_trend(FIGURE, points(score), tmp_path / "toy-figurescaling.svg", note="a note"))
    assert [path.name for path in written] == ["toy-figurescaling-trend.svg", "toy-figurescaling-trend.md"]
    with open(tmp_path / "toy-figurescaling-trend.csv") as file:
        rows = [row for row in csv.DictReader(file) if row["method"] == "Ours"]
    [panel] = panel_trends(FIGURE, points(score))
    assert [row["what"] for row in rows] == ["difference"] * 4 + [
        "doubling of x",
        "doubling of width",
        "extrapolated",
    ]
    assert float(rows[-1]["low"]) == panel.methods[0].extrapolated.low
    with open(tmp_path / "toy-figurescaling-order.csv") as file:
        orders = list(csv.DictReader(file))
    assert len(orders) == 6 and all(float(row["tau"]) == 1 for row in orders)
    page = written[1].read_text()
    assert warning(FIGURE) in page and "Kendall's tau 1.00 (no interval over 2 seeds)" in page
    assert "All of this is exploratory" in page and "of three numbers, is fitted to 8 runs" in page


def test_nothing_is_written_before_both_widths_are_measured(tmp_path):
    narrow = [c for c in points(score) if c.cell.row.with_.get("width") == 2]
    assert list(draw_trend(FIGURE, narrow, tmp_path / "toy.svg", note="")) == []
    assert list(tmp_path.iterdir()) == []


def test_two_values_of_a_size_are_warned_of_and_three_are_not_said_to_be_two():
    assert "Two values of a size fix a line" in warning(FIGURE)
    three = {**MANIFEST, "points": [1, 2, 4], "lines": [*MANIFEST["lines"]]}
    wide = {**three["lines"][0], "id": "Base-8", "with": {"width": 8}}
    more = Figure.model_validate({**three, "lines": [*three["lines"], wide]})
    assert "Two values" not in warning(more)


def test_every_width_has_a_panel_and_a_line_without_one_is_in_each():
    faces = [(title, [line.id for line in lines]) for _, title, lines in _faces(FIGURE)]
    assert faces == [
        ("Toy (2)", ["Base-2", "None-2", "Ours-2", "level"]),
        ("Toy (4)", ["Base-4", "None-4", "Ours-4", "level"]),
    ]


@pytest.mark.parametrize(
    "trend, said",
    [
        ({"reference": "Nobody", "across": "width"}, "'Nobody' is the method of no line (Base, None, Ours)"),
        ({"reference": "Base", "across": "depth"}, "a line of Base has no option 'depth'"),
    ],
)
def test_a_trend_over_what_no_line_has_is_refused(trend, said):
    with pytest.raises(ValueError, match=said.replace("(", r"\(").replace(")", r"\)")):
        Figure.model_validate({**MANIFEST, "trend": {**trend, "to": {"x": 16, "across": 8}}})


def test_a_larger_size_is_a_positive_one():
    with pytest.raises(ValueError, match="greater than 0"):
        SizeTrend.model_validate({"reference": "a", "across": "b", "to": {"x": 0, "across": 1}})
