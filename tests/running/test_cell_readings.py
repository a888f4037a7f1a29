from __future__ import annotations

import pytest

from repro.manifest.cells import cell, exhibits
from repro.manifest.papers import papers
from repro.running.cell_readings import CellReadings
from repro.running.requirements import Machine
from tests.retrieval.datasets.folders import word_list


@pytest.fixture(scope="module")
def known():
    return CellReadings()


def test_bm25_rests_on_its_parameters_and_not_on_the_stop_list_of_pre_training(known):
    readings = known.of(cell("costa/1/sparse.bm25/dev.rr10"))
    assert "bm25-parameters" in readings and "word-stop-list" not in readings
    assert "word-stop-list" in known.of(cell("costa/1/hardneg.costa/dev.rr10"))


def test_a_row_without_a_recipe_rests_on_what_names_it(known):
    assert "trec-overview-year" in known.of(cell("costa/1/sparse.best-trec-trad/dl19.ndcg10"))


def test_a_column_of_another_measure_rests_on_another_reading(known):
    dev, trec = (set(known.of(cell(f"costa/1/sparse.bm25/{c}"))) for c in ("dev.r1000", "dl19.r1000"))
    assert "trec-recall-grade" in trec - dev and "dev-recall" in dev


def test_an_average_rests_on_what_its_cells_rest_on(known):
    average, one = (known.of(cell(f"cotmae_v2/3/cotmae_v2/{c}")) for c in ("average", "scifact"))
    assert set(one) - {"touche-version"} <= set(average) and "beir-batch" in average


def test_a_recipe_of_another_paper_asks_for_that_papers_readings(known):
    readings = known.of(cell("cotmae_v2/1/simlm/dev.rr10"))
    assert any(readings[k] is papers()["simlm"].readings.get(k) for k in readings)


def test_what_is_asked_for_under_another_choice_is_told_apart(known):
    tuned = cell("costa/1/hardneg.costa/dev.rr10")
    others = known.under_other_choices(tuned)
    assert "fine-tuning-projector-start" in others and not set(others) & set(known.of(tuned))


def test_an_exhibit_rests_on_what_its_recipe_asks_for(known):
    [shown, *_] = exhibits(("costa",), ("figure-3",))
    assert known.of(shown)


def test_a_shared_reading_belongs_to_the_papers_whose_rows_ask_for_it(known):
    costa, cpdae = (known.places(papers()[name]) for name in ("costa", "cpdae"))
    assert "b-prop-attention" in costa and "b-prop-attention" not in cpdae
    assert costa["b-prop-attention"] == [
        f"costa/{row}.b-prop" for row in ("1/bm25neg", "1/hardneg", "2/first", "2/second")
    ]
    assert "simcse-loss" in cpdae and "simcse-loss" not in costa


def test_a_note_that_no_recipe_asks_for_keeps_the_places_it_names(known):
    assert known.places(papers()["costa"])["ance-reference"] == ["costa/3/ance"]


def test_what_lies_in_the_users_data_may_make_a_recipe_ask_for_more(tmp_path, monkeypatch):
    word_list(monkeypatch, tmp_path, "lists/stopwords.txt", ["the"])
    ours = cell("costa/1/hardneg.costa/dev.rr10")
    assert set(CellReadings().of(ours)) <= set(CellReadings(Machine(tmp_path)).of(ours))
