"""What a shell completes."""

import pytest
from click.shell_completion import ShellComplete

from repro.cli import cli


def completed(*words: str) -> list[str]:
    shell = ShellComplete(cli, {}, "repro", "_REPRO_COMPLETE")
    return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]


@pytest.mark.parametrize(
    ("words", "some"),
    [
        (("run", "costa", "--table", ""), ["1", "7"]),
        (("run", "costa", "--table", "1", "--row", "b"), ["bm25", "bert", "bm25neg.bert"]),
        (("run", "costa", "--reading", "bm25-param"), ["bm25-parameters=anserini-default"]),
        (("run", "costa/1/sparse."), ["costa/1/sparse.bm25/dev.rr10"]),
        (("run", "costa", "--table", "fig"), ["figure-3", "figure-4"]),
        (("run", "costa/"), ["costa/1", "costa/7"]),
        (("run", "--scale", "ti"), ["tiny", "tiny-long"]),
        (("show", "costa/1/"), ["costa/1/hardneg.costa/dev.rr10"]),
        (("audit", "co"), ["costa", "cotmae_v2"]),
        (("show", "cells", "co"), ["costa", "cotmae_v2"]),
        (("store", "gc", "co"), ["costa", "cotmae_v2"]),
        (("show", "readings", "costa", "--table", ""), ["1", "7"]),
        (("import", "run", "x", "costa/1/sparse."), ["costa/1/sparse.bm25/dev.rr10"]),
        (("compare", "x", "--dataset", "beir/sci"), ["beir/scifact"]),
        (("run", "--scale", ""), ["full", "small", "tiny"]),
        (("show", "re"), ["readings"]),
        (("do",), ["doctor"]),
        (("data", "fetch", "--for", "costa/1"), ["costa/1"]),
        (("data", "fetch", "beir/sci"), ["beir/scifact", "beir/scidocs"]),
    ],
)
def test_names_are_completed_with_what_there_is(words, some):
    found = completed(*words)
    assert set(some) <= set(found) and all(word.startswith(words[-1]) for word in found)


def test_rows_are_those_of_the_tables_named():
    assert "base" in completed("run", "costa", "--row", "ba")
    assert completed("run", "costa", "--table", "1", "--row", "ba") == []
    assert "costa" not in completed("run", "simlm", "--row", "")


def test_of_a_reading_the_choices_that_change_something_are_named():
    assert "bm25-parameters=anserini-tuned" not in completed("run", "costa", "--reading", "bm25")


def test_papers_named_are_the_only_ones_looked_in():
    assert completed("run", "costa", "--table", "9") == []
    assert "9" in completed("run", "simlm", "--table", "9")
