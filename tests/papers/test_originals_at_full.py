"""At full scale nothing replaces a paper's data silently."""

import pytest

from repro.manifest.cells import cell
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import scale
from tests.retrieval.datasets.folders import word_list, write

ROW = "costa/1/bm25neg.costa/dev.rr10"
WITHOUT = {"passage-titles": "none", "word-stop-list": "function-words"}


def planned(identifier, name="full", data=None, **overrides):
    overrides = {key.replace("_", "-"): choice for key, choice in overrides.items()}
    return plan([cell(identifier)], scale=scale(name), machine=Machine(data, None), overrides=overrides)


def obstacles(made):
    known = made.machine.obstacles
    return {known[n.fingerprint].short: known[n.fingerprint] for n in made.nodes if n.fingerprint in known}


def test_titles_and_stop_words_that_are_not_here_are_obstacles_with_the_reading_that_does_without(tmp_path):
    made = planned(ROW, data=tmp_path)
    told = obstacles(made)
    assert "--reading passage-titles=none" in told["msmarco-passage/rocketqa"].remedy
    assert "para.title.txt" in told["msmarco-passage/rocketqa"].remedy
    assert "--reading word-stop-list=function-words" in told["lists/stopwords.txt"].remedy
    assert str(tmp_path) in told["lists/stopwords.txt"].cause
    [measured] = made.measurements
    assert (dict(measured.departures), dict(measured.substitutes)) == ({}, {})


def test_who_asks_for_the_stand_ins_has_them_and_a_departure():
    made = planned(ROW, passage_titles="none", word_stop_list="function-words")
    assert not {"msmarco-passage/rocketqa", "lists/stopwords.txt"} & obstacles(made).keys()
    [measured] = made.measurements
    assert (dict(measured.departures), dict(measured.substitutes)) == (WITHOUT, {})


def test_below_full_scale_they_stand_in_by_themselves():
    made = planned(ROW, "tiny")
    assert not obstacles(made)
    assert not made.measurements[0].departures


def test_the_files_when_they_are_here_are_no_obstacles(tmp_path, monkeypatch):
    write(tmp_path / "msmarco-passage/rocketqa/corpus.jsonl", "the\n")
    word_list(monkeypatch, tmp_path, "lists/stopwords.txt", ["the"])
    made = planned(ROW, data=tmp_path)
    assert not {"msmarco-passage/rocketqa", "lists/stopwords.txt"} & obstacles(made).keys()
    [costa] = (n for n in made.nodes if n.params.get("objective", {}).get("name") == "costa")
    assert costa.params["options"]["stop_words"] == ["the"]


def test_other_words_than_those_of_the_list_are_as_good_as_none(tmp_path):
    file = write(tmp_path / "lists/stopwords.txt", "the\nof\n")
    told = obstacles(planned(ROW, data=tmp_path))["lists/stopwords.txt"]
    words = "is not the union of NLTK's English stop words and INQUERY's stop words (2 words instead of 475)"
    assert told.cause == f"{file} {words}"
    assert "`repro data make lists/stopwords.txt FILE FILE`" in told.remedy
    assert told.remedy.endswith("or use the replacement with `--reading word-stop-list=function-words`")


@pytest.mark.parametrize("identifier", ["cotmae_v2/1/cotmae_v2/dev.rr10", "cotmae_v2/1/cotmae/dev.rr10"])
def test_punkt_that_is_not_here_is_an_obstacle_with_the_reading_that_does_without(tmp_path, identifier):
    remedies = " ".join(o.remedy for o in planned(identifier, data=tmp_path).machine.obstacles.values())
    assert "--reading sentence-splitter=rule-based" in remedies


def test_the_study_of_our_own_measures_with_originals_too():
    remedies = [o.remedy for o in planned("head_to_head/1/costa/dev.rr10").machine.obstacles.values()]
    assert any("word-stop-list=function-words" in remedy for remedy in remedies)


def test_doctor_names_what_has_to_be_got_by_hand(monkeypatch, tmp_path):
    from click.testing import CliRunner

    from repro.cli import cli

    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    told = CliRunner().invoke(cli, ["doctor", "--store", str(tmp_path / "store")]).output
    by_hand = told.partition("manual downloads (")[2].partition(")")[0].split(", ")
    assert {"msmarco-passage/rocketqa", "lists/stopwords.txt"} <= set(by_hand)
    assert "microsoft/seed-encoder-3-layer-decoder" in by_hand
