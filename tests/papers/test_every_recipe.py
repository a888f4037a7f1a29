from __future__ import annotations

import functools
import re

import pytest

from repro.graph import walk
from repro.manifest.cells import cell as one
from repro.manifest.cells import cells_of, exhibits, figure_tables, select
from repro.manifest.papers import load, papers
from repro.retrieval.datasets.catalog import dataset
from repro.retrieval.recipe.request import Choices, Request, Runs
from repro.retrieval.training.declaration import check_options
from repro.retrieval.training.objective import objective_class
from repro.running.recipe_calls import readings_for, recipe_path
from repro.stage_table import TRAININGS

EVERY = sorted(papers())
NOT_READ = {f"retromae/{table}/laprador" for table in (1, 2, 3)}  # a checkpoint of unknown architecture


@functools.cache
def rows(name: str) -> dict[str, object]:
    """One cell for every distinct call of a recipe, and every exhibit."""
    source, found = papers()[name], {}
    for cell in cells_of(source, (*source.manifest.tables, *figure_tables(source))):
        if cell.recipe and cell.column.dataset:
            collection = cell.column.dataset.split("/")[0]
            found.setdefault(
                (recipe_path(cell), repr(cell.options), collection, "dev" in cell.column.dataset), cell
            )
    return {c.id: c for c in found.values()} | {shown.id: shown for shown in exhibits((name,), ())}


@pytest.mark.parametrize("name", EVERY)
def test_every_cell_has_the_measure_that_is_in_force_under_the_defaults(name):
    source, measured, compared = papers()[name], {}, 0
    for cell in cells_of(source, (*source.manifest.tables, *figure_tables(source))):
        if cell.recipe and cell.column.dataset and cell.is_numeric:
            key = recipe_path(cell), repr(cell.options), cell.column.dataset
            if key not in measured:
                choices = Choices(readings_for(source, recipe_path(cell)))
                member = (dataset(cell.column.dataset).members or (cell.column.dataset,))[0]
                load(recipe_path(cell))(Request(member, choices), **cell.options)
                measured[key] = choices.measured_as
            assert measured[key].get(cell.column.measure, cell.column.measure) == cell.column.measure, cell.id
            compared += 1
    assert compared or source.manifest.tables[0].kind == "study"


MAKERS = {
    "cotmae_v2/1/bm25": "R",
    "cotmae_v2/1/splade": "R",
    "cotmae_v2/1/colbert": "R",
    "cotmae_v2/1/rocketqa": "Success",
    "cotmae_v2/1/simlm": "R",
    "cotmae_v2/1/retromae": "R",
    "cotmae_v2/1/cotmae": "Success",
    "cotmae_v2/1/cotmae_v2": "Success",
    "cotmae_v2/2/splade-v2": "R",
    "cotmae_v2/2/master": "Success",
    "cotmae_v2/2/simlm": "R",
    "simlm/2/dense.rocketqa": "Success",
    "simlm/2/dense.retromae": "R",
    "simlm/2/dense.simlm": "R",
}


@pytest.mark.parametrize("row", MAKERS)
def test_recall_of_a_quoted_row_is_what_its_makers_count(row):
    cell = one(f"{row}/dev.r1000")
    assert cell.column.measure == f"{MAKERS[row]}@1000"


def called(name: str, row: str, data=None, **overrides: str):
    """What a row's recipe gives and the choices it used; readings are written with _ for -."""
    cell, overrides = rows(name)[row], {key.replace("_", "-"): choice for key, choice in overrides.items()}
    choices = Choices(readings_for(papers()[name], recipe_path(cell)), overrides, data, originals_only=True)
    dataset = cell.exhibit.dataset if hasattr(cell, "exhibit") else cell.column.dataset
    return load(recipe_path(cell))(Request(dataset or "", choices), **cell.options), choices


def runs(made) -> tuple:
    return made.all if isinstance(made, Runs) else (made,)


def identity(made, choices) -> tuple:
    groups = made.groups if isinstance(made, Runs) else ((made,),)
    scored = (*sorted(choices.measured_as.items()), *sorted(choices.scoring.items()))
    return tuple(tuple(n.fingerprint for n in g) for g in groups), scored


def switches(name: str) -> set[str]:
    source = papers()[name]
    own = [r for key, r in source.readings.items() if key not in source.shared_readings]
    return {r.id for r in own if any(value is not None for value in r.choices.values())}


@functools.cache
def asked_for(name: str) -> set[str]:
    """Every reading that some row asks for under the defaults or one other choice."""
    found, tried = set(), set()
    for row in rows(name):
        _, choices = called(name, row)
        found |= set(choices.used)
        for key in set(choices.used) - tried:
            tried.add(key)
            for choice in choices.readings[key].choices:
                found |= set(called(name, row, **{key: choice})[1].used)
    return found


@pytest.mark.parametrize("name", EVERY)
def test_every_reading_that_could_be_switched_is_asked_for_or_said_not_to_be(name):
    page = (papers()[name].folder / "README.md").read_text(encoding="utf-8")
    section = page.partition("### Readings with one choice built in")[2].partition("\n## ")[0]
    assert set(re.findall(r"`([a-z0-9-]+)`", section)) & switches(name) == switches(name) - asked_for(name)


def test_every_reading_that_papers_share_is_asked_for_by_one_of_them():
    sharing = [name for name in EVERY if papers()[name].shared_readings]
    readings = {
        key: papers()[name].readings[key] for name in sharing for key in papers()[name].shared_readings
    }
    shared = {key for key, reading in readings.items() if any(reading.choices.values())}
    assert shared - {key for name in sharing for key in asked_for(name)} == set()


