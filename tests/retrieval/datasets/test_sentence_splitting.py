"""Sentences, and the spans that they are packed into."""

import importlib.util
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

from repro.errors import BlockedError, DataError
from repro.retrieval.datasets import sentence_splitting
from repro.retrieval.datasets.sentence_splitting import (
    PUNKT,
    check_splitter,
    packed,
    sentence_splitter,
    sentences_by_rules,
)

needs_nltk = pytest.mark.skipif(
    importlib.util.find_spec("nltk") is None, reason="nltk, the extra `sentences`, is not installed"
)
TRAINED_ON = " ".join(
    f"We met Mr. Hill near the river on day {day}. He had seen Mr. Moss there, and Mr. Reed. It rained."
    for day in range(60)
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    pytest.importorskip("nltk", reason="nltk, the extra `sentences`, is not installed")
    import nltk
    from nltk.tokenize.punkt import PunktTrainer, save_punkt_params

    folder = tmp_path_factory.mktemp("data")
    (folder / PUNKT).mkdir(parents=True, mode=0o700)
    nltk.data.path.insert(0, str(folder / "nltk_data"))  # nltk writes below its own folders only
    try:
        save_punkt_params(PunktTrainer(TRAINED_ON).get_params(), dir=str(folder / PUNKT))
    finally:
        nltk.data.path.pop(0)
    return folder


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It rains. We stay! Why? 3 reasons.", ["It rains.", "We stay!", "Why?", "3 reasons."]),
        ("Dr. Hill met J. Moss at 5 p.m. Sharp.", ["Dr. Hill met J. Moss at 5 p.m. Sharp."]),
        ("(See Fig. 2.) It is 3.5 wide. so", ["(See Fig. 2.)", "It is 3.5 wide. so"]),
        ('He said "go." "Now?" she asked.', ['He said "go."', '"Now?" she asked.']),
        ("You and I. Then what?! Well... Yes.", ["You and I.", "Then what?!", "Well...", "Yes."]),
        ("Wide   \n blanks. \n\t After.  ", ["Wide   \n blanks.", "After."]),
        ("Élan. Über uns. Œuvre", ["Élan.", "Über uns.", "Œuvre"]),
        ("no end", ["no end"]),
        ("... Only marks? !", ["...", "Only marks? !"]),
        ("  ", []),
        ("", []),
    ],
)
def test_rules_split_where_a_sentence_ends(text, sentences):
    assert sentences_by_rules(text) == sentences


def test_rules_lose_nothing_but_blanks():
    text = (Path(sentence_splitting.__file__).read_text(encoding="utf-8") + " J. Moss! 3. No? ") * 20
    found = sentences_by_rules(text)
    assert len(found) > 100 and all(found) and "".join("".join(found).split()) == "".join(text.split())


@pytest.mark.parametrize("unit", [".", ". ", " ", "A.", "?\n", '."'])
def test_rules_pass_long_runs_without_giving_up(unit):
    assert "".join("".join(sentences_by_rules(unit * 200_000)).split()) == "".join((unit * 200_000).split())


def test_a_splitter_of_rules_needs_no_data():
    check_splitter("rules", None)
    splitter = sentence_splitter("rules", None)
    assert splitter.split is sentences_by_rules and splitter.identity == "rules 1"


def test_without_nltk_the_user_is_told_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "nltk", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BlockedError, match=r"install repro-bench\[sentences\], or choose .* 'rules'"):
        sentence_splitter("nltk", tmp_path)


@needs_nltk
@pytest.mark.parametrize("known", [True, False])
def test_without_the_model_the_user_is_told_how_to_fetch_it(tmp_path, known, monkeypatch):
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    with pytest.raises(BlockedError, match=f"nltk.downloader -d {tmp_path}/nltk_data punkt_tab"):
        sentence_splitter("nltk", tmp_path if known else None)


