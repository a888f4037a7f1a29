import gzip

import pytest

from repro.errors import DataError
from repro.stages import official_negatives
from tests.datasets.folders import planned, without_counts, write

ID = "msmarco-passage/train/triples-v2"
FILE = "msmarco-passage/qidpidtriples.train.full.2.tsv"
ROWS = [(q, p, f"{n}") for q, p in (("30", "7"), ("4", "8"), ("30", "9")) for n in range(10, 60)]


def _run(root, out, progress, *, per_query=30, seed=1, inputs=None):
    from datasets import load_from_disk

    params = planned("official_negatives", root, dataset=ID, per_query=per_query, seed=seed)
    out.mkdir(exist_ok=True)
    facts = official_negatives.run(params, inputs or {}, out, progress)
    return facts, load_from_disk(str(out / "arrow")).to_list()


@pytest.fixture
def root(tmp_path, monkeypatch):
    without_counts(monkeypatch, ID)
    write(tmp_path / FILE, "".join("\t".join(row) + "\n" for row in ROWS))
    return tmp_path


def test_triples_are_grouped_by_query_and_sampled(root, tmp_path, progress):
    facts, rows = _run(root, tmp_path / "out", progress)
    assert [(row["query"], row["positives"]) for row in rows] == [("30", ["7", "9"]), ("4", ["8"])]
    assert all(len(set(row["negatives"])) == 30 for row in rows)
    assert rows[0]["negatives"] != rows[1]["negatives"]
    assert (facts["queries"], facts["negatives"]) == (2, 60)


def test_the_seed_decides_and_the_packing_does_not(root, tmp_path, progress):
    first = _run(root, tmp_path / "a", progress)
    assert _run(root, tmp_path / "b", progress) == first
    assert _run(root, tmp_path / "c", progress, seed=2)[1] != first[1]
    plain = root / FILE
    with gzip.open(f"{plain}.gz", "wb") as file:
        file.write(plain.read_bytes())
    plain.unlink()
    assert _run(root, tmp_path / "d", progress) == first


def test_a_query_with_few_negatives_keeps_them_all(root, tmp_path, progress):
    _, rows = _run(root, tmp_path / "out", progress, per_query=1000)
    assert sorted(rows[1]["negatives"], key=int) == [f"{n}" for n in range(10, 60)]


def test_a_query_without_negatives_is_left_out_and_none_at_all_is_an_error(root, tmp_path, progress):
    write(root / FILE, "1\t2\t3\n1\t3\t2\n4\t5\t6\n")
    facts, rows = _run(root, tmp_path / "out", progress)
    assert [row["query"] for row in rows] == ["4"] and facts["queries"] == 1
    write(root / FILE, "1\t2\t2\n")
    with pytest.raises(DataError, match="no query with a negative"):
        _run(root, tmp_path / "out", progress)


def test_a_file_that_is_cut_short_is_refused(tmp_path, progress):
    write(tmp_path / FILE, "1\t2\t3\n")
    with pytest.raises(DataError, match=r"1 triples where .* has 397,768,673"):
        _run(tmp_path, tmp_path / "out", progress)


def test_judgements_give_every_positive_and_leave_the_sample_as_it_is(root, tmp_path, progress):
    qrels = tmp_path / "qrels"
    qrels.mkdir()
    (qrels / "qrels.trec").write_text("30 0 7 1\n30 0 8 0\n30 0 55 1\n30 0 99 2\n5 0 1 1\n")
    facts, rows = _run(root, tmp_path / "out", progress, per_query=1000, inputs={"qrels": qrels})
    assert [(row["query"], row["positives"]) for row in rows] == [("30", ["55", "7", "99"])]
    assert "55" in rows[0]["negatives"] and facts["queries"] == 1  # query 4 has no judgement
