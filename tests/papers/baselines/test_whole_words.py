from __future__ import annotations

import functools

import numpy as np
import pytest

from papers.baselines.whole_words import WholeWords, covered
from repro.errors import UsageError
from tests.tiny_models import tiny_text, tiny_tokenizer


@functools.cache
def byte_level_tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    special = {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"}
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    generator = np.random.default_rng(3)
    trained.train_from_iterator(
        [tiny_text(generator, 30) for _ in range(20)],
        trainers.BpeTrainer(
            vocab_size=330,
            special_tokens=list(special.values()),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    named = {f"{name}_token": token for name, token in special.items()}
    return PreTrainedTokenizerFast(tokenizer_object=trained, **named)


TOKENIZERS = {"wordpiece": tiny_tokenizer, "byte-level": byte_level_tokenizer}


def framed(tokenizer, text: str) -> np.ndarray:
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    return np.array([tokenizer.cls_token_id, *ids, tokenizer.sep_token_id])


def test_a_word_is_a_piece_and_its_continuations():
    tokenizer = tiny_tokenizer()
    ids = framed(tokenizer, "bridges, the castle[SEP]zzz musical")
    assert tokenizer.convert_ids_to_tokens(ids) == [
        "[CLS]",
        "bridge",
        "##s",
        ",",
        "the",
        "castle",
        "[SEP]",
        "[UNK]",
        "music",
        "##al",
        "[SEP]",
    ]
    assert WholeWords.of(tokenizer).numbers(ids).tolist() == [-1, 0, 0, 1, 2, 3, -1, 4, 5, 5, -1]


def test_a_byte_level_word_begins_with_its_space_and_takes_in_what_is_written_against_it():
    tokenizer = byte_level_tokenizer()
    ids = framed(tokenizer, "the (rivers), of</s>a bridge")
    tokens, numbers = tokenizer.convert_ids_to_tokens(ids), WholeWords.of(tokenizer).numbers(ids)
    words = [
        "".join(t for t, n in zip(tokens, numbers, strict=True) if n == w) for w in range(numbers.max() + 1)
    ]
    assert words == ["the", "Ġ(rivers),", "Ġof", "a", "Ġbridge"]
    assert (numbers == -1).sum() == 3


def test_a_piece_without_the_word_before_it_is_a_word():
    words, tokenizer = WholeWords.of(tiny_tokenizer()), tiny_tokenizer()
    tail = tokenizer.convert_tokens_to_ids(["[CLS]", "##s", "##ed", "[SEP]", "##s", "[SEP]"])
    assert words.numbers(np.array(tail)).tolist() == [-1, 0, 0, -1, 1, -1]


def chosen_alone(words: WholeWords, ids: np.ndarray, *, generator, **how) -> np.ndarray:
    return words.chosen(ids, [len(ids)], generators=[generator], **how)


@pytest.mark.parametrize("kind", list(TOKENIZERS))
def test_the_quota_is_met_wherever_the_words_left_allow_and_no_word_is_split(kind):
    tokenizer = TOKENIZERS[kind]()
    words, generator = WholeWords.of(tokenizer), np.random.default_rng(11)
    exact = 0
    for _ in range(1500):
        ids = framed(tokenizer, tiny_text(generator, int(generator.integers(1, 30))))
        rate = generator.choice([0.05, 0.15, 0.3, 0.5, 0.9, 1.0])
        quota = max(1, round(rate * len(ids)))
        chosen, numbers = chosen_alone(words, ids, rate=rate, generator=generator), words.numbers(ids)
        assert not chosen[[0, -1]].any()
        for number in range(numbers.max() + 1):
            assert len(set(chosen[numbers == number])) == 1
        missing = quota - chosen.sum()
        assert missing >= 0
        left = [size for n, size in enumerate(np.bincount(numbers[1:-1])) if not chosen[numbers == n].any()]
        assert missing == 0 or all(size > missing for size in left)
        exact += missing == 0 or not left
    assert exact > 1000


def test_words_chosen_already_count_and_stay():
    tokenizer = tiny_tokenizer()
    words, generator = WholeWords.of(tokenizer), np.random.default_rng(12)
    for _ in range(300):
        ids = framed(tokenizer, tiny_text(generator, 25))
        first = chosen_alone(words, ids, rate=0.3, generator=generator)
        both = chosen_alone(words, ids, rate=0.5, generator=generator, already=first)
        assert both[first].all() and both.sum() <= round(0.5 * len(ids))
        assert round(0.5 * len(ids)) - both.sum() <= 1  # one-token words are always left here


def test_an_unknown_word_counts_towards_the_quota_and_is_left_as_it_is():
    tokenizer = tiny_tokenizer()
    words, ids = WholeWords.of(tokenizer), framed(tiny_tokenizer(), "zzz the zzz of")
    counts = [
        chosen_alone(words, ids, rate=0.5, generator=np.random.default_rng(seed)).sum() for seed in range(200)
    ]
    assert set(counts) == {1, 2}  # a quota of 3 of the 4 words, and two of these are unknown


def test_chosen_tokens_become_mask_any_token_or_stay():
    tokenizer, generator = tiny_tokenizer(), np.random.default_rng(2)
    ids, chosen = generator.integers(10, 70, 40_000), generator.random(40_000) < 0.5
    hidden = covered(
        ids, [len(ids)], chosen, tokenizer=tokenizer, mask=0.8, random=0.1, generators=[generator]
    )
    assert (hidden[~chosen] == ids[~chosen]).all()
    masked = hidden[chosen] == tokenizer.mask_token_id
    assert masked.mean() == pytest.approx(0.8, abs=0.01)
    assert (hidden[chosen] == ids[chosen]).mean() == pytest.approx(0.1, abs=0.01)
    assert set(range(len(tokenizer))) == set(hidden[chosen][~masked].tolist()) | {tokenizer.mask_token_id}


def test_a_vocabulary_without_words_is_refused():
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    letters = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE({"a": 0, "b": 1}, [])))
    with pytest.raises(UsageError, match="cannot be found in a BPE vocabulary"):
        WholeWords.of(letters)


@pytest.mark.parametrize(("quota", "count"), [("all", 9), ("text", 7), ("words", 5)])
def test_the_quota_is_a_share_of_all_tokens_of_the_text_or_of_its_words(quota, count):
    ids = framed(tiny_tokenizer(), "bridges, the castles of")
    words = WholeWords.of(tiny_tokenizer())
    for rate in (0.3, 0.5, 0.7):
        sizes = {
            int(chosen_alone(words, ids, rate=rate, generator=np.random.default_rng(seed), quota=quota).sum())
            for seed in range(40)
        }
        assert max(sizes) == max(1, round(rate * count))
    capped = chosen_alone(words, ids, rate=0.9, generator=np.random.default_rng(0), quota=quota, most=2)
    assert capped.sum() == 2


def test_a_special_token_takes_nothing_of_a_quota_of_the_text():
    tokenizer = tiny_tokenizer()
    words, ids = WholeWords.of(tokenizer), framed(tokenizer, "zzz the zzz of")
    for seed in range(50):
        how = {"rate": 0.5, "generator": np.random.default_rng(seed)}
        chosen = chosen_alone(words, ids, quota="text", **how)
        assert tokenizer.convert_ids_to_tokens(ids[chosen]) in (["the", "of"],)


@pytest.mark.parametrize("quota", ["all", "text", "words"])
@pytest.mark.parametrize("framing", [True, False])
def test_texts_end_to_end_have_the_words_that_each_has_alone(quota, framing):
    tokenizer, draws = tiny_tokenizer(), np.random.default_rng(13)
    texts = [framed(tokenizer, tiny_text(draws, n) + " zzz" * (n % 3 == 0)) for n in (9, 1, 30, 4, 0, 17)]
    texts = texts if framing else [ids[1:-1] for ids in texts]
    words, lengths = WholeWords.of(tokenizer), [len(ids) for ids in texts]
    how = {"rate": 0.4, "quota": quota}

    def generators():
        return [np.random.default_rng((5, place)) for place in range(len(texts))]

    pairs = zip(texts, generators(), strict=True)
    alone = [chosen_alone(words, ids, generator=generator, **how) for ids, generator in pairs]
    together = words.chosen(np.concatenate(texts), lengths, generators=generators(), **how)
    assert together.tolist() == np.concatenate(alone).tolist()
