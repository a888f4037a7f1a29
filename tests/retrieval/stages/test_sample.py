import random

import pytest

from repro.retrieval.stages import sample
from repro.retrieval.stages.sample import places


def _run(training_set, out, progress, **changes):
    from datasets import load_from_disk

    out.mkdir()
    params = {"queries": 4, "sample": 0, "method": "random", "seed": 3} | changes
    facts = sample.run(params, {"training_set": training_set}, out, progress)
    return facts, load_from_disk(str(out / "arrow")).to_list()


def test_rows_are_those_of_the_training_set_in_its_order(training_set, tmp_path, progress):
    from datasets import load_from_disk

    whole = load_from_disk(str(training_set / "arrow")).to_list()
    facts, rows = _run(training_set, tmp_path / "out", progress)
    assert facts == {"queries": 4, "of": 10}
    assert [whole.index(row) for row in rows] == places(10, queries=4, sample=0, method="random", seed=3)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["arrow"]


def test_more_queries_than_there_are_give_all_of_them(training_set, tmp_path, progress):
    for method in ("random", "block"):
        assert _run(training_set, tmp_path / method, progress, queries=99, method=method)[0]["queries"] == 10


@pytest.mark.parametrize("method", ["random", "block"])
def test_a_share_is_of_the_queries_that_there_are(training_set, tmp_path, progress, method):
    how = {"sample": 0, "method": method, "seed": 3}
    facts = sample.run({"share": 0.3, **how}, {"training_set": training_set}, tmp_path, progress)
    assert facts == {"queries": 3, "of": 10}
    assert places(10, share=0.3, **how) == places(10, queries=3, **how)
    assert len(places(10, share=0.01, **how)) == 1 and places(10, share=1, **how) == list(range(10))


@pytest.mark.parametrize("method", ["random", "block"])
def test_samples_have_their_size_stay_in_bounds_and_differ(method):
    generator = random.Random(5)
    for _ in range(2000):
        total = generator.randint(1, 500)
        queries, seed = generator.randint(1, total), generator.randint(0, 10_000)
        chosen = places(total, queries=queries, sample=generator.randint(0, 9), method=method, seed=seed)
        assert len(chosen) == len(set(chosen)) == queries and chosen == sorted(chosen)
        assert chosen[0] >= 0 and chosen[-1] < total
        assert method == "random" or chosen[-1] - chosen[0] == queries - 1
    drawn = [tuple(places(10_000, queries=50, sample=n, method=method, seed=1000)) for n in range(3)]
    assert len(set(drawn)) == 3


def test_the_first_block_is_the_one_of_the_released_scripts():
    generator = random.Random(1000)
    start = int(generator.random() * (502_939 - 1000))
    assert places(502_939, queries=1000, sample=0, method="block", seed=1000)[0] == start
