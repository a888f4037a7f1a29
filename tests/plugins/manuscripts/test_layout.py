"""The layout of a table: labels, groups and values, however they are arranged."""

from dataclasses import replace

import pytest

from repro.plugins.manuscripts.headings import meaning
from repro.plugins.manuscripts.layout import layout
from tests.plugins.manuscripts.source_tables import table


def test_two_halves_one_below_the_other_are_two_groups_and_their_heads_no_rows():
    plan = layout(table("Tea|<\nModel|MRR", "Oak|0.2\nElm|0.3\nCoffee\nModel|MRR\nOak|0.4"))
    assert plan.groups == ("Tea", "Tea", "Coffee")
    assert [plan.label(row) for row in plan.rows] == ["Oak", "Elm", "Oak"] and plan.head(1) == ("MRR",)


def test_a_heading_of_the_whole_width_may_begin_with_a_number():
    assert layout(table("Model|MRR", "3 shards\nOak|0.2")).groups == ("3 shards",)


TWICE = "Oak|first|1\nOak|second|2\nElm|first|3\nElm|second|4"
BLOCKS = "Tea|10|Oak|1|2\n||Elm|3|4\n|50|Oak|5|6\n||Elm|7|8"


@pytest.mark.parametrize(
    ("head", "rows", "labels", "values", "groups"),
    [
        ("Collection|Queries|MRR", "MS MARCO|500k|0.2\nNQ|70k|0.3", (0,), (1, 2), [""]),
        ("Data|Depth|Method|Mean|Median", BLOCKS, (0, 1, 2), (3, 4), ["Tea / 10", "Tea / 50"]),
        ("Model|Phase|Mean", TWICE, (0, 1), (2,), ["Oak", "Elm"]),
        ("Model|Loss|Mean", "Oak|a|1\nOak|b|2\nElm|a|3\nAsh|a|4", (0,), (2,), [""]),
        ("k|b|Method|FiQA|NQ", "1.2|0.75|Oak|1|2\n1.5|0.75|Elm|3|4", (2,), (1, 3, 4), [""]),  # settings
        ("Layers|MRR|R|Remark", "3|1|2|small\n4|3|4|large", (0,), (1, 2), [""]),
    ],
)
def test_labels_values_and_groups_are_told_apart(head, rows, labels, values, groups):
    plan = layout(table(head, rows))
    assert (plan.labels, plan.values, list(dict.fromkeys(plan.groups))) == (labels, values, groups)


def test_measures_in_a_third_column_stand_over_the_numbers_of_their_blocks():
    rows = "Tea|Small|MRR@10|0.2|0.3\n||nDCG@10|0.4|0.5\n|Large|MRR@10|0.3|0.4\n||nDCG@10|0.5|0.6"
    told = meaning(table("Data|Size|Measure|Oak|Elm", rows))
    assert told.is_transposed and told.layout.rows == (0, 1)
    assert [c.measure.value for c in told.columns] == ["RR@10", "nDCG@10"] * 2


def test_systems_below_headings_of_two_rows_are_labels_of_two_columns():
    told = meaning(table("|Trees|<|Herbs|<\nMeasure|Oak|Elm|Mint|Dill", "MRR@10|1|2|3|4\nnDCG@10|1|2|3|4"))
    assert told.is_transposed and told.layout.groups == ("Trees", "Trees", "Herbs", "Herbs")
    assert [told.layout.label(row) for row in told.layout.rows] == ["Oak", "Elm", "Mint", "Dill"]


def test_a_column_of_scores_over_several_rows_is_no_label():
    plain = table("Language|Joint|Way|Mean", "en|60.1|Once|60.5\n|60.1|Twice|60.3")
    shared = (plain.body[0], (plain.body[0][0], plain.body[0][1], *plain.body[1][2:]))
    plan = layout(replace(plain, body=shared))
    assert plan.labels == (0, 2) and plan.values == (1, 3)


def test_a_row_without_a_label_is_called_by_its_words():
    plan = layout(table("|Template|Ratio", "T1|said at length|1.4\nT2|said once|1.6\n|Both|1.5"))
    assert [plan.label(row) for row in plan.rows] == ["T1", "T2", "Both"]
