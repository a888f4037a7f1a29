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


def test_numbers_that_do_not_fit_continue_below_with_their_row_and_heading():
    sheet = _sheet(ROW, [Text("alone"), *map(Text, ("1", "", ""))], [Text("blank"), Text(), Text(), Text()])
    assert _lines(sheet, 40)[-3] == "label   0.100   0.200    0.300"
    lines = [line.split() for line in _lines(sheet, 24) if line and set(line) != {"─"}]
    first = [["Dev"], ["MRR@10", "R@1000"], ["label", "0.100", "0.200"], ["alone", "1"], ["blank"]]
    assert lines == [*first, ["Dev"], ["nDCG@10"], ["label", "0.300"], ["blank"]]


def test_rows_with_texts_that_do_not_fit_become_named_lines():
    columns = [Column("", right=False), Column("run", right=False), Column("p", "t"), Column("d")]
    sheet = Sheet([*columns, Column("why", right=False)])
    sheet.rows += [Text("Group"), [*map(Text, ("ok", "a.run", "0.01", "", "several words of text " * 2))]]
    assert _lines(sheet, 28)[2:] == [
        "Group",
        "",
        "ok  a.run",
        "  t p: 0.01",
        "  why: several words of text",
        "  several words of text",
    ]


def test_text_is_wrapped_between_words_and_a_word_that_is_too_long_is_not_torn():
    sheet = Sheet([Column("id", right=False), Column("what", right=False)])
    long = "a-very-long-name-that-no-line-may-tear" * 2
    sheet.rows += [[Text("x"), Text("several words of text " * 3)], [Text("y"), Text("short")]]
    lines = _lines(sheet, 40)
    assert [line[0] for line in lines if line and line[0] in "xy"] == ["x", "y"]
    assert len(lines) == 6 and max(map(len, lines)) <= 40
    sheet.rows += [[Text("z"), Text(long)]]
    assert _lines(sheet, 40)[-1] == f"  {long}"


@pytest.mark.parametrize("width", [60, 80])
def test_no_published_table_has_a_torn_word_or_a_line_that_is_too_long(width):
    for paper in papers().values():
        for table in paper.manifest.tables:
            if not table.entries:
                view = printed_table(paper.name, table, cells_of(paper, (table,)))
                shown = "\n".join(_lines(view, width))
                words = {word for word in shown.split() if set(word) != {"─"}}
                whole = {word for line in _lines(view, 1000) for word in line.split()}
                assert words == {word for word in whole if set(word) != {"─"}}, (paper.name, table.id)
                assert max(map(len, shown.splitlines())) <= width, (paper.name, table.id)
