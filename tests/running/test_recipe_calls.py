"""A recipe that is measured at some scales only says at which."""

import pytest

from repro.manifest.cells import cells_of, figure_tables
from repro.manifest.papers import paper
from repro.running.recipe_calls import not_at
from repro.running.scale import scale, with_scale_of


@pytest.fixture
def curve():
    source = paper("head_to_head")
    recipe = "papers.head_to_head.curves:from_scratch"
    return next(c for c in cells_of(source, figure_tables(source)) if c.recipe == recipe)


@pytest.mark.parametrize("name", ["tiny", "small", "full"])
def test_a_recipe_of_one_scale_is_not_measured_at_another(curve, name):
    assert not_at(curve, scale(name)) == "measured only at scale curves or one like it"


def test_a_recipe_of_one_scale_is_measured_there_and_at_what_is_like_it(curve, tmp_path):
    assert not_at(curve, scale("curves")) == ""
    for name, like in (("mine", "curves"), ("further", "tiny")):
        file = tmp_path / f"{name}.yaml"
        file.write_text(f"{name}: {{about: of mine, like: {like}}}")
        with with_scale_of(file) as own:
            assert bool(not_at(curve, own)) == (like == "tiny")


def test_a_recipe_that_names_no_scale_is_measured_at_all_but_those_for_what_is_named():
    cell = next(c for c in cells_of(paper("simlm")) if c.recipe)
    assert {not_at(cell, scale(name)) for name in ("tiny", "small-cpu", "full")} == {""}
    assert not_at(cell, scale("curves")) == "scale curves measures only cells with a recipe for this scale"
