"""numpy's random numbers for each of many examples, whose generators are seeded together."""

import functools
from collections.abc import Sequence

import numpy as np
from numpy.random.bit_generator import ISeedSequence

WORD = 1 << 32
POOL = 4
# numpy's SeedSequence: first constant and factor of its hashes in and out, and of its mixing
IN, OUT = (0x43B0D7E5, 0x931E8875), (0x8B51F9DD, 0x58F38DED)
LEFT, RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)


class _KnownState(ISeedSequence):
    """A seed sequence whose state is known, (4,) uint64."""

    def __init__(self, state: np.ndarray):
        self.state = state

    def generate_state(self, n_words: int, dtype: type = np.uint32) -> np.ndarray:
        assert (n_words, np.dtype(dtype)) == (len(self.state), self.state.dtype)
        return self.state


def seeded_generators(keys: Sequence[tuple[int, ...]]) -> list[np.random.Generator]:
    """``np.random.default_rng`` of each key, where a batch of keys is hashed at once and not one by one.

    Args:
        keys: N of equal length, of whole numbers from 0 up.
    """
    words = all(0 <= part < WORD for key in keys for part in key)  # larger numbers are several
    if not (len(keys) and words):
        return [np.random.default_rng(key) for key in keys]
    states = seed_states(np.array(keys, dtype=np.int64))  # of (N, K)
    return [np.random.Generator(np.random.PCG64(_KnownState(state))) for state in states]


def seed_states(keys: np.ndarray) -> np.ndarray:
    """``np.random.SeedSequence(key).generate_state(4, np.uint64)`` of each key: (N, K) to (N, 4).

    numpy keeps its seed sequences as they are from version to version (NEP 19). The hash is O'Neill's
    ``seed_seq_fe``: every word of a key is mixed into every word of a pool.
    """
    words = keys.T.astype(np.uint32)  # (K, N)
    first = np.zeros((POOL, len(keys)), dtype=np.uint32)
    first[: len(words)] = words[:POOL]
    pool = _hash(first, IN, 0)
    previous = POOL  # hashes
    for source in range(POOL):
        places = [place for place in range(POOL) if place != source]
        pool[places] = _mix(pool[places], _hash(pool[[source] * len(places)], IN, previous))
        previous += len(places)
    for word in words[POOL:]:
        pool = _mix(pool, _hash(np.tile(word, (POOL, 1)), IN, previous))
        previous += POOL
    state = _hash(np.concatenate((pool, pool)), OUT, 0).T  # (N, 8)
    return np.ascontiguousarray(state, dtype="<u4").view("<u8").astype(np.uint64)


@functools.cache
def _constants(start: tuple[int, int], previous: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The two constants of ``count`` hashes after ``previous`` others, (count, 1) each."""
    value, factor = start
    powers = [value * pow(factor, n, WORD) % WORD for n in range(previous, previous + count + 1)]
    column = np.array(powers, dtype=np.uint32)[:, None]
    return column[:-1], column[1:]


def _hash(words: np.ndarray, start: tuple[int, int], previous: int) -> np.ndarray:
    """The hash of each of C rows of words, (C, N), as one after the other after ``previous`` others."""
    constants, factors = _constants(start, previous, len(words))
    values = (words ^ constants) * factors
    return values ^ (values >> 16)


def _mix(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    values = left * LEFT - right * RIGHT
    return values ^ (values >> 16)
