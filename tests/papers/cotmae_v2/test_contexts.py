from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from papers.cotmae_v2.contexts import KINDS, Contexts, other_span, overlapping
from repro.errors import DataError, UsageError

ROOM = 40


def document(seed: int, *, spans: int | None = None) -> dict:
    """A document whose token ids are their own places, so that a text tells where it is from."""
    draw = np.random.default_rng((9, seed))
    count = spans or int(draw.choice([2, 3, 5, 12, 300], p=[0.3, 0.3, 0.2, 0.15, 0.05]))
    sentences_of_spans = draw.integers(1, 9, count)
    sentences = draw.integers(1, draw.choice([4, 25, 80]), sentences_of_spans.sum())
    return {
        "input_ids": np.arange(sentences.sum()),
        "sentences": sentences,
        "spans": sentences_of_spans,
        "epoch": 0,
        "index": seed,
    }


def contexts(*kinds, room=ROOM, truncation="random", seed=42):
    return Contexts(kinds=kinds or KINDS, room=room, truncation=truncation, seed=seed)


def bounds(lengths) -> list[tuple[int, int]]:
    ends = np.cumsum(lengths).tolist()
    return list(zip([0, *ends], ends, strict=False))


def span_bounds(example) -> list[tuple[int, int]]:
    sentences = bounds(example["sentences"])
    return [(sentences[a][0], sentences[b - 1][1]) for a, b in bounds(example["spans"])]


def span_of(text, example) -> int:
    (place,) = [n for n, (a, b) in enumerate(span_bounds(example)) if a <= text[0] and text[-1] < b]
    return place


def contiguous(text) -> bool:
    return len(text) > 0 and text.tolist() == list(range(text[0], text[0] + len(text)))


@pytest.mark.parametrize("truncation", ["random", "head"])
def test_every_text_is_a_run_of_the_document_that_fits(truncation):
    for seed in range(2000):
        example = document(seed)
        anchor, others = contexts(truncation=truncation).draw(example, 3)
        assert len(others) == 3
        for text in (anchor, *others):
            assert contiguous(text) and len(text) <= ROOM and text[-1] < len(example["input_ids"])


@pytest.mark.parametrize("truncation", ["random", "head"])
@pytest.mark.parametrize(("kind", "reach"), [("random", 100), ("nearby", 1)])
def test_a_span_as_context_is_another_one_within_reach_and_cut_only_if_too_long(kind, reach, truncation):
    for seed in range(2000):
        example = document(seed)
        anchor, others = contexts(kind, truncation=truncation).draw(example, 2)
        places = [span_of(text, example) for text in (anchor, *others)]
        assert all(0 < abs(place - places[0]) <= reach for place in places[1:])
        for text, place in zip((anchor, *others), places, strict=True):
            first, end = span_bounds(example)[place]
            assert len(text) == min(end - first, ROOM)
            assert truncation == "random" or text[0] == first


def test_spans_within_100_are_all_drawn_and_no_others():
    generator, count = np.random.default_rng(0), 300
    for anchor in (0, 3, 150, 299):
        drawn = Counter(other_span(anchor, count, reach=100, generator=generator) for _ in range(20_000))
        assert set(drawn) == {place for place in range(count) if 0 < abs(place - anchor) <= 100}
        assert max(drawn.values()) < 2 * min(drawn.values()) + 60
    assert {other_span(150, count, reach=1, generator=generator) for _ in range(50)} == {149, 151}
    assert {other_span(0, 2, reach=100, generator=generator) for _ in range(50)} == {1}


def test_a_random_context_is_up_to_100_spans_away():
    example = document(0, spans=300)
    away = []
    for epoch in range(1000):
        anchor, others = contexts("random").draw(example | {"epoch": epoch}, 2)
        away += [span_of(text, example) - span_of(anchor, example) for text in others]
    assert (min(away), max(away)) == (-100, 100)


def overlapping_by_loops(anchor: int, texts: list[list[list[int]]], shared: int, aim: int) -> list[int]:
    """The overlapping text of spans of sentences, a sentence at a time, as the first version prepares it."""
    if anchor < len(texts) - 1:
        written = list(texts[anchor][-shared:])
        further = [sentence for span in texts[anchor + 1 :] for sentence in span]
    else:
        written = list(texts[anchor][:shared])
        further = [sentence for span in reversed(texts[:anchor]) for sentence in reversed(span)]
    left = aim - sum(map(len, written))
    for sentence in further:
        if left <= 0:
            break
        written.insert(len(written) if anchor < len(texts) - 1 else 0, sentence)
        left -= len(sentence)
    return [token for sentence in written for token in sentence]


