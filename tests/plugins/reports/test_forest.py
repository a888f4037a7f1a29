"""Forest plots and bars: what can be seen, and what can be read where they cannot.

Of repro/plugins/reports/pictures.
"""

import re
from xml.etree import ElementTree

import pytest

from repro.plugins.reports.pictures import MARKS, SHADES, WIDTH, Bar, Mark, Strip, forest, shares

SVG = "{http://www.w3.org/2000/svg}"


def _strip(*differences, published=(0.0,), made="checkpoint", loose=False):
    marks = tuple(Mark(value, made, loose, f"by {value}") for value in differences)
    return Strip("dev <MRR@10>", "38.2: 35 – 38.1 (2)", published, marks, "dev: published 38.2.")


def _drawn(*strips):
    return ElementTree.fromstring(forest("coCondenser", strips, alone=True))


def _told(drawing):
    """The marks with words of their own: those of the legend have none."""
    return [path for path in drawing.iter(f"{SVG}path") if path.find(f"{SVG}title") is not None]


def _places(drawing):
    found = [path.get("transform") for path in _told(drawing)]
    return [tuple(map(float, re.findall(r"[-\d.]+", place))) for place in found]


def test_a_drawing_has_a_title_a_description_and_a_word_for_every_mark():
    drawing = _drawn(_strip(-3.0, -0.1))
    assert drawing.get("role") == "img" and drawing.find(f"{SVG}title").text == "coCondenser"
    assert drawing.find(f"{SVG}desc").text == "dev: published 38.2."
    assert [path.find(f"{SVG}title").text for path in _told(drawing)] == ["by -3.0", "by -0.1"]


def test_lower_is_left_of_the_published_number_and_higher_is_right():
    lower, higher = _places(_drawn(_strip(-1.0, 1.0)))
    assert lower[0] < WIDTH / 2 < higher[0] and lower[0] + higher[0] == pytest.approx(WIDTH, abs=0.2)


def test_marks_of_one_value_lie_above_each_other():
    places = _places(_drawn(_strip(0.0, 0.0, 0.0)))
    assert len({x for x, _ in places}) == 1 and len({y for _, y in places}) == 3


@pytest.mark.parametrize("farthest", [0.01, 0.9, 4.0, 26.0, 80.0])
def test_every_mark_lies_in_the_drawing(farthest):
    drawing = _drawn(_strip(-farthest, farthest, 0.0))
    height = float(drawing.get("viewBox").split()[-1])
    assert all(0 < x < WIDTH and 0 < y < height for x, y in _places(drawing))


def test_each_way_of_making_has_a_shape_of_its_own_and_a_loose_match_is_hollow():
    assert len({path for _, path in MARKS.values()}) == len(MARKS)
    [path] = _told(_drawn(_strip(0.0, made="trained", loose=True)))
    assert path.get("class") == "again loose"


def test_another_published_number_is_a_second_line():
    lines = _drawn(_strip(0.1, published=(0.0, -0.3))).iter(f"{SVG}line")
    assert sum(line.get("class") == "published" for line in lines) == 2


def test_a_bar_is_cut_by_its_counts_and_tells_them():
    drawing = ElementTree.fromstring(shares("near", SHADES, [Bar("run", (3, 0, 1, 0), "3, 1")], alone=True))
    bars = [rect for rect in drawing.iter(f"{SVG}rect") if rect.get("height") == "16"]
    assert [float(rect.get("width")) for rect in bars] == [300, 0, 100, 0]
    assert drawing.find(f"{SVG}desc").text == "3, 1"


def test_the_legend_names_what_is_drawn_and_nothing_else():
    drawing = _drawn(_strip(0.0, made="run"), _strip(1.0, made="fine-tuned", loose=True))
    texts = [text.text for text in drawing.iter(f"{SVG}text")]
    assert texts[-3:] == ["released run", "fine-tuned", "loose match"] and "trained" not in texts


def test_a_drawing_in_a_page_has_no_title_of_its_own():
    assert ">coCondenser</text>" in forest("coCondenser", [_strip(0.0)], alone=True)
    assert ">coCondenser</text>" not in forest("coCondenser", [_strip(0.0)])
