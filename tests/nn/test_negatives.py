from __future__ import annotations

from collections import Counter

from repro.nn.negatives import group


def groups(positives, negatives, *, passages=8, seed=42, index=0, epochs=12):
    return [
        group(positives, negatives, passages=passages, seed=seed, index=index, epoch=epoch)
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


def test_the_choice_depends_on_seed_index_and_epoch_only():
    pool = list(range(1, 31))
    assert groups([0], pool) == groups([0], pool)
    assert groups([0], pool) != groups([0], pool, seed=43)
    assert groups([0], pool) != groups([0], pool, index=1)


def test_too_few_negatives_are_drawn_with_replacement_anew_every_epoch():
    found = groups([0], [1, 2, 3], epochs=20)
    assert all(len(one) == 8 and set(one[1:]) <= {1, 2, 3} for one in found)
    assert len({tuple(one) for one in found}) > 10
    assert found == groups([0], [1, 2, 3], epochs=20)


def test_one_passage_is_the_positive_alone():
    assert groups([5], [], passages=1, epochs=2) == [[5], [5]]
