"""Rows of a source: their cells as published strings, and the systems of papers that they are of."""

from decimal import Decimal
from pathlib import Path

import pytest

from repro.manifest.papers import papers
from repro.manifest.printed import parse
from repro.plugins.manuscripts.rows import bold_scope, key, known_rows, match, transcribe
from repro.plugins.manuscripts.source_tables import Place, SourceCell


@pytest.mark.parametrize(
    ("text", "marks", "bold", "string", "remainder"),
    [
        ("36.6", (), False, "36.6", ""),
        ("36.6", ("†", "*"), True, "**36.6†***", ""),
        ("40.1 (-1.3)", ("*",), False, "40.1* (-1.3)", ""),
        ("–", (), True, "-", ""),
        ("n.a.", (), False, "n.a.", ""),
        ("27GB", (), False, "27GB", ""),
        (".366", (), False, "0.366", ""),
        ("1,234", (), False, "1234", ""),
        ("36.0±0.2", (), False, "36.0", "±0.2"),
        ("36.6/97.2", (), False, "36.6", "/97.2"),
        ("36.6", ("a", "b"), False, "36.6", "a b"),
        ("T5 3B", (), False, "-", "T5 3B"),
    ],
)
def test_a_cell_is_a_string_of_a_manifest_and_what_that_cannot_say(text, marks, bold, string, remainder):
    made = transcribe(SourceCell(text, Place(Path("x"), 1), marks=marks, bold=bold))
    assert (made.text, made.remainder) == (string, remainder)
    assert not parse(made.text).is_garbled and parse(made.text).bold == (bold and string != "-")


@pytest.mark.parametrize(
    ("columns", "scope"),
    [
        ([["1.0", "**3.0**", "2.0", "-"]], "column"),
        ([["**1.0**", "0.5", "2.0", "**3.0**"]], "group"),
        ([["**1.0**", "3.0", "2.0", "0.5"]], "unknown"),
        ([["1.0", "3.0", "2.0", "0.5"]], "none"),
    ],
)
def test_the_scope_of_bold_is_where_it_marks_the_best(columns, scope):
    assert bold_scope(columns, ["a", "a", "b", "b"]) == scope


DEV, DL19 = "msmarco-passage/dev/small", "msmarco-passage/trec-dl-2019/judged"


def found(label: str, **numbers: str):
    """Return the match of a label with numbers on the queries of dev."""
    names = {"rr10": "RR@10", "r1000": "R@1000"}
    return match(label, {key(DEV, names[n]): Decimal(v) for n, v in numbers.items()})


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
    told = found(label, rr10=rr10)
    assert told.sure == "certain" and told.row
    assert told.row.recipe == recipe
    assert {k: v for k, v in told.row.options.items() if k == "system"} == options


def test_without_an_equal_number_the_name_alone_is_likely():
    assert found("BM25").sure == found("BM25", rr10="0.190").sure == "likely"


def test_a_number_that_no_row_of_that_name_has_is_asked_for_with_the_rows():
    told = found("RetroMAE", rr10="0.466")
    assert told.row is None and told.reason.count("/") > 3
    assert found("RetroMAE", rr10="0.393").row.options == {"system": "retromae"}


def test_of_a_system_that_nothing_measures_the_reason_is_taken_over():
    told = found("ColBERT", rr10="0.360")
    assert told.row.not_measurable and not told.row.recipe


def test_one_number_like_that_of_a_papers_own_baseline_is_chance():
    assert found("BERT", rr10="0.335").row is None
    assert found("BERT", rr10="0.335", r1000="0.957").row.recipe.endswith(":passage_row")
    assert found("Nobody's", rr10="0.335").reason == "no known system has this name"


def test_readings_that_a_recipe_asks_for_come_with_it_unless_they_are_its_own():
    row = found("BM25", rr10="0.187").row
    assert list(row.readings([DEV, DL19])) == ["bm25-parameters"]
    assert found("DeepCT", rr10="0.243").row.readings([DEV]) == {}


def test_rows_whose_numbers_are_those_of_a_paper_find_a_row_of_the_same_system():
    for source in (each for each in papers().values() if not each.manifest.is_study):
        for rows in known_rows().values():
            for row in (each for each in rows if each.source is source and each.is_shared):
                told = match(row.cells[0].row.label, row.values)
                assert told.sure == "certain", row.id
                assert told.row.options.get("system") == row.options.get("system"), row.id
