import numpy as np
import pytest

from repro.retrieval.nn.text import Words, distinct, passage_rows, tokenised
from repro.retrieval.nn.tokens import paired_rows
from tests.tiny_models import tiny_text, tiny_tokenizer

TITLES = ["king", "", "river bridge"]
TEXTS = ["the king was in battle", "music", "stone " * 30]
STOP_WORDS = ("The", "of", "as", "kings")


def written(batch):
    tokens = [tiny_tokenizer().convert_ids_to_tokens(row) for row in batch["input_ids"]]
    return [" ".join(token for token in row if token != "[PAD]") for row in tokens]


def test_a_pair_is_two_segments_and_a_text_without_its_first_is_one():
    batch = paired_rows(tiny_tokenizer(), TITLES, TEXTS, length=12).inputs()
    assert written(batch)[:2] == ["[CLS] king [SEP] the king was in battle [SEP]", "[CLS] music [SEP]"]
    assert batch["token_type_ids"][0].tolist() == [0] * 3 + [1] * 6 + [0] * 3
    assert batch["token_type_ids"][1].tolist() == [0] * 12
    assert batch["attention_mask"].sum(dim=1).tolist() == [9, 3, 12]
    assert {tuple(value.shape) for value in batch.values()} == {(3, 12)}


def test_the_longer_of_the_two_is_cut():
    pairs = ["river " * 20, "river " * 20], ["stone", "stone " * 20]
    assert written(paired_rows(tiny_tokenizer(), *pairs, length=10).inputs()) == [
        "[CLS] " + "river " * 6 + "[SEP] stone [SEP]",
        "[CLS] " + "river " * 3 + "[SEP] " + "stone " * 4 + "[SEP]",
    ]


def test_any_other_separator_joins_title_and_text_into_one_segment():
    batch = passage_rows(tiny_tokenizer(), TITLES, TEXTS, length=12, separator="[SEP]").inputs()
    assert written(batch)[0] == "[CLS] king [SEP] the king was in battle [SEP]"
    assert set(batch) == set(tokenised(tiny_tokenizer(), TEXTS, length=12))
    paired = passage_rows(tiny_tokenizer(), TITLES, TEXTS, length=12, separator="pair").inputs()
    assert (paired["input_ids"] == batch["input_ids"]).all() and "token_type_ids" in paired


@pytest.fixture(scope="module")
def words():
    return Words.of(tiny_tokenizer(), STOP_WORDS)


def ids(*tokens: str) -> np.ndarray:
    return np.array(tiny_tokenizer().convert_tokens_to_ids(list(tokens)))


def text(input_ids) -> str:
    return "".join(tiny_tokenizer().convert_ids_to_tokens(input_ids)).replace("##", "")


def texts(count: int) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    written = [tiny_text(generator, int(n)) for n in generator.integers(1, 60, count)]
    return [np.array(tiny_tokenizer()(one, add_special_tokens=False)["input_ids"]) for one in written]


def test_words_are_found_once_in_order_without_marks_stop_words_and_special_tokens(words):
    row = ids("the", "king", "##s", ",", "of", "bridge", "##s", "[UNK]", "as", "as", "##ing", "(", "orbit")
    assert [text(row[a:b]) for a, b in words.spans(row)] == ["bridges", "asing", "orbit"]


def test_the_tail_of_a_cut_word_is_no_word(words):
    assert words.spans(ids("##ness", "##er", "##s", "orbit")).tolist() == [[3, 4]]
    assert words.spans(ids("##ness")).shape == (0, 2)


def test_entries_alone_are_the_words_of_one_piece(words):
    for entry in range(len(tiny_tokenizer())):
        assert words.alone[entry] == (len(words.spans(np.array([entry]))) == 1)


def test_occurrences_of_a_word_have_its_number(words):
    for row in [*texts(300), ids("the")]:
        spans = words.spans(row)
        first, numbers = distinct(row, spans)
        written = [text(row[a:b]) for a, b in spans.tolist()]
        assert [text(row[a:b]) for a, b in first.tolist()] == list(dict.fromkeys(written))
        assert [text(row[slice(*first[n].tolist())]) for n in numbers] == written
        assert (np.diff(first[:, 0]) > 0).all()


class Entries(list):
    all_special_ids = (0,)

    def convert_ids_to_tokens(self, numbers):
        return [self[n] for n in numbers]


def test_words_may_be_of_letters_only_or_take_in_marks():
    entries = Entries(["[UNK]", "the", "king", "##s", ",", "18", "b", "##2"])
    row = np.array([1, 2, 3, 4, 5, 6, 7, 5, 3, 0])
    found = {
        kind: ["".join(entries[n] for n in row[a:b]) for a, b in Words.of(entries, [], kind=kind).spans(row)]
        for kind in ("words", "letters", "marks")
    }
    assert found["words"] == ["the", "king##s", "18", "b##2", "18##s"]
    assert found["letters"] == ["the", "king##s"]
    assert found["marks"] == ["the", "king##s", ",", "18", "b##2", "18##s"]
    assert Words.of(entries, [], kind="letters").alone.nonzero()[0].tolist() == [1, 2, 6]
