from __future__ import annotations

import numpy as np
import pytest

from papers.baselines.collection_words import CollectionWords
from papers.baselines.function_words import FUNCTION_WORDS
from repro.errors import DataError, UsageError
from repro.retrieval.nn.text import Words
from tests.papers.baselines.tiny_texts import ids, save_statistics, texts
from tests.tiny_models import tiny_tokenizer

COUNTED = ["kings , king and queen queen", "the king queens queen", "river"]


@pytest.fixture(scope="module")
def words():
    return Words.of(tiny_tokenizer(), FUNCTION_WORDS)


@pytest.fixture(scope="module")
def statistics(tmp_path_factory):
    return save_statistics(tmp_path_factory.mktemp("statistics"), [ids(one) for one in COUNTED])


def collection(statistics, words, counts="collection-frequency", word_counts="rarest-piece"):
    return CollectionWords.of(statistics, words, counts=counts, word_counts=word_counts)


def test_shares_are_of_words_that_are_no_stop_words_each_counted_once(statistics, words):
    # king king queen queen | king queen queen | river: eight words, three texts
    found = collection(statistics, words)
    assert found.words_a_text == pytest.approx(8 / 3)
    asked = [ids("queen"), ids("river"), ids("king"), ids("kings"), ids("queens")]
    assert found.probabilities(asked) == pytest.approx([4 / 8, 1 / 8, 3 / 8, 2 / 8, 2 / 8])
    assert found.relative_frequencies(asked) == pytest.approx(found.probabilities(asked))


def test_document_frequencies_count_texts(statistics, words):
    found = collection(statistics, words, counts="document-frequency")
    asked = [ids("queen"), ids("kings")]  # king in two texts, queen in two, river in one; ##s in two
    assert found.probabilities(asked) == pytest.approx([2 / 5, 2 / 5])
    assert found.relative_frequencies(asked) == pytest.approx([4 / 8, 2 / 8])


def test_pieces_may_be_taken_as_independent_and_unseen_ones_count_once(statistics, words):
    found = collection(statistics, words, word_counts="product")
    assert found.probabilities([ids("kings"), ids("castle")]) == pytest.approx([3 / 8 * 2 / 8, 1 / 8])
    assert found.probabilities([]).shape == (0,)


def test_words_are_drawn_by_their_share_and_are_words(tmp_path, words):
    found = collection(save_statistics(tmp_path, texts(300)), words)
    counts = np.zeros(len(tiny_tokenizer()))
    generator = np.random.default_rng(0)
    for _ in range(20_000):
        counts[found.drawn(1, generator=generator)] += 1
    assert (counts > 0).tolist() == (words.alone & (found.shares > 0)).tolist()
    assert counts[words.alone] / 20_000 == pytest.approx(found.shares[words.alone], abs=0.006)
    several = found.drawn(500, generator=generator)
    assert (np.diff(several) > 0).all() and found.drawn(0, generator=generator).shape == (0,)


def test_unknown_names_and_unfit_files_are_said(statistics, words, tmp_path):
    with pytest.raises(UsageError, match="'tf' is not a known count of words"):
        collection(statistics, words, counts="tf")
    with pytest.raises(UsageError, match="'first' is not a known count of words in pieces"):
        collection(statistics, words, word_counts="first")
    with pytest.raises(DataError, match="cannot be read as term statistics"):
        collection(tmp_path, words)
    np.save(tmp_path / "collection_frequency.npy", np.ones(3, dtype=np.int64))
    with pytest.raises(DataError, match="not of a vocabulary of"):
        collection(tmp_path, words)
    np.save(tmp_path / "collection_frequency.npy", np.ones(len(tiny_tokenizer()), dtype=np.int64))
    with pytest.raises(DataError, match="has no number of texts"):
        collection(tmp_path, words)
