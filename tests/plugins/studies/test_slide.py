"""Labels at lines, and the shape of a slide."""

import re
from itertools import pairwise

import pytest

from repro.plugins.studies.slide import APART, THEMES, differences, spread


@pytest.mark.parametrize(
    "places", [[], [0.5], [0.1, 0.1, 0.1], [0.1, 0.12, 0.9], [0.0, 0.03, 0.05, 0.5, 0.51]]
)
def test_labels_keep_their_order_and_their_middle_and_stand_apart(places):
    moved = spread(places)
    assert moved == sorted(moved) and len(moved) == len(places)
    assert all(b - a >= APART - 1e-12 for a, b in pairwise(moved))
    assert sum(moved) == pytest.approx(sum(places))


def test_labels_that_are_apart_stay():
    assert spread([0.1, 0.4, 0.9]) == pytest.approx([0.1, 0.4, 0.9])


def test_a_picture_has_the_shape_of_a_slide_and_the_ground_of_its_theme(tmp_path):
    rows = [("Set MRR@10", "x", "base", 1.0, 0.5, 1.5)]
    texts = {}
    for ending, theme in THEMES.items():
        path = tmp_path / f"a{ending}.svg"
        differences({"Set MRR@10": 1.0}, ["x", "y"], ["base"], rows, path, theme, "T", "s")
        texts[theme] = path.read_text(encoding="utf-8")
        width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', texts[theme]).groups())
        assert width / height == pytest.approx(16 / 9)
        assert theme.ground in texts[theme] and theme.band in texts[theme]
