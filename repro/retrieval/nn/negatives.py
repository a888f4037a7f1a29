"""Choice of the passages that a query is trained on in an epoch."""

from collections.abc import Sequence

import numpy as np


def next_window(
    positives: Sequence[int],
    negatives: Sequence[int],
    *,
    passages: int,
    seed: int,
    index: int,
    epoch: int,
) -> list[int]:
    """One positive, then ``passages`` - 1 negatives: another window of them every epoch.

    The rule of Tevatron's training set (tevatron/data.py): the negatives are shuffled once for a query, a
    window of ``passages`` - 1 moves on by its own length every epoch and wraps around, and the positive moves
    on by one from a random start. A query with fewer negatives than that draws them with replacement.
    Tevatron hashes the tokens with Python's ``hash``; here the shuffle depends on (seed, index) only, the
    draw with replacement on the epoch as well.

    Args:
        positives: at least one.
        negatives: at least one, unless ``passages`` is 1.
        passages: P.
        seed, index, epoch: of the training, the query's row, the pass over the rows.

    Returns:
        P entries of the two lists.
    """
    count, available = passages - 1, len(negatives)
    generator = np.random.default_rng((seed, index))
    positive = positives[(int(generator.integers(2**31)) + epoch) % len(positives)]
    if count == 0:
        return [positive]
    if available < count:
        draws = np.random.default_rng((seed, index, epoch)).integers(available, size=count)
        return [positive, *(negatives[place] for place in draws)]
    order = generator.permutation(available)
    first = epoch * count % available
    return [positive, *(negatives[order[(first + place) % available]] for place in range(count))]


def next_slice(
    positives: Sequence[int], negatives: Sequence[int], *, passages: int, seed: int, epoch: int
) -> list[int]:
    """One positive, then the next ``passages`` - 1 negatives of the list as it stands, every epoch.

    With k = epoch + ``seed``, the positive is entry k, the negatives are entries k * (P - 1) and on, both
    around the end of their lists again and again; a list shorter than P - 1 repeats itself. The lists are
    thought to be shuffled already (the loader released with Wang et al. 2023).

    Args:
        positives: at least one.
        negatives: at least one, unless ``passages`` is 1.
        passages: P.
        seed, epoch: of the training, and the pass over the rows.

    Returns:
        P entries of the two lists.
    """
    count, turn = passages - 1, epoch + seed
    choices = [negatives[(turn * count + place) % len(negatives)] for place in range(count)]
    return [positives[turn % len(positives)], *choices]


def confident(positive_scores: Sequence[float], negative_scores: Sequence[float]) -> list[int]:
    """Choose a query's positives to trust: the first, and those that score no less than it or more than every
    negative (the loader released with Wang et al. 2023).

    Args:
        positive_scores: at least one; the first is the annotated passage's.
        negative_scores: may be empty.

    Returns:
        places in ``positive_scores``, ascending.
    """
    first, best = positive_scores[0], max(negative_scores, default=-np.inf)
    return [n for n, score in enumerate(positive_scores) if n == 0 or score >= first or score > best]