@pytest.mark.parametrize("name", EVERY)
def test_every_choice_that_is_asked_for_changes_what_is_run_or_how_it_is_scored(name):
    """In some row that asks for it: a row of documents, say, is not changed by how passages are titled."""
    changed, offered = set(), set()
    for row in rows(name):
        made, choices = called(name, row)
        usual = identity(made, choices)
        for key in choices.used:
            reading = choices.readings[key]
            for choice, value in reading.choices.items():
                if key in choices.substitutes or value == reading.choices[reading.default]:
                    continue
                if (key, choice) not in changed:
                    other = called(name, row, **{key: choice})
                    if other[1].substitutes.keys() - choices.substitutes.keys():
                        continue
                    offered.add((key, choice))
                    changed |= {(key, choice)} if identity(*other) != usual else set()
    assert offered - changed == set()


@pytest.mark.parametrize("name", EVERY)
def test_all_rows_that_the_authors_ran_have_a_recipe(name):
    source = papers()[name]
    missing = {
        f"{name}/{c.table.id}/{c.row.id}"
        for c in cells_of(source)
        if c.is_numeric and c.role != "cited" and not c.recipe
    }
    assert missing == {row for row in NOT_READ if row.startswith(f"{name}/")}
    assert all(figure.is_measured for figure in source.manifest.figures)


def stages(made, name: str) -> list:
    return [found for found in walk(runs(made)) if found.stage == name]


def _row(name: str, table: str, row: str, dataset: str) -> str:
    return next(key for key, cell in rows(name).items() if key.startswith(f"{name}/{table}/{row}/{dataset}"))


def test_lengths_with_special_tokens_counted_are_the_printed_ones():
    for choice, lengths in (("counted", {32, 128}), ("not-counted", {34, 130})):
        made, _ = called("costa", _row("costa", "1", "bm25neg.bert", "dev"), length_special_tokens=choice)
        assert {found.params["length"] for found in stages(made, "encode")} == lengths
        (tuning,) = stages(made, "finetune")
        assert {tuning.params["query_length"], tuning.params["passage_length"]} == lengths


def test_documents_are_ranked_by_two_rounds_that_begin_with_the_passage_model():
    made, _ = called("costa", _row("costa", "2", "second.costa", "dev"))
    trainings = stages(made, "finetune")
    assert [t.params["epochs"] for t in trainings] == [3, 2, 1, 1]
    assert [t.params["passage_length"] for t in trainings] == [128, 128, 512, 512]

    def lengths(run):
        return sorted(n.params["length"] for n in stages(run, "encode") if n.params["kind"] == "passages")

    assert lengths(made) == [128, 512, 512, 512]
    assert [t.inputs["model"].fingerprint for t in trainings[1:]] == [t.fingerprint for t in trainings[:-1]]
    how = {"document_length": "by-the-notes", "document_mining_length": "released-script"}
    noted, _ = called("costa", _row("costa", "2", "second.costa", "dev"), **how)
    assert [t.params["passage_length"] for t in stages(noted, "finetune")] == [128, 128, 130, 130]
    assert lengths(noted) == [128, 128, 128, 130]


def test_idf_weights_come_with_the_corpus_counts_they_need():
    made, _ = called("cpdae", _row("cpdae", "2", "idf-rec", "dev-passage"))
    assert len(stages(made, "term_statistics")) == 1
    made, _ = called("cpdae", _row("cpdae", "2", "without-contrast", "dev-passage"))
    assert not stages(made, "term_statistics")


RECALLS = {  # row: the reading that says what its columns of recall are
    "simlm/2/sparse.bm25/dev.r50": "recall-definition",
    "simlm/2/dense.ance/dev.r1000": "recall-definition",
    "simlm/2/dense.cocondenser/dev.r50": "recall-definition",
    "simlm/6/cocondenser.mined-negatives/dev.r1000": "recall-definition",
    "cotmae_v2/1/bm25/dev.r50": "quoted-recall",
    "cotmae_v2/1/cocondenser/dev.r50": "quoted-recall",
    "cotmae_v2/2/simlm/dev.r50": "quoted-recall",
    "cotmae_v2/1/retromae/dev.r1000": "quoted-recall",
    "cotmae_v2/2/splade-v2/dev.r1000": "quoted-recall",
}


@pytest.mark.parametrize("cell", RECALLS)
def test_columns_of_recall_are_what_their_rows_reading_says(cell):
    [shown] = select((), tables=(), rows=(), cells=(cell,))
    source = shown.paper
    for choice, name in {"fraction": "R", "success": "Success"}.items():
        choices = Choices(readings_for(source, recipe_path(shown)), {RECALLS[cell]: choice}, None)
        load(recipe_path(shown))(Request(shown.column.dataset, choices), **shown.options)
        cutoff = shown.column.measure.split("@")[1]
        assert choices.measured_as[shown.column.measure] == f"{name}@{cutoff}"


@pytest.mark.parametrize("name", EVERY)
def test_recipes_give_their_objectives_names_versions_and_options_of_their_classes(name):
    trainings = {}
    for row in rows(name):
        made, _ = called(name, row)
        trainings |= {n.fingerprint: n for n in walk(runs(made)) if n.stage in TRAININGS}
    for node in trainings.values():
        check_options(node)
        objective_class(node.stage, node.params)
    assert trainings or name in ("head_to_head", "mteb")
