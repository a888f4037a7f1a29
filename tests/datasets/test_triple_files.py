import random

import pytest

from repro.datasets.triple_files import sampled, triples
from repro.errors import DataError


def drawn(rows, **how):
    return {query: entry.sample(without_positives=True) for query, entry in sampled(rows, **how).items()}


def test_rows_of_three_ids_are_read_and_others_refused(tmp_path):
    path = tmp_path / "triples.tsv"
    path.write_bytes(b"1\t10\t20\r\n1\t10\t21\r\n")
    assert list(triples(path)) == [("1", "10", "20"), ("1", "10", "21")]
    path.write_bytes(b"1\t10\t20\n1\t10\x00\t20\n")
    with pytest.raises(DataError, match=r"triples\.tsv:2: the id '10\\x00' has a control character"):
        list(triples(path))
    path.write_bytes(b"1\t10\t20\n1\t10\n")
    with pytest.raises(DataError, match=r"triples\.tsv:2: has 2 columns instead of 3"):
        list(triples(path))


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


def test_fewer_negatives_than_asked_are_all_kept_in_random_order():
    found = sampled(ROWS[:5], per_query=30, seed=1)["2"].sample(without_positives=True)
    assert sorted(found) == [f"n{n}" for n in range(5)] and found != sorted(found)


def test_a_relevant_document_of_another_row_is_no_negative():
    rows = [("1", "a", "b"), ("1", "b", "c")]
    found = sampled(rows, per_query=5, seed=0)["1"]
    assert list(found.positives) == ["a", "b"] and found.sample(without_positives=True) == ["c"]
    assert sorted(found.sample(without_positives=False)) == ["b", "c"]


def test_every_negative_is_as_likely_as_any_other():
    counts = dict.fromkeys((f"n{n}" for n in range(20)), 0)
    for seed in range(1000):
        for negative in drawn([("1", "p", n) for n in counts], per_query=5, seed=seed)["1"]:
            counts[negative] += 1
    # 1000 draws of 5 from 20: 250 each, standard deviation sqrt(1000 * 1/4 * 3/4) = 13.7
    assert all(abs(count - 250) < 4 * 13.7 for count in counts.values())
