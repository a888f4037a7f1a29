from __future__ import annotations

import pytest

from repro.errors import DataError
from repro.evaluation.rankings import rankings
from repro.evaluation.run_writer import write_run
from repro.evaluation.runs import read_run


def test_a_written_run_is_read_back_query_by_query(tmp_path):
    run = {f"q{n}": [(f"d{rank}", 3.5 - rank) for rank in range(n + 1)] for n in range(4)}
    write_run(tmp_path, run, tag="x")
    found = list(rankings(tmp_path / "run.trec"))
    assert [query for query, _, _ in found] == list(run)
    again = {query: list(zip(documents, scores, strict=True)) for query, documents, scores in found}
    assert again == read_run(tmp_path / "run.trec")


def test_an_empty_run_has_no_rankings(tmp_path):
    (tmp_path / "run.trec").write_text("")
    assert list(rankings(tmp_path / "run.trec")) == []


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("q Q0 d 1 nan t\n", "run.trec:1: the score 'nan' is no finite float32 number"),
        ("q Q0 d 1 1 t\nq Q0 e 1 1 t\n", "run.trec:2: not line 2 of the ranking of 'q'"),
        ("q Q0 d 1 1 t\np Q0 d 1 1 t\nq Q0 e 1 1 t\n", "the lines of query 'q' do not stand together"),
        ("\n", "run.trec:1: not line 1"),
    ],
)
def test_a_file_that_is_no_ranking_is_a_data_error(tmp_path, lines, said):
    (tmp_path / "run.trec").write_text(lines)
    with pytest.raises(DataError, match=said):
        list(rankings(tmp_path / "run.trec"))
