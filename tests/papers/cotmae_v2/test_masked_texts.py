from __future__ import annotations

import numpy as np
import pytest
import torch

from papers.baselines.whole_words import WholeWords
from papers.cotmae_v2.contexts import Contexts
from papers.cotmae_v2.masked_texts import AnchorsAndContexts, Masking, causal
from repro.errors import UsageError
from repro.retrieval.nn.masked_tokens import IGNORED
from tests.papers.cotmae_v2.pretraining import FixedTexts, made, rows
from tests.tiny_models import tiny_text, tiny_tokenizer

WHOLE_WORD = {"whole_word": True, "mask": 0.8, "random": 0.1}
PRINTED = {"whole_word": False, "mask": 1.0, "random": 0.0}


def tokens(text: str) -> np.ndarray:
    return np.array(tiny_tokenizer()(text, add_special_tokens=False)["input_ids"], dtype=np.int64)


def masked(text, generator, **given):
    own = {"tokenizer": tiny_tokenizer(), "words": WholeWords.of(tiny_tokenizer())}
    rows = Masking(**given)([text], generators=[generator], **own)
    return rows.clean, rows.fed, rows.labels


def texts(count: int, *, seed: int = 3) -> tuple[list[np.ndarray], list[np.ndarray]]:
    generator = np.random.default_rng(seed)
    drawn = [tokens(tiny_text(generator, int(generator.integers(2, 12)))) for _ in range(2 * count)]
    return drawn[:count], drawn[count:]


def collation(**changes) -> AnchorsAndContexts:
    given = {
        "decoders": ["auto_encoding", "auto_regressive"],
        "same_context": False,
        "both": False,
        "windows": "shared",
        "encoder": Masking(rate=0.3, **WHOLE_WORD),
        "decoder": Masking(rate=0.45, **WHOLE_WORD),
        "with_sep": True,
        "seed": 7,
    }
    return AnchorsAndContexts(tiny_tokenizer(), FixedTexts(*texts(4)), **(given | changes))


class LongTexts(Contexts):
    """In the place of the sampler: texts of three times its room, and its own windows of them."""

    def __init__(self, room: int):
        super().__init__(kinds=["nearby"], room=room, truncation="random", seed=7)
        generator = np.random.default_rng(11)
        self.long = [tokens(tiny_text(generator, 4 * room))[: 3 * room] for _ in range(8)]

    def draw(self, example, count, *, whole=False):
        anchor, other = self.long[example["index"]], self.long[4 + example["index"]]
        cut = np.random.default_rng(example["index"])
        texts = [text if whole else self.window(text, cut) for text in (anchor, other)]
        return texts[0], texts[1:]


def official_mask(text: list[int], rate: float, generator: np.random.Generator) -> list[bool]:
    """Whole words of a window, by loops: in random order, one that would exceed the quota is passed over."""
    entries, words = tiny_tokenizer().convert_ids_to_tokens(text), []
    for place, entry in enumerate(entries):
        if words and entry.startswith("##"):
            words[-1].append(place)
        else:
            words.append([place])
    quota, covered = max(1, round(len(text) * rate)), []
    for number in generator.permutation(len(words)):
        if len(covered) >= quota:
            break
        if len(covered) + len(words[number]) <= quota:
            covered += words[number]
    return [place in covered for place in range(len(text))]


EXAMPLES = [{"epoch": 0, "index": index} for index in range(4)]