def test_an_overlapping_text_is_the_first_versions_sentence_by_sentence():
    for seed in range(3000):
        example = document(seed)
        sentences = np.concatenate(([0], np.cumsum(example["sentences"])))
        spans = np.concatenate(([0], np.cumsum(example["spans"])))
        anchor = int(seed % len(example["spans"]))
        begin, end = overlapping(anchor, sentences, spans, aim=ROOM, generator=np.random.default_rng(seed))
        most = max(1, example["spans"][anchor] // 2)
        whole = [list(range(sentences[n], sentences[n + 1])) for n in range(len(sentences) - 1)]
        texts = [whole[a:b] for a, b in bounds(example["spans"])]
        expected = [overlapping_by_loops(anchor, texts, n, ROOM) for n in range(1, most + 1)]
        assert list(range(begin, end)) in expected


def test_an_overlapping_context_is_filled_up_to_the_length_with_cls_and_sep_which_windows_leave_out():
    words = {"input_ids": np.arange(600), "sentences": np.ones(600, int), "spans": np.full(60, 10)}
    drawn = [contexts("overlap").draw(words | {"epoch": 0, "index": n}, 1, whole=True)[1] for n in range(100)]
    lengths = Counter(len(text) for (text,) in drawn)
    assert lengths[ROOM + 2] > 80 and max(lengths) == ROOM + 2


def test_as_many_sentences_are_shared_as_the_first_version_says():
    spans = np.array([0, 9, 12, 13])
    generator, sentences = np.random.default_rng(1), np.arange(14)
    begun = [overlapping(0, sentences, spans, aim=4, generator=generator)[0] for _ in range(4000)]
    shared = Counter(9 - begin for begin in begun)
    assert sorted(shared) == [1, 2, 3, 4] and min(shared.values()) > 900
    assert {overlapping(1, sentences, spans, aim=2, generator=generator) for _ in range(50)} == {(11, 13)}
    assert {overlapping(2, sentences, spans, aim=3, generator=generator) for _ in range(50)} == {(10, 13)}


def test_the_anchor_and_the_first_context_do_not_depend_on_how_many_are_asked_for():
    for seed in range(200):
        one, two = (contexts().draw(document(seed), count) for count in (1, 2))
        assert one[0].tolist() == two[0].tolist() and one[1][0].tolist() == two[1][0].tolist()


def test_all_kinds_and_all_spans_are_drawn_at_equal_odds(monkeypatch):
    kinds, pairs, anchors = Counter(), Counter(), Counter()
    drawn: list[str] = []
    bounds_of = Contexts._bounds

    def counted(self, kind, anchor, *others):
        if kind != "anchor":
            drawn.append(kind)
            anchors[anchor] += 1
        return bounds_of(self, kind, anchor, *others)

    monkeypatch.setattr(Contexts, "_bounds", counted)
    example = document(7, spans=5)
    for epoch in range(6000):
        drawn.clear()
        contexts().draw(example | {"epoch": epoch}, 2)
        kinds.update(drawn)
        pairs[tuple(drawn)] += 1
    assert set(kinds) == set(KINDS) and all(abs(count / 12_000 - 1 / 3) < 0.02 for count in kinds.values())
    assert len(pairs) == 9 and all(abs(count / 6000 - 1 / 9) < 0.02 for count in pairs.values())
    assert sorted(anchors) == list(range(5)) and all(abs(n / 12_000 - 0.2) < 0.02 for n in anchors.values())


def test_a_random_window_is_anywhere_in_a_long_span():
    example = document(0) | {"input_ids": np.arange(60), "sentences": np.array([50, 10]), "spans": [1, 1]}
    starts = Counter()
    for epoch in range(4000):
        anchor, (other,) = contexts("nearby").draw(example | {"epoch": epoch}, 1)
        starts.update(int(text[0]) for text in (anchor, other) if text[0] < 50)
    assert sorted(starts) == list(range(11)) and max(starts.values()) < 1.4 * min(starts.values())


def test_an_example_that_names_its_span_has_it_as_anchor():
    for seed in range(300):
        example = document(seed)
        for place, (first, end) in enumerate(span_bounds(example)[:5]):
            anchor, _ = contexts().draw(example | {"anchor": place}, 1, whole=True)
            assert anchor.tolist() == list(range(first, end))


def test_a_whole_text_is_what_windows_are_cut_from():
    sampler, cut = contexts(), 0
    for seed in range(300):
        example = document(seed)
        (anchor, others), (whole, _) = sampler.draw(example, 2), sampler.draw(example, 2, whole=True)
        assert set(anchor) <= set(whole) and len(anchor) == min(len(whole), ROOM) and len(others) == 2
        cut += len(whole) > ROOM
    assert cut > 50


def test_what_cannot_be_drawn_from_is_refused():
    with pytest.raises(DataError, match="Tokenise the corpus with policy 'spans'"):
        contexts().draw({"input_ids": np.arange(9), "epoch": 0, "index": 0}, 1)
    with pytest.raises(DataError, match="text 4 has one span"):
        contexts().draw(document(4, spans=1), 1)
    with pytest.raises(UsageError, match="'near' is not a known kind of context"):
        contexts("near")
    with pytest.raises(UsageError, match="there is no kind of context"):
        Contexts(kinds=[], room=ROOM, truncation="head", seed=1)
    with pytest.raises(UsageError, match="'tail' is not a known truncation"):
        contexts(truncation="tail")
    with pytest.raises(UsageError, match="a text of 0 tokens is empty"):
        contexts(room=0)
