"""What holds for every paper's manifest, whoever adds it."""

import re
import unicodedata

import pytest

from repro.manifest.cells import cell, cells_of, numeric_cells
from repro.manifest.papers import papers
from repro.plugins.statements.statements import arithmetic_faults
from repro.running.cell_readings import CellReadings

EVERY = sorted(papers())
PUBLISHED = [name for name in EVERY if any(t.kind != "study" for t in papers()[name].manifest.tables)]
HEAD = re.compile(r"(?P<measure>MRR|[Nn]DCG|R|Recall)@(?P<cutoff>\d+)(?P<thousands>k?)")
NAMED_READING = re.compile(r"\b[Rr]eading:?\s+(``)?(?P<id>[a-z0-9]+(-[a-z0-9]+)+)(?(1)``)")
MEASURES = {"MRR": "RR", "NDCG": "nDCG", "R": "(R|Success)", "RECALL": "(R|Success)"}
DATASETS = {  # words of a head, and what its dataset is then called
    "TREC ?(DL |20)19": "/trec-dl-2019/",
    "TREC ?(DL |20)20": "/trec-dl-2020/",
    "Doc$": "^msmarco-document/",
    "Passage$|MS.MARCO": "^msmarco-passage/",
    "Dev": "/dev(/small)?$",
    "^NQ$": "/natural-questions/",
}
NOT_PUBLIC = {"retromae": {"bioasq", "signal-1m", "trec-news", "robust04"}}


def _within(identifier, prefix):
    return f"{identifier}/".startswith(f"{prefix}/")


@pytest.mark.parametrize("name", EVERY)
def test_averages_deltas_and_bolds_recompute_or_are_known_misprints(name):
    source = papers()[name]
    known = [place for r in source.readings.values() if r.kind == "misprint" for place in r.cells]
    new = [found for found in arithmetic_faults(source) if not any(_within(found[0], a) for a in known)]
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
    from repro.retrieval.datasets.catalog import dataset
    from repro.retrieval.evaluation.measures import parse_measure

    for c in numeric_cells(papers()[name]):
        if c.column.kind in ("retrieval", "answers", "rerank") and not c.column.mean_of:
            if c.column.id in NOT_PUBLIC.get(name, ()):
                assert c.column.not_measurable and not c.column.dataset
                continue
            dataset(c.column.dataset)
            parse_measure(c.column.measure)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_column_is_measured_as_its_head_says_on_what_its_head_names(name):
    source = papers()[name]
    misprints = {r.id for r in source.readings.values() if r.kind == "misprint"}
    for column in (c for t in source.manifest.tables for c in t.columns if c.dataset and c.measure):
        where, what = column.head[0], HEAD.fullmatch(column.head[-1])
        told = NAMED_READING.search(column.note)
        if what:
            cutoff = int(what["cutoff"]) * (1000 if what["thousands"] else 1)
            wanted = rf"{MEASURES[what['measure'].upper()]}(\(rel=2\))?@{cutoff}"
            is_misprint = bool(told) and told["id"] in misprints
            assert bool(re.fullmatch(wanted, column.measure)) != is_misprint, (column.id, column.measure)
        dataset, named = (
            column.dataset,
            [there for words, there in DATASETS.items() if re.search(words, where)],
        )
        if dataset.startswith("beir/"):
            dataset, named = dataset.replace("-", ""), [letters(where)]
        assert all(re.search(there, dataset) for there in named), (column.id, column.dataset)


def letters(text: str) -> str:
    return re.sub("[^a-z]", "", unicodedata.normalize("NFD", text).lower())


@pytest.mark.parametrize("name", EVERY)
def test_every_reading_is_asked_for_by_a_recipe_or_names_the_cells_it_is_about(name):
    source = papers()[name]
    ids = {c.id for c in cells_of(source)} | {f"{name}/figure-{f.id}" for f in source.manifest.figures}
    ids |= {f"{name}/{t.id}" for t in source.manifest.tables}
    places = CellReadings().places(source)
    for reading in (r for k, r in source.readings.items() if k not in source.shared_readings):
        assert places[reading.id], reading.id
        for place in reading.cells:
            assert any(_within(i, place) for i in ids), (reading.id, place)


@pytest.mark.parametrize("name", EVERY)
def test_a_reading_that_recipes_ask_for_names_only_printed_numbers_that_it_is_about(name):
    known = CellReadings()
    for reading in papers()[name].readings.values():
        asked = set(known.places(papers()[name]).get(reading.id, ())) - set(reading.cells)
        if asked and reading.cells:
            assert reading.kind in ("misprint", "conflict"), reading.id
            assert all(place.count("/") == 3 for place in reading.cells), reading.id


@pytest.mark.parametrize("name", EVERY)
def test_every_recipe_exists_and_takes_its_options(name):
    import inspect

    from repro.manifest.papers import load
    from repro.running.recipe_calls import recipe_path

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


def test_every_reading_that_code_and_manifests_name_is_there():
    known = {identifier for source in papers().values() for identifier in source.readings}
    root = papers()["costa"].folder.parents[1]
    named = [
        (path, match["id"])
        for folder in ("papers", "repro")
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in (".py", ".yaml", ".md")
        for match in NAMED_READING.finditer(path.read_text(encoding="utf-8"))
    ]
    assert len(named) > 300
    assert [(str(path), identifier) for path, identifier in named if identifier not in known] == []
