import random
import tempfile
from pathlib import Path

import pytest

from repro.retrieval.datasets.negative_files import Chunk
from repro.retrieval.stages import official_negatives
from repro.retrieval.stages.official_negatives import TripleSamples
from tests.bounded_memory import peak_growth
from tests.retrieval.datasets.triples_at_once import sampled


def chunked(rows, size):
    for first in range(0, len(rows), size):
        text = "".join("\t".join(row) + "\n" for row in rows[first : first + size])
        yield Chunk(Path("triples.tsv"), first + 1, text.encode())


def lists(samples, judged=None):
    """Query -> positives, negatives, in the order of the rows."""
    tables = (table for group in samples.groups() for table in samples.rows(group, judged))
    return {r["query"]: (r["positives"], r["negatives"]) for table in tables for r in table.to_pylist()}


def drawn(rows, *, size=30, **how):
    with tempfile.TemporaryDirectory() as folder:
        samples = TripleSamples(Path(folder), positives=True, **how)
        assert sum(map(samples.add, chunked(rows, size))) == len(rows)
        return {query: negatives for query, (_, negatives) in lists(samples).items()}


ROWS = [(str(q), f"p{q}", f"n{n}") for q in (2, 1) for n in range(50)]


def test_the_sample_depends_on_the_seed_alone():
    first = drawn(ROWS, per_query=7, seed=1)
    again = drawn(ROWS * 2, per_query=7, seed=1)
    mixed = random.Random(5).sample(ROWS, len(ROWS))
    turned = drawn(mixed, per_query=7, seed=1)
    other = drawn(ROWS, per_query=7, seed=2)
    assert first == again == turned and list(first) == ["2", "1"]
    assert first != other and first["1"] != first["2"]
    assert all(len(set(sample)) == 7 for sample in first.values())


@pytest.mark.parametrize("size", [97, 5000])
@pytest.mark.parametrize("order", ["shuffled", "by query"])
@pytest.mark.parametrize("per_query", [1, 9, 500])
def test_the_sample_is_that_of_a_heap_for_each_query(tmp_path, monkeypatch, size, order, per_query):
    monkeypatch.setattr(official_negatives, "GROUP", 16)
    monkeypatch.setattr(official_negatives, "ROWS", 7)
    draw = random.Random(size)
    rows = [
        (f"q{draw.randrange(60)}", f"d{draw.randrange(3)}", f"d{draw.randrange(90)}") for _ in range(3000)
    ]
    rows = sorted(rows) if order == "by query" else rows
    expected = sampled(rows, per_query=per_query, seed=3)
    for judged in (None, {f"q{n}": [f"d{n}"] for n in range(40)}):
        how = {"per_query": per_query, "seed": 3, "positives": judged is None}
        samples = TripleSamples(tmp_path / str(judged is None), **how)
        assert sum(map(samples.add, chunked(rows, size))) == 3000 and len(samples.groups()) == 4
        wanted = {
            query: (positives, negatives)
            for query, entry in expected.items()
            if (positives := list(entry.positives) if judged is None else judged.get(query))
            and (negatives := entry.sample(without_positives=judged is None))
        }
        assert lists(samples, judged) == wanted and list(lists(samples, judged)) == list(wanted)


def test_an_interrupted_attempt_keeps_its_chunks(tmp_path, monkeypatch):
    rows = [(f"q{n % 7}", f"p{n % 3}", f"n{n}") for n in range(200)]
    how = {"per_query": 5, "seed": 1, "positives": True}
    whole = TripleSamples(tmp_path / "straight", **how)
    sum(map(whole.add, chunked(rows, 30)))
    killed = TripleSamples(tmp_path / "killed", **how)
    for _, chunk in zip(range(4), chunked(rows, 30), strict=False):
        killed.add(chunk)
    parsed, table = [], Chunk.table
    monkeypatch.setattr(Chunk, "table", lambda self: parsed.append(self.first) or table(self))
    again = TripleSamples(tmp_path / "killed", **how)
    assert sum(map(again.add, chunked(rows, 30))) == 200 and parsed == [121, 151, 181]
    assert lists(again) == lists(whole)


def test_memory_holds_a_chunk_and_a_group_however_many_rows_there_are(tmp_path, monkeypatch):
    monkeypatch.setattr(official_negatives, "GROUP", 500)

    def work(chunks: int) -> None:
        samples = TripleSamples(tmp_path / str(chunks), per_query=200, seed=1, positives=False)
        for number in range(chunks):
            text = "".join(f"{n % 9000}\t0\t{number * 40_000 + n}\n" for n in range(40_000))
            samples.add(Chunk(Path("triples.tsv"), 1 + number * 40_000, text.encode()))
        tables = (table for group in samples.groups() for table in samples.rows(group, {"0": ["1"]}))
        assert sum(map(len, tables)) == 1

    work(1)
    assert peak_growth(lambda: work(14)) < 60_000_000  # of 560,000 rows, for which heaps take 105 MB
