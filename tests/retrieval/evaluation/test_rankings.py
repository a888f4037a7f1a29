from __future__ import annotations

import pytest

from repro.errors import DataError
from repro.retrieval.evaluation import run_writer as module
from repro.retrieval.evaluation.run_writer import parts, rankings, write_run
from repro.retrieval.evaluation.runs import read_run


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


@pytest.mark.parametrize("reach", [5, 1 << 16])
@pytest.mark.parametrize("size", [1, 7, 40, 333, 10_000])
def test_parts_of_a_file_have_every_query_once_and_whole(tmp_path, monkeypatch, size, reach):
    monkeypatch.setattr(module, "LINE", reach)
    run = {f"q{n}": [(f"d{rank}", 3.5 - rank) for rank in range(1 + n * 7 % 11)] for n in range(30)}
    write_run(tmp_path, run, tag="x")
    path = tmp_path / "run.trec"
    found = [one for begin in parts(path, size) for one in rankings(path, begin, begin + size)]
    assert found == list(rankings(path))


def test_an_error_in_a_part_names_the_line_of_the_file(tmp_path):
    path = tmp_path / "run.trec"
    path.write_text("q Q0 d 1 2 t\nq Q0 e 2 1 t\np Q0 d 1 2 t\np Q0 d 3 1 t\no Q0 d 1 - t\n")
    assert len(list(rankings(path, 0, 5))) == 1 and list(rankings(path, 1, 20)) == []
    with pytest.raises(DataError, match=r"run\.trec:4: not line 2 of the ranking of 'p'"):
        list(rankings(path, 20, 30))
    with pytest.raises(DataError, match=r"run\.trec:5: the score '-'"):
        list(rankings(path, 50, 60))
    path.write_bytes(b"q Q0 d 1 2 t\np Q0 d 1 2 t\np Q0 \xff 2 1 t\n")
    with pytest.raises(DataError, match=r"run\.trec:3: not UTF-8"):
        list(rankings(path, 5, 20))
    for read in (rankings, lambda path: parts(path, 5)):
        with pytest.raises(DataError, match="no such file"):
            list(read(tmp_path / "other"))
