"""Systems by the names and numbers of rows: what the papers at hand offer for them."""

from decimal import Decimal

import pytest

from repro.manifest.papers import papers
from repro.plugins.manuscripts import systems

DEV, DL19 = "msmarco-passage/dev/small", "msmarco-passage/trec-dl-2019/judged"


def found(label: str, **numbers: str):
    """Return the match of a label with numbers on the queries of dev."""
    names = {"rr10": "RR@10", "r1000": "R@1000"}
    return systems.match(label, {systems.key(DEV, names[n]): Decimal(v) for n, v in numbers.items()})


@pytest.mark.parametrize(
    ("label", "rr10", "recipe", "options"),
    [
        ("BM25 [1]", "0.187", "papers.baselines.recipes:bm25", {}),
        ("ANCE", "0.330", "papers.baselines.released:retriever", {"system": "ance"}),
        ("TAS-Balanced", "0.340", "papers.baselines.released:retriever", {"system": "tas-b"}),
        ("Co-Condenser", "0.382", "papers.baselines.released:retriever", {"system": "cocondenser"}),
    ],
)
def test_a_system_with_its_published_number_is_certain(label, rr10, recipe, options):
    match = found(label, rr10=rr10)
    assert match.sure == "certain" and match.row
    assert (match.row.recipe, {k: v for k, v in match.row.options.items() if k == "system"}) == (
        recipe,
        options,
    )


def test_without_an_equal_number_the_name_alone_is_likely():
    assert found("BM25").sure == found("BM25", rr10="0.190").sure == "likely"


def test_a_number_that_no_row_of_that_name_has_is_asked_for_with_the_rows():
    match = found("RetroMAE", rr10="0.466")
    assert match.row is None and len(match.choices) > 1
    assert found("RetroMAE", rr10="0.393").row.options == {"system": "retromae"}


def test_of_a_system_that_nothing_measures_the_reason_is_taken_over():
    match = found("ColBERT", rr10="0.360")
    assert match.row.not_measurable and not match.row.recipe


def test_one_number_like_that_of_a_papers_own_baseline_is_chance():
    assert found("BERT", rr10="0.335").row is None
    assert found("BERT", rr10="0.335", r1000="0.957").row.recipe.endswith(":passage_row")
    assert found("Nobody's", rr10="0.335").reason == "the suite knows no system of this name"


def test_readings_that_a_recipe_asks_for_come_with_it_unless_they_are_its_own():
    row = found("BM25", rr10="0.187").row
    assert list(row.readings([DEV, DL19])) == ["bm25-parameters"]
    assert found("DeepCT", rr10="0.243").row.readings([DEV]) == {}


def test_rows_whose_numbers_are_those_of_a_paper_find_a_row_of_the_same_system():
    for source in (each for each in papers().values() if not each.manifest.is_study):
        for rows in systems.known_rows().values():
            for row in (each for each in rows if each.source is source and each.is_shared):
                match = systems.match(row.cells[0].row.label, row.values)
                assert match.sure == "certain", row.id
                assert match.row.options.get("system") == row.options.get("system"), row.id
