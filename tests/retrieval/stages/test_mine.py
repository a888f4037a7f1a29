from collections import Counter

import pytest
from datasets import Dataset, load_from_disk

from repro.errors import DataError
from repro.retrieval.datasets.arrow import EXAMPLES
from repro.retrieval.evaluation.run_writer import rankings
from repro.retrieval.evaluation.text_lines import read_qrels, relevant_documents
from repro.retrieval.stages import mine
from repro.retrieval.stages.mine import negatives, with_random
from tests.bounded_memory import peak_growth
from tests.retrieval.datasets.rows_at_once import check_rows
from tests.retrieval.stages.killed_between_blocks import check_killed_between_blocks

RANKING = [f"d{rank}" for rank in range(300)]


@pytest.fixture
def inputs(tmp_path):
    for name in ("run", "qrels"):
        (tmp_path / name).mkdir()
    return {"run": tmp_path / "run", "qrels": tmp_path / "qrels"}


def write(inputs, run, qrels):
    lines = [
        f"{query} Q0 {document} {rank} {1000 - rank} test\n"
        for query, ranking in run
        for rank, document in enumerate(ranking, 1)
    ]
    (inputs["run"] / "run.trec").write_text("".join(lines))
    (inputs["qrels"] / "qrels.trec").write_text(
        "".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in qrels)
    )


def mined(inputs, tmp_path, progress, **changes):
    params = {"depth": 200, "per_query": 30, "seed": 42} | changes
    facts = mine.run(params, inputs, tmp_path, progress)
    return {row["query"]: row for row in load_from_disk(str(tmp_path / "arrow"))}, facts


def test_negatives_come_from_the_top_without_the_positives(inputs, tmp_path, progress):
    write(
        inputs,
        [("q1", RANKING), ("q2", RANKING)],
        [("q1", "d3", 1), ("q1", "d7", 2), ("q1", "d9", 0), ("q2", "x", 1)],
    )
    rows, facts = mined(inputs, tmp_path, progress)
    assert rows["q1"]["positives"] == ["d3", "d7"] and rows["q2"]["positives"] == ["x"]
    for row, last in (("q1", 201), ("q2", 199)):  # two positives at the top let two more in from below
        assert len(set(rows[row]["negatives"])) == 30
        assert all(int(name[1:]) <= last for name in rows[row]["negatives"])
    assert not {"d3", "d7"} & set(rows["q1"]["negatives"])
    assert facts["queries"] == 2 and facts["queries_with_fewer_negatives"] == 0


def test_every_candidate_is_equally_likely_and_none_comes_twice():
    used = Counter()
    for number in range(400):
        found = negatives(f"q{number}", RANKING[:20], ["d0"], depth=10, per_query=5, seed=1)
        assert len(set(found)) == 5
        used.update(found)
    assert set(used) == {f"d{rank}" for rank in range(1, 11)}
    assert min(used.values()) > 150 and max(used.values()) < 250


def test_what_is_missing_is_counted(inputs, tmp_path, progress):
    write(
        inputs,
        [("q1", ["d1"]), ("q2", ["d1", "d2"]), ("unjudged", ["d1"]), ("only-zeros", ["d1"])],
        [("q1", "d1", 1), ("q2", "d1", 1), ("q3", "d1", 1), ("only-zeros", "d1", 0)],
    )
    rows, facts = mined(inputs, tmp_path, progress)
    assert rows["q1"]["negatives"] == [] and rows["q2"]["negatives"] == ["d2"]
    assert facts == {
        "queries": 2,
        "queries_with_fewer_negatives": 2,
        "queries_not_in_run": 1,
        "queries_without_positive": 2,
    }


def test_a_broken_run_is_a_data_error_with_its_line(inputs, tmp_path, progress):
    qrels = [("q1", "d1", 1)]
    write(inputs, [("q1", RANKING[:2]), ("q2", RANKING[:2]), ("q1", RANKING[2:3])], qrels)
    with pytest.raises(DataError, match="'q1' are not consecutive"):
        mined(inputs, tmp_path, progress)
    (inputs["run"] / "run.trec").write_text("q1 Q0 d1 1 5.0 t\nq1 Q0 d2 3 4.0 t\n")
    with pytest.raises(DataError, match=r"run\.trec: query 'q1': not line 2"):
        mined(inputs, tmp_path, progress)
    (inputs["run"] / "run.trec").write_text("q1 Q0 d1 1 5.0\n")
    with pytest.raises(DataError, match=r"run\.trec: query 'q1': not line 1"):
        mined(inputs, tmp_path, progress)
    write(inputs, [("other", RANKING[:2])], qrels)
    with pytest.raises(DataError, match="no query of the run has a positive"):
        mined(inputs, tmp_path, progress)


def save_corpus(folder, names):
    Dataset.from_dict({"id": names}).save_to_disk(str(folder / "arrow"))
    return folder


