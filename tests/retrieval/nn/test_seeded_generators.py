from __future__ import annotations

import numpy as np
import pytest

from repro.retrieval.nn.seeded_generators import seed_states, seeded_generators

LARGEST = 2**32 - 1


def keys_of(count: int, *, parts: int) -> list[tuple[int, ...]]:
    drawn = np.random.default_rng(parts).integers(0, LARGEST, (count, parts), endpoint=True)
    drawn[0], drawn[1] = 0, LARGEST
    return [tuple(key) for key in drawn.tolist()]


@pytest.mark.parametrize("parts", range(1, 8))
def test_generators_seeded_together_are_numpys_own(parts):
    keys = keys_of(50, parts=parts)
    for key, generator in zip(keys, seeded_generators(keys), strict=True):
        assert generator.bit_generator.state == np.random.default_rng(key).bit_generator.state
        assert generator.random(3).tolist() == np.random.default_rng(key).random(3).tolist()


def test_the_hash_is_that_of_a_seed_sequence():
    keys = keys_of(20, parts=5)
    expected = [np.random.SeedSequence(key).generate_state(4, np.uint64).tolist() for key in keys]
    assert seed_states(np.array(keys)).tolist() == expected


@pytest.mark.parametrize("large", [2**32, 2**63, 2**64, 10**30])
def test_numbers_of_more_than_one_word_are_left_to_numpy(large):
    keys = [(7, large), (7, 3)]
    for key, generator in zip(keys, seeded_generators(keys), strict=True):
        assert generator.bit_generator.state == np.random.default_rng(key).bit_generator.state


def test_no_key_has_no_generator():
    assert seeded_generators([]) == []
