from collections import Counter

import numpy as np
import pytest

from repro.retrieval.stages.finetune import confident, next_slice, next_window


def groups(positives, negatives, *, passages=8, seed=42, index=0, epochs=12):
    return [
        next_window(positives, negatives, passages=passages, seed=seed, index=index, epoch=epoch)
        for epoch in range(epochs)
    ]


def test_windows_go_once_through_the_negatives_before_any_comes_again():
    found = groups([0], list(range(1, 29)), epochs=4)  # 4 windows of 7 are all 28 negatives
    assert [len(one) for one in found] == [8] * 4
    assert all(one[0] == 0 for one in found)
    assert sorted(negative for one in found for negative in one[1:]) == list(range(1, 29))
    assert groups([0], list(range(1, 29)), epochs=5)[4] == found[0]


def test_a_window_wraps_around_without_taking_a_negative_twice():
    for negatives in (7, 8, 10, 30):
        for one in groups([0], list(range(1, negatives + 1)), epochs=30):
            assert len(set(one[1:])) == 7


def test_positives_take_turns():
    used = Counter(one[0] for one in groups([100, 101, 102], list(range(30)), epochs=12))
    assert used == {100: 4, 101: 4, 102: 4}
    begun = {groups([100, 101, 102], list(range(30)), index=index, epochs=1)[0][0] for index in range(20)}
    assert begun == {100, 101, 102}  # each query begins at random


def test_the_choice_depends_on_seed_index_and_epoch_only():
    pool = list(range(1, 31))
    assert groups([0], pool) == groups([0], pool)
    assert groups([0], pool) != groups([0], pool, seed=43)
    assert groups([0], pool) != groups([0], pool, index=1)
    assert groups([0], pool, index=1) != groups([0], pool, seed=43)  # seeds do not share their shuffles


def test_too_few_negatives_are_drawn_with_replacement_anew_every_epoch():
    found = groups([0], [1, 2, 3], epochs=20)
    assert all(len(one) == 8 and set(one[1:]) <= {1, 2, 3} for one in found)
    assert len({tuple(one) for one in found}) > 10
    assert found == groups([0], [1, 2, 3], epochs=20)


def test_one_passage_is_the_positive_alone():
    assert groups([5], [], passages=1, epochs=2) == [[5], [5]]


def test_slices_written_as_loops():
    draw = np.random.default_rng(0)
    for _ in range(1000):
        positives, negatives = (list(range(draw.integers(1, 9))) for _ in range(2))
        passages, seed, epoch = (int(draw.integers(1, 20)) for _ in range(3))
        around = negatives * (passages * (seed + epoch) // len(negatives) + passages)
        start = (epoch + seed) * (passages - 1)
        expected = [(positives * 40)[epoch + seed], *around[start : start + passages - 1]]
        assert next_slice(positives, negatives, passages=passages, seed=seed, epoch=epoch) == expected


@pytest.mark.parametrize(
    ("positives", "negatives", "kept"),
    [
        ([1000.0, 9.0, 8.0, 7.0], [7.5, 2.0], [0, 1, 2]),
        ([1000.0, 9.0], [9.0], [0]),
        ([5.0, 5.0, 6.0, 4.0], [9.0], [0, 1, 2]),
        ([1.0, 2.0], [], [0, 1]),
    ],
)
def test_confident_positives_beat_the_first_or_every_negative(positives, negatives, kept):
    assert confident(positives, negatives) == kept