def test_thousands_of_whole_word_masks_keep_their_quota_their_words_and_their_frame():
    tokenizer, generator = tiny_tokenizer(), np.random.default_rng(1)
    words, fed = WholeWords.of(tokenizer), []
    for _ in range(2000):
        text = tokens(tiny_text(generator, int(generator.integers(1, 25))))
        rate = float(generator.choice([0.15, 0.3, 0.45]))
        clean, ids, labels = masked(text, generator, rate=rate, **WHOLE_WORD)
        assert clean[0] == ids[0] == tokenizer.cls_token_id and clean[-1] == ids[-1] == tokenizer.sep_token_id
        assert (clean[1:-1] == text).all() and labels[0] == labels[-1] == IGNORED
        chosen = labels != IGNORED
        assert (labels[chosen] == clean[chosen]).all() and (ids[~chosen] == clean[~chosen]).all()
        numbers = words.numbers(clean)
        assert all(len(set(chosen[numbers == word])) == 1 for word in range(numbers.max() + 1))
        assert chosen.sum() <= max(1, round(rate * len(text)))
        fed += list(zip(ids[chosen], clean[chosen], strict=True))
    shares = np.array([(new == tokenizer.mask_token_id, new == old) for new, old in fed]).mean(axis=0)
    assert shares == pytest.approx([0.8 + 0.1 / len(tokenizer), 0.1 + 0.1 / len(tokenizer)], abs=0.01)


def test_thousands_of_masks_as_printed_hide_each_token_by_itself():
    tokenizer, generator = tiny_tokenizer(), np.random.default_rng(2)
    hidden, all_tokens = 0, 0
    for _ in range(2000):
        text = tokens(tiny_text(generator, 12))
        clean, ids, labels = masked(text, generator, rate=0.3, **PRINTED)
        chosen = labels != IGNORED
        assert (ids == np.where(chosen, tokenizer.mask_token_id, clean)).all() and not chosen[[0, -1]].any()
        hidden, all_tokens = hidden + chosen.sum(), all_tokens + len(text)
    assert hidden / all_tokens == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize("unit", [WHOLE_WORD, PRINTED])
def test_special_tokens_are_never_predicted_and_an_empty_text_has_nothing_to_predict(unit):
    generator, unknown = np.random.default_rng(1), np.array([1, 20, 1, 3, 21])
    for _ in range(200):
        _, ids, labels = masked(unknown, generator, rate=1.0, **unit)
        assert (labels[[1, 3, 4]] == IGNORED).all() and (ids[[1, 3, 4]] == [1, 1, 3]).all()
    clean, ids, labels = masked(np.array([], dtype=np.int64), generator, rate=1.0, **unit)
    assert clean.tolist() == ids.tolist() == [2, 3] and (labels == IGNORED).all()


@pytest.mark.parametrize("with_sep", [True, False])
def test_each_place_predicts_the_next_token(with_sep):
    last = 3 if with_sep else IGNORED
    rows = causal([np.array([20, 21, 22]), np.array([])], tiny_tokenizer(), with_sep=with_sep)
    assert rows.clean.tolist() == rows.fed.tolist() == [2, 20, 21, 22, 3, 2, 3]
    assert rows.labels.tolist() == [20, 21, 22, last, IGNORED, last, IGNORED]
    assert rows.lengths.tolist() == [5, 2]


def shown(batch: dict, side: str) -> list[list[int]]:
    kept = zip(batch[f"{side}_clean"].tolist(), batch[f"{side}_attention"].sum(dim=1).tolist(), strict=True)
    return [ids[1 : length - 1] for ids, length in kept]