def test_random_passages_fill_up_what_the_ranking_gives(inputs, tmp_path, progress):
    write(inputs, [("q1", RANKING), ("q2", RANKING[:5])], [("q1", "d3", 1), ("q2", "x7", 1)])
    corpus = save_corpus(tmp_path / "corpus", RANKING + [f"x{n}" for n in range(100)])
    rows, facts = mined(inputs | {"corpus": corpus}, tmp_path, progress, random_added=10)
    for row, random in (("q1", 10), ("q2", 35)):
        found = rows[row]["negatives"]
        assert len(set(found)) == 40
        added = [name for name in found if name not in RANKING[: 300 if row == "q1" else 5]]
        assert len(added) == random
        assert found[-random:] != added  # shuffled among the others
    assert "x7" not in rows["q2"]["negatives"]
    assert facts["queries_with_fewer_negatives"] == 0
    without, _ = mined(inputs, tmp_path, progress)
    assert set(without["q1"]["negatives"]) <= set(rows["q1"]["negatives"])


def test_random_passages_are_new_to_the_query_and_the_same_every_time():
    ids = [f"x{n}" for n in range(50)]
    for number in range(300):
        known = set(ids[number % 40 : number % 40 + 5])
        found = with_random(f"q{number}", ["a"], known, ids, count=21, seed=number)
        assert len(found) == len(set(found)) == 21 and "a" in found and not known & set(found)
        assert found == with_random(f"q{number}", ["a"], known, ids, count=21, seed=number)


def test_a_collection_with_too_few_passages_gives_all_it_has():
    found = with_random("q", ["a"], {"a", "b"}, ["a", "b", "c", "d"], count=9, seed=1)
    assert sorted(found) == ["a", "c", "d"]


LIMITS = {"depth": 200, "per_query": 30, "seed": 42}


def many(inputs, queries, depth):
    """Rankings of ``depth`` passages; every tenth query has no positive."""
    ranking = [f"d{number}" for number in range(depth)]
    run = [(f"q{n}", ranking[n % 50 :]) for n in range(queries)]
    write(inputs, run, [(f"q{n}", f"d{50 + n % 9}", int(n % 10 > 0)) for n in range(queries)])


def plainly(inputs, corpus=None, added=0):
    positives = relevant_documents(read_qrels(inputs["qrels"] / "qrels.trec"))
    for query, ranking, _ in rankings(inputs["run"] / "run.trec"):
        if wanted := positives[query]:
            found = negatives(query, ranking, wanted, **LIMITS)
            if added:
                found = with_random(query, found, {*ranking, *wanted}, corpus, count=30 + added, seed=42)
            yield {"query": query, "positives": wanted, "negatives": found}


@pytest.mark.parametrize("added", [0, 5])
def test_blocks_of_queries_have_the_rows_of_all_in_memory(inputs, tmp_path, progress, monkeypatch, added):
    monkeypatch.setattr(mine, "BLOCK", 30_000)
    many(inputs, 400, 70)
    passages = [f"d{number}" for number in range(200)]
    inputs |= {"corpus": save_corpus(tmp_path / "corpus", passages)} if added else {}
    _, facts = mined(inputs, tmp_path, progress, random_added=added)
    assert check_rows(tmp_path / "arrow", plainly(inputs, passages, added), EXAMPLES) > 1
    assert facts["queries"] == 360 and facts["queries_without_positive"] == 40
    assert len(list((tmp_path / "blocks").glob("*0.json"))) > 10


def test_killed_between_blocks_it_goes_on_to_the_same_bytes(inputs, tmp_path, monkeypatch):
    monkeypatch.setattr(mine, "BLOCK", 30_000)
    many(inputs, 100, 70)
    check_killed_between_blocks(mine, LIMITS, inputs, tmp_path)


def test_a_query_in_two_blocks_is_a_data_error(inputs, tmp_path, progress, monkeypatch):
    monkeypatch.setattr(mine, "BLOCK", 10)
    write(inputs, [("q1", RANKING[:2]), ("q2", RANKING[:2]), ("q1", RANKING[:2])], [("q1", "d1", 1)])
    with pytest.raises(DataError, match="'q1' are not consecutive"):
        mined(inputs, tmp_path, progress)


def test_memory_does_not_grow_with_the_negatives(inputs, tmp_path, progress, monkeypatch):
    monkeypatch.setattr(mine, "BLOCK", 1 << 20)
    many(inputs, 1000, 300)
    mined(inputs, inputs["qrels"], progress)
    params = LIMITS | {"per_query": 200}
    grown = peak_growth(lambda: mine.run(params, inputs, tmp_path, progress))
    assert sum(map(len, load_from_disk(str(tmp_path / "arrow"))["negatives"])) == 180_000
    assert grown < 24_000_000  # a list of all takes 203 bytes a negative: 36 MB
