"""Tables in a terminal, at any width: words stay whole, and columns stay in line."""

import io

import pytest
from rich.console import Console
from rich.text import Text

from repro.manifest.cells import cells_of
from repro.manifest.papers import papers
from repro.writers.sheet import Column, Sheet, Value
from repro.writers.terminal import printed_table


def _lines(view, width):
    stream = io.StringIO()
    Console(file=stream, width=width, highlight=False).print(view, crop=False)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def _sheet(*rows, heads=("MRR@10", "R@1000", "nDCG@10"), heading="Dev"):
    sheet = Sheet([Column("", right=False), *(Column(head, heading) for head in heads)])
    sheet.rows += rows
    return sheet


def test_numbers_stand_in_line_whatever_follows_them():
    rows = [
        [Text("a BM25"), Value(Text("0.466"), Text("ᵇ⁻ᵖ"))],
        [Text("b BERT"), Value(Text("0.036"), Text(""))],
        [Text("c Other"), Text("not run")],
    ]
    assert _lines(_sheet(*rows, heads=("MRR@10",)), 80)[1:] == [
        "           Dev",
        "         MRR@10",
        "─────────────────",
        "a BM25   0.466ᵇ⁻ᵖ",
        "b BERT   0.036",
        "c Other   not run",
    ]


ROW = [Text("label"), *map(Text, ("0.100", "0.200", "0.300"))]
SOME_LEFT_OUT = [
    ((), "MRR@10 R@1000", "0.100 0.200", "nDCG@10"),
    ((1,), "R@1000 nDCG@10", "0.200 0.300", "MRR@10"),
    ((2, 1), "MRR@10 nDCG@10", "0.100 0.300", "R@1000"),
]


@pytest.mark.parametrize(("drop", "heads", "numbers", "left_out"), SOME_LEFT_OUT)
def test_columns_that_do_not_fit_are_left_out_as_told_or_from_the_right_and_named(
    drop, heads, numbers, left_out
):
    sheet = _sheet(ROW, heading="")
    sheet.drop = drop
    lines = [line.split() for line in _lines(sheet, 24) if line and set(line) != {"─"}]
    assert lines[:2] == [heads.split(), ["label", *numbers.split()]]
    assert " ".join(word for line in lines[2:] for word in line) == (
        f"not shown for want of width: {left_out}"
    )


def test_a_column_that_is_left_out_is_named_with_its_heading_and_none_is_where_all_fit():
    assert _lines(_sheet(ROW), 40)[-1] == "label   0.100   0.200    0.300"
    assert " ".join(_lines(_sheet(ROW), 24)[-2:]) == "not shown for want of width: Dev nDCG@10"


def test_text_is_wrapped_between_words_and_a_word_that_is_too_long_is_not_torn():
    sheet = Sheet([Column("id", right=False), Column("what", right=False)])
    long = "a-very-long-name-that-no-line-may-tear" * 2
    sheet.rows += [[Text("x"), Text("several words of text " * 3)], [Text("y"), Text("short")]]
    lines = _lines(sheet, 40)
    assert [line[0] for line in lines if line and line[0] in "xy"] == ["x", "y"]
    assert len(lines) == 6 and max(map(len, lines)) <= 40
    sheet.rows += [[Text("z"), Text(long)]]
    assert _lines(sheet, 40)[-1] == f"z   {long}"


@pytest.mark.parametrize("width", [80, 120])
def test_no_published_table_has_a_torn_word_or_a_line_that_is_too_long(width):
    for paper in papers().values():
        for table in paper.manifest.tables:
            if not table.entries:
                view = printed_table(paper.name, table, cells_of(paper, (table,)))
                shown, _, left_out = "\n".join(_lines(view, width)).partition("not shown for want of width:")
                words = {word.strip(",") for word in shown.split() if set(word) != {"─"}}
                whole = {word.strip(",") for line in _lines(view, 1000) for word in line.split()}
                assert words | {word.strip(",") for word in left_out.split()} <= whole, (paper.name, table.id)
                assert left_out or words == whole - {w for w in whole if set(w) == {"─"}}, table.id
                assert max(map(len, shown.splitlines())) <= width, (paper.name, table.id)
