"""Cells of a source as published strings: nothing is lost without being said."""

from pathlib import Path

import pytest

from repro.manifest.printed import parse
from repro.plugins.manuscripts.tables import Place, SourceCell
from repro.plugins.manuscripts.transcription import bold_scope, transcribe


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
