import gzip

import pytest

from repro.errors import DataError
from repro.retrieval.datasets import negative_files
from repro.retrieval.datasets.arrow import EXAMPLES, write_rows
from repro.retrieval.datasets.first_rows import FirstRows
from repro.retrieval.stages import official_negatives
from tests.retrieval.datasets.folders import planned, without_counts, write, write_lines
from tests.retrieval.datasets.rows_at_once import check_rows
from tests.retrieval.datasets.triples_at_once import sampled
from tests.retrieval.stages.killed_between_blocks import check_killed_between_blocks

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


def test_a_query_without_negatives_is_left_out_and_none_at_all_is_an_error(root, tmp_path, progress):
    write(root / FILE, "1\t2\t3\n1\t3\t2\n4\t5\t6\n")
    facts, rows = _run(root, tmp_path / "out", progress)
    assert [row["query"] for row in rows] == ["4"] and facts["queries"] == 1
    write(root / FILE, "1\t2\t2\n")
    with pytest.raises(DataError, match="no query with a negative"):
        _run(root, tmp_path / "out", progress)


def test_a_file_that_is_cut_short_is_refused(tmp_path, progress):
    write(tmp_path / FILE, "1\t2\t3\n")
    with pytest.raises(DataError, match=r"1 triples, but .* has 397,768,673"):
        _run(tmp_path, tmp_path / "out", progress)


def test_judgements_give_every_positive_and_leave_the_sample_as_it_is(root, tmp_path, progress):
    qrels = tmp_path / "qrels"
    qrels.mkdir()
    (qrels / "qrels.trec").write_text("30 0 7 1\n30 0 8 0\n30 0 55 1\n30 0 99 2\n5 0 1 1\n")
    facts, rows = _run(root, tmp_path / "out", progress, per_query=1000, inputs={"qrels": qrels})
    assert [(row["query"], row["positives"]) for row in rows] == [("30", ["55", "7", "99"])]
    assert "55" in rows[0]["negatives"] and facts["queries"] == 1


CHUNKS = 10  # of `many`, before its three groups


def in_small_pieces(monkeypatch):
    monkeypatch.setattr(negative_files, "CHUNK", 8000)
    monkeypatch.setattr(official_negatives, "GROUP", 700)


@pytest.fixture
def many(root, monkeypatch):
    """2,100 queries in pieces; every fifth has one document only, which is relevant to it."""
    in_small_pieces(monkeypatch)
    rows = [(f"{n % 2100}", "7", f"{7 if n % 5 == 0 else n % 31}") for n in range(8400)]
    write(root / FILE, "".join("\t".join(row) + "\n" for row in rows))
    return root, rows


def test_pieces_of_the_triples_have_the_rows_of_all_in_memory(many, tmp_path, progress):
    root, rows = many
    facts, _ = _run(root, tmp_path / "out", progress, per_query=3)
    expected = []
    for query, entry in sampled(rows, per_query=3, seed=1).items():
        if negatives := entry.sample(without_positives=True):
            expected.append({"query": query, "positives": list(entry.positives), "negatives": negatives})
    assert check_rows(tmp_path / "out/arrow", expected, EXAMPLES) > 1
    assert 1000 < facts["queries"] == len(expected) < 2100


@pytest.mark.parametrize("places", [(1, 2), (9, 2, 1), (CHUNKS + 2,)])
def test_killed_between_blocks_it_goes_on_to_the_same_bytes(many, tmp_path, places):
    params = planned("official_negatives", many[0], dataset=ID, per_query=3, seed=1)
    check_killed_between_blocks(official_negatives, params, {}, tmp_path, places=places)


def test_a_file_that_changed_between_two_attempts_is_read_anew(many, tmp_path, progress, monkeypatch):
    root, rows = many
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(official_negatives, "RowDigest", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
        _run(root, tmp_path / "out", progress)
    write(root / FILE, "".join("\t".join(row) + "\n" for row in rows[::-1]))
    assert _run(root, tmp_path / "out", progress) == _run(root, tmp_path / "other", progress)


def test_the_first_rows_alone_are_read_and_named_by_what_was_read(many, tmp_path, progress, monkeypatch):
    monkeypatch.setattr(negative_files, "PIECE", 30)
    root, rows = many
    params = planned("official_negatives", root, dataset=ID, per_query=3, seed=1) | {"first": 100}
    write_lines(tmp_path / "queries/queries.jsonl", [{"id": "1"}, {"id": "2"}])
    write_rows([{"id": f"d{n}"} for n in range(9)], {"id": "string"}, tmp_path / "corpus/arrow")
    inputs = {"queries": tmp_path / "queries", "corpus": tmp_path / "corpus"}
    (tmp_path / "out").mkdir()
    facts = official_negatives.run(params, inputs, tmp_path / "out", progress)
    named = list(FirstRows.of(inputs).triples(rows[:100]))
    expected = sampled(named, per_query=3, seed=1)
    assert facts["queries"] == len(expected) == 2
    (tmp_path / "all").mkdir()
    without = official_negatives.run(params, {}, tmp_path / "all", progress)
    assert without["queries"] == sum(negative != "7" for _, _, negative in rows[:100])