@pytest.mark.parametrize("same", [True, False])
def test_only_anchors_are_encoded_and_each_decoder_reads_its_context(same):
    batch, (anchors, contexts) = collation(same_context=same)(EXAMPLES), texts(4)
    assert shown(batch, "encoder") == [text.tolist() for text in anchors]
    assert shown(batch, "auto_encoding") == [text.tolist() for text in contexts]
    second = contexts if same else [np.roll(text, 1) for text in contexts]
    assert shown(batch, "auto_regressive") == [text.tolist() for text in second]
    for name in ("auto_encoding", "auto_regressive"):
        assert batch[f"{name}_sources"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("same", [True, False])
def test_where_both_are_encoded_each_is_rebuilt_from_the_other(same):
    batch, (anchors, contexts) = collation(same_context=same, both=True)(EXAMPLES), texts(4)
    encoded = shown(batch, "encoder")
    assert len(encoded) == 4 * (2 if same else 3)
    for name, draw in (("auto_encoding", 0), ("auto_regressive", 0 if same else 1)):
        own = [np.roll(text, draw).tolist() for text in contexts]
        assert shown(batch, name) == own + [text.tolist() for text in anchors]
        sources = [encoded[place] for place in batch[f"{name}_sources"]]
        assert sources == [text.tolist() for text in anchors] + own


def test_sides_are_masked_independently_and_the_auto_regressive_one_not_at_all():
    same = collation(decoder=Masking(rate=0.3, **WHOLE_WORD))
    anchors, _ = texts(4)
    same.contexts = FixedTexts(anchors, anchors)
    batch = same(EXAMPLES)
    assert torch.equal(batch["encoder_clean"], batch["auto_encoding_clean"])
    assert (batch["encoder_labels"] != batch["auto_encoding_labels"]).any()
    assert torch.equal(batch["auto_regressive_ids"], batch["auto_regressive_clean"])


def test_windows_apart_lay_the_mask_of_one_window_over_another():
    """As the first version's released collation does, written out as loops."""
    room, sampler = 20, LongTexts(20)
    made_of = collation(windows="apart", both=True, decoders=["auto_encoding"])
    made_of.contexts = sampler
    batch, differing = made_of(EXAMPLES), 0
    for side, rate, slots in (("encoder", 0.3, (0, 4)), ("auto_encoding", 0.45, (4, 0))):
        stream = {"encoder": 1, "auto_encoding": 2}[side]
        generators = [np.random.default_rng((7, stream, 0, index)) for index in range(4)]
        for place, slot in enumerate(slots):
            for index, generator in enumerate(generators):
                text, row = sampler.long[slot + index], 4 * place + index
                read, marked = (int(generator.integers(2 * room + 1)) for _ in range(2))
                window = text[read : read + room].tolist()
                chosen = official_mask(text[marked : marked + room].tolist(), rate, generator)
                generator.random(room), generator.integers(0, 9, room)
                assert batch[f"{side}_clean"][row].tolist()[1:-1] == window
                expected = [token if hit else IGNORED for token, hit in zip(window, chosen, strict=True)]
                assert batch[f"{side}_labels"][row].tolist() == [IGNORED, *expected, IGNORED]
                differing += read != marked
    assert differing > 10
    assert (batch["encoder_clean"][:4] != batch["auto_encoding_clean"][4:]).any(dim=1).sum() >= 3


def test_a_text_that_fits_is_masked_by_whole_words_under_either_choice():
    for windows in ("shared", "apart"):
        made_of = collation(windows=windows, decoders=["auto_encoding"])
        made_of.contexts.window = lambda text, generator: text
        batch = made_of(EXAMPLES)
        numbers = WholeWords.of(tiny_tokenizer()).numbers
        for clean, labels in zip(batch["encoder_clean"], batch["encoder_labels"], strict=True):
            words, chosen = numbers(clean.numpy()), (labels != IGNORED).numpy()
            assert all(len(set(chosen[words == word])) == 1 for word in range(words.max() + 1))


def test_the_encoders_texts_and_masks_stay_when_decoders_are_left_out():
    whole = made().collate(rows())
    for name in ("auto_encoding", "auto_regressive"):
        part = made(decoders=[name]).collate(rows())
        assert all(torch.equal(part[key], whole[key]) for key in part if key.startswith("encoder"))
    part = made(decoders=["auto_encoding"]).collate(rows())
    assert all(torch.equal(part[key], whole[key]) for key in part)


@pytest.mark.parametrize(
    "wrong", [{"rate": 1.1}, {"rate": -0.1}, {"mask": 0.95}, {"mask": -0.1}, {"random": -0.1}]
)
def test_a_mask_that_cannot_be_is_a_usage_error(wrong):
    with pytest.raises(UsageError):
        Masking(**({"rate": 0.3} | WHOLE_WORD | wrong))
