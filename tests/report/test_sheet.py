"""Tables in a terminal, at any width: words stay whole, and columns stay in line."""

import io

import pytest
from rich.console import Console
from rich.text import Text

from repro.manifest.cells import cells_of
from repro.manifest.papers import papers
from repro.report.sheet import Column, Sheet, Value
from repro.report.terminal import printed_table


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


def test_a_heading_of_rows_takes_the_whole_width():
    heading = "Fine-tuning with official BM25 negatives"
    lines = _lines(_sheet(Text(heading), [Text("a"), *map(Text, "123")]), 80)
    assert heading in lines


def test_columns_that_do_not_fit_stand_below_with_their_labels():
    lines = _lines(_sheet([Text("label"), *map(Text, ("0.100", "0.200", "0.300"))], heading=""), 24)
    assert [line.split() for line in lines if line] == [
        ["MRR@10", "R@1000"],
        [lines[2]],
        ["label", "0.100", "0.200"],
        ["nDCG@10"],
        [lines[6]],
        ["label", "0.300"],
    ]


def test_columns_below_without_a_value_are_left_out_and_a_rule_is_one_line():
    long = "x" * 30
    lines = _lines(_sheet([Text("label"), Text(long), Text(""), Text("")], heading=""), 24)
    assert [line for line in lines if line] == [
        f"{'MRR@10':>37}",
        "─" * 37,
        f"label  {long}",
    ]


def test_a_label_gives_way_to_a_heading_that_is_wider_than_its_column():
    rows = [[Text("a label of several words"), Text("–")]]
    lines = _lines(_sheet(*rows, heads=("RR",), heading="Collection"), 34)
    assert "Collection" in lines[1]
    assert max(map(len, lines)) <= 34


def test_text_is_wrapped_between_words_and_a_row_without_any_is_not_repeated():
    sheet = Sheet([Column("id", right=False), Column("what", right=False), Column("remedy", right=False)])
    sheet.rows += [[Text("x"), Text("several words of text " * 3), Text("")]]
    sheet.rows += [[Text("y"), Text("short"), Text("a-very-long-name-that-no-line-may-tear" * 2)]]
    lines = _lines(sheet, 40)
    assert "a-very-long-name-that-no-line-may-tear" * 2 in lines[-1]
    assert [line[0] for line in lines if line and line[0] in "xy"] == ["x", "y", "y"]
    assert max(len(line) for line in lines[:-2]) <= 40


@pytest.mark.parametrize("width", [80, 120])
def test_no_published_table_has_a_torn_word_or_a_line_that_is_too_long(width):
    for paper in papers().values():
        for table in paper.manifest.tables:
            if not table.entries:
                wide = _lines(printed_table(paper.name, table, cells_of(paper, (table,))), 1000)
                lines = _lines(printed_table(paper.name, table, cells_of(paper, (table,))), width)
                words = {word for line in wide for word in line.split() if set(word) != {"─"}}
                shown = {word for line in lines for word in line.split() if set(word) != {"─"}}
                assert shown == words, (paper.name, table.id)
                assert max(map(len, lines)) <= width, (paper.name, table.id)
