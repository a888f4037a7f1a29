"""A source becomes a manifest with the same strings, and what it does not say is asked for."""

import pytest

from repro.manifest.papers import Paper, paper
from repro.plugins.manuscripts.draft import draft
from repro.plugins.manuscripts.draft_commands import cells_text, questions, readings_text, readme_text
from repro.plugins.manuscripts.reading import read
from tests.plugins.manuscripts import written_tables
from tests.plugins.manuscripts.source_tables import source, table

MAIN = table(
    """Model|MS MARCO Dev|<|TREC DL 19|Distilled
       |MRR@10|R@1k|nDCG@10|""",
    """Sparse
       BM25 [1]|18.7|85.7|51.2|✗
       Nib|20.0±0.1|86.0|50.0|✗
       Dense
       ANCE|33.0|95.9|**64.5**|✗
       Quill|**38.9†**|**98.5**|_64.0_|✓""",
    label="tab:1",
)


@pytest.fixture
def read_back(tmp_path):
    """``read_back(draft)``: the manifest and the readings of its files, as the suite reads them."""

    def read(made, name="quill"):
        (tmp_path / "cells.yaml").write_text(cells_text(name, "paper.tex", made), encoding="utf-8")
        (tmp_path / "readings.yaml").write_text(readings_text(made), encoding="utf-8")
        return Paper(name, tmp_path, name)

    return read


@pytest.mark.parametrize("name", [each.name for each in written_tables.papers_of_results()])
def test_a_paper_at_hand_drafted_from_its_tables_has_the_strings_that_were_transcribed(
    name, read_back, tmp_path
):
    results = written_tables.results(paper(name))
    (tmp_path / "paper.tex").write_text(written_tables.latex(results), encoding="utf-8")
    made = draft("fifth", read(tmp_path / "paper.tex"))
    assert made.left_out == ()
    for drafted, own in zip(read_back(made, "fifth").manifest.tables, results, strict=True):
        rows = [row for row in own.rows if row.cells]
        assert (drafted.transposed, drafted.unit) == (own.transposed, own.unit)
        assert [row.label for row in drafted.rows] == [row.label for row in rows]
        assert [c.head for c in drafted.columns] == [c.head for c in own.columns]
        assert [row.cells for row in drafted.rows] == [row.cells for row in rows]


def test_columns_rows_and_groups_stand_as_they_are_with_what_is_known_of_them(read_back):
    [found] = read_back(draft("quill", source(MAIN))).manifest.tables
    assert [c.id for c in found.columns] == ["ms-marco-dev.mrr10", "ms-marco-dev.r1k", "trec-dl-19.ndcg10"]
    assert [c.measure for c in found.columns] == ["RR@10", None, "nDCG@10"]
    assert found.bold == "column" and [g.label for g in found.groups] == ["Sparse", "Dense"]
    rows = {row.id: row for row in found.rows}
    assert list(rows) == ["sparse.bm25-1", "sparse.nib", "dense.ance", "dense.quill"]
    assert rows["sparse.bm25-1"].recipe == "papers.baselines.recipes:bm25"
    assert rows["dense.ance"].with_ == {"system": "ance"}
    assert rows["dense.quill"].cells == ("**38.9†**", "**98.5**", "64.0")
    assert (rows["dense.quill"].role, rows["dense.ance"].role) == ("ours", "cited")
    assert rows["dense.quill"].attributes == {"distilled": True}
    assert rows["dense.quill"].recipe is None and not rows["dense.quill"].not_measurable


def test_every_question_stands_at_its_place_and_in_the_list_with_its_line():
    made = draft("quill", source(MAIN))
    todo = questions(made, "todo")
    recall = next(text for text in todo if "R@1000 or Success@1000?" in text)
    assert todo[recall] == [("table 1, column ms-marco-dev.r1k", "paper.tex:2")]
    assert any(("table 1, row sparse.nib", "paper.tex:5") in places for places in todo.values())
    cells, readme = cells_text("quill", "paper.tex", made), readme_text("quill", "paper.tex", made)
    assert "# todo: dataset: msmarco-passage/dev/small, measure: R@1000 or Success@1000?" in cells
    assert "# underlined: trec-dl-19.ndcg10" in cells and "also says '±0.1'" in cells
    assert "- table 1, mark † (paper.tex:1)" in readme and "bm25-parameters" in readme


def test_an_average_names_its_columns(read_back):
    text = table("nDCG@10|BM25|DPR", "FiQA|23.6|11.2\nSciFact|66.5|31.8\nAvg.|45.1|21.5", label="tab:1")
    [found] = read_back(draft("quill", source(text))).manifest.tables
    assert found.transposed and found.columns[2].mean_of == ("fiqa", "scifact")


def test_a_table_without_measure_or_collection_is_left_out_with_its_place():
    made = draft("quill", source(table("Parameter|Value", "Learning rate|0.1\nBatch|64", label="tab:1")))
    [(place, reason)] = made.left_out
    assert made.tables == () and str(place) == "paper.tex:1" and "no heading names" in reason
