"""What holds for every paper's manifest, whoever adds it."""

import pytest

from repro.manifest.arithmetic import disagreements
from repro.manifest.cells import cell, cells_of, numeric_cells
from repro.manifest.papers import papers

EVERY = sorted(papers())


def _within(identifier, prefix):
    return f"{identifier}/".startswith(f"{prefix}/")


@pytest.mark.parametrize("name", EVERY)
def test_averages_deltas_and_bolds_recompute_or_are_known_misprints(name):
    source = papers()[name]
    known = [a for r in source.readings.values() if r.kind == "misprint" for a in r.affects]
    new = [found for found in disagreements(source) if not any(_within(found[0], a) for a in known)]
    assert new == []


@pytest.mark.parametrize("name", EVERY)
def test_every_cell_id_round_trips(name):
    for c in numeric_cells(papers()[name]):
        assert cell(c.id).text == c.text


@pytest.mark.parametrize("name", EVERY)
def test_every_mark_in_a_cell_is_explained_and_names_rows_of_its_group(name):
    for c in cells_of(papers()[name]):
        for mark in c.printed.marks:
            meaning = c.table.marks[mark]
            group = {r.system for r in c.table.rows if r.group == c.row.group}
            assert set(meaning.over) <= group or not group & set(meaning.over), c.id


@pytest.mark.parametrize("name", EVERY)
def test_every_retrieval_cell_names_a_dataset_and_a_measure_that_exist(name):
    from repro.datasets.catalog import dataset
    from repro.evaluation.measures import parse_measure

    for c in numeric_cells(papers()[name]):
        if c.column.kind in ("retrieval", "answers", "rerank") and not c.column.mean_of:
            dataset(c.column.dataset)
            parse_measure(c.column.measure)


@pytest.mark.parametrize("name", EVERY)
def test_every_reading_affects_something_that_exists(name):
    source = papers()[name]
    ids = {c.id for c in cells_of(source)} | {f"{name}/figure-{f.id}" for f in source.manifest.figures}
    ids |= {f"{name}/{t.id}" for t in source.manifest.tables}
    for reading in source.readings.values():
        own = [prefix for prefix in reading.affects if _within(prefix, name)]  # shared ones name others too
        for prefix in own:
            assert any(_within(i, prefix) for i in ids), (reading.id, prefix)


@pytest.mark.parametrize("name", EVERY)
def test_every_recipe_exists_and_takes_its_options(name):
    import inspect

    from repro.manifest.papers import load
    from repro.running.measurement import recipe_path

    for c in numeric_cells(papers()[name]):
        if c.recipe:
            inspect.signature(load(recipe_path(c))).bind(None, **c.options)


@pytest.mark.parametrize("name", EVERY)
def test_print_has_its_unit(name):
    for c in numeric_cells(papers()[name]):
        if c.unit == "fraction":
            assert 0 <= c.printed.value <= 1, c.id
        if c.unit == "percent":
            assert 1 < c.printed.value <= 100, c.id
