import json

import pytest

from repro.errors import DataError
from repro.retrieval.stages import top_passages
from repro.retrieval.stages.top_passages import chosen_queries
from tests.retrieval.datasets.folders import write_lines
from tests.retrieval.stages.conftest import folders


@pytest.fixture
def inputs(corpus, tmp_path):
    """Three queries, of which q3 finds nothing; only d5 and d7 are judged, for q1."""
    texts = {"q1": "Who wrote  Ninjago", "q2": "what is green soap", "q3": "was Winnie a boy"}
    records = [{"id": name, "text": text, "answers": []} for name, text in texts.items()]
    folders(tmp_path, "run", "qrels")
    write_lines(tmp_path / "queries/queries.jsonl", records)
    found = [("q1", "d7", 9.5), ("q1", "d5", 9.0), ("q1", "d1", 2.0), ("q2", "d4", 1.5)]
    lines = [f"{query} Q0 {document} 1 {score} x\n" for query, document, score in found]
    (tmp_path / "run/run.trec").write_text("".join(lines))
    (tmp_path / "qrels/qrels.trec").write_text("q1 0 d5 2\nq1 0 d7 0\n")
    return {"corpus": corpus} | {name: tmp_path / name for name in ("queries", "run", "qrels")}


def _run(inputs, out, progress, *wanted, depth=2):
    out.mkdir()
    facts = top_passages.run({"queries": list(wanted), "depth": depth}, inputs, out, progress)
    return facts, json.loads((out / "exhibit.json").read_text())


def test_the_first_passages_are_shown_with_text_score_and_grade(inputs, corpus, tmp_path, progress):
    from datasets import load_from_disk

    _, exhibit = _run(inputs, tmp_path / "out", progress, "Who wrote  Ninjago")
    [query] = exhibit["queries"]
    first, second = query["passages"]
    assert (first["rank"], first["id"], first["score"], first["grade"]) == (1, "d7", 9.5, 0)
    assert (second["rank"], second["id"], second["score"], second["grade"]) == (2, "d5", 9.0, 2)
    row = load_from_disk(str(corpus / "arrow"))[7]
    assert (first["title"], first["text"]) == (row["title"], row["text"])


def test_a_query_is_known_by_its_words_whatever_capitals_and_spaces(inputs, tmp_path, progress):
    facts, exhibit = _run(inputs, tmp_path / "out", progress, " who WROTE\tninjago ")
    [query] = exhibit["queries"]
    assert (query["id"], query["found"], query["text"]) == ("q1", True, "Who wrote  Ninjago")
    assert query["wanted"] == " who WROTE\tninjago " and facts["found"] == 1


def test_the_first_query_that_is_not_used_stands_in_and_it_says_so(inputs, tmp_path, progress):
    facts, exhibit = _run(inputs, tmp_path / "out", progress, "no such", "who wrote ninjago", "nor this")
    named = [(q["id"], q["found"]) for q in exhibit["queries"]]
    assert named == [("q2", False), ("q1", True), ("q3", False)]
    assert facts == {"queries": 3, "found": 1, "passages": 3}


def test_a_query_that_finds_nothing_has_no_passages(inputs, tmp_path, progress):
    _, exhibit = _run(inputs, tmp_path / "out", progress, "was winnie a boy")
    assert exhibit["queries"][0]["found"] and exhibit["queries"][0]["passages"] == []


def test_what_nobody_judged_has_no_grade(inputs, tmp_path, progress):
    _, exhibit = _run(inputs, tmp_path / "all", progress, "who wrote ninjago", depth=3)
    assert [p["grade"] for p in exhibit["queries"][0]["passages"]] == [0, 2, None]
    del inputs["qrels"]
    _, exhibit = _run(inputs, tmp_path / "none", progress, "who wrote ninjago")
    assert [p["grade"] for p in exhibit["queries"][0]["passages"]] == [None, None]


def test_of_queries_with_the_same_words_the_first_is_shown(tmp_path):
    queries = [{"id": "a", "text": "x"}, {"id": "b", "text": "Same one"}, {"id": "c", "text": "same  one"}]
    assert chosen_queries(["SAME ONE"], queries) == [(queries[1], True)]
    with pytest.raises(DataError, match="3 queries are too few for 4 different examples"):
        chosen_queries(list("defg"), queries)


def test_a_passage_that_the_corpus_lacks_is_named(inputs, tmp_path, progress):
    (inputs["run"] / "run.trec").write_text("q2 Q0 elsewhere 1 1.0 x\n")
    with pytest.raises(DataError, match="'elsewhere' is not in the corpus"):
        _run(inputs, tmp_path / "out", progress, "what is green soap")