def test_nltk_splits_with_the_model_of_the_data_folder(data):
    from nltk.tokenize.punkt import PunktSentenceTokenizer, PunktTrainer

    text = "  The dog saw Mr. Hill near the river. It barked at Mr. Moss.  They left. "
    check_splitter("nltk", data)
    splitter = sentence_splitter("nltk", data)
    expected = ["The dog saw Mr. Hill near the river.", "It barked at Mr. Moss.", "They left."]
    assert splitter.split(text) == expected
    assert PunktSentenceTokenizer(PunktTrainer(TRAINED_ON).get_params()).tokenize(text.strip()) == expected
    assert PunktSentenceTokenizer().tokenize(text)[0].endswith("Mr.")  # so it is the model that knows Mr.
    assert splitter.split("  ") == []


def test_a_folder_that_is_no_model_is_a_data_error(data, tmp_path):
    import nltk

    before = list(nltk.data.path)
    (tmp_path / PUNKT).mkdir(parents=True)
    with pytest.raises(DataError, match=r"punkt_tab/english: nltk cannot read this as a Punkt model: .*tab"):
        sentence_splitter("nltk", tmp_path)
    for file in (data / PUNKT).iterdir():
        (tmp_path / PUNKT / file.name).write_bytes(file.read_bytes())
    (tmp_path / PUNKT / "ortho_context.tab").write_text("word\tmany\n")
    with pytest.raises(DataError, match="cannot read this as a Punkt model"):
        sentence_splitter("nltk", tmp_path)
    assert nltk.data.path == before


TARGET = 40


def documents(count=1000):
    draw = np.random.default_rng(3)
    for seed in range(count):
        yield seed, draw.integers(1, draw.choice([6, 30, 90]), draw.integers(0, 40)).tolist()


def spans_of(lengths, seed=0, **changes):
    how = {"target": TARGET, "overshoot": True, "short_probability": 0.0} | changes
    counts = packed(lengths, generator=np.random.default_rng(seed), **how)
    left = iter(lengths)
    return counts, [list(itertools.islice(left, count)) for count in counts]


def test_an_overshooting_span_is_closed_by_the_sentence_that_exceeds_the_target():
    for seed, lengths in documents():
        _, spans = spans_of(lengths, seed)
        for span in spans[:-1]:
            assert sum(span) > TARGET >= sum(span[:-1])
        if spans:
            assert sum(spans[-1][:-1]) <= TARGET


def test_a_strict_span_exceeds_its_target_only_as_a_single_sentence():
    for seed, lengths in documents():
        _, spans = spans_of(lengths, seed, overshoot=False)
        for span, following in itertools.zip_longest(spans, spans[1:], fillvalue=[]):
            assert sum(span) <= TARGET or len(span) == 1
            assert not following or sum(span) + following[0] > TARGET


def test_spans_are_those_of_a_written_out_example():
    lengths = [30, 11, 40, 1, 50, 3]
    assert spans_of(lengths)[1] == [[30, 11], [40, 1], [50], [3]]
    assert spans_of(lengths, overshoot=False)[1] == [[30], [11], [40], [1], [50], [3]]
    assert spans_of([20, 20, 1], overshoot=False)[1] == [[20, 20], [1]]
    assert spans_of([20, 20, 1])[1] == [[20, 20, 1]]  # the target itself does not exceed it
    assert spans_of([]) == ([], [])


@pytest.mark.parametrize("overshoot", [True, False])
def test_short_targets_are_uniform_and_as_frequent_as_asked_for(overshoot):
    counts, _ = spans_of([1] * 400_000, overshoot=overshoot, short_probability=0.15)
    targets = np.array(counts[:-1]) - overshoot  # with sentences of one token a span tells its target
    assert set(targets) == set(range(2, TARGET + 1))
    full = 0.85 + 0.15 / (TARGET - 1)
    assert np.mean(targets == TARGET) == pytest.approx(full, abs=0.01)
    assert np.mean(targets[targets < TARGET]) == pytest.approx((2 + TARGET - 1) / 2, abs=1.0)
