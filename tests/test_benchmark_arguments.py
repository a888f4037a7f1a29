"""What is wrong with a benchmark's arguments is told in a sentence, with exit status 2."""

from __future__ import annotations

import runpy
from argparse import ArgumentTypeError
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def arguments(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)  # its scripts find each other so
    import arguments

    return arguments


WRONG = {
    "start.py --beside /nowhere": "argument --beside: there is no folder '/nowhere'",
    "step.py --beside /nowhere": "argument --beside: there is no folder '/nowhere'",
    "roofline.py --beside /nowhere": "argument --beside: there is no folder '/nowhere'",
    "encode.py --beside /nowhere": "argument --beside: there is no folder '/nowhere'",
    "start.py --beside /": "argument --beside: '/' is no checkout of the project: it has no repro/",
    "start.py --out /dev/null/x": "argument --out: '/dev/null/x' cannot be a folder, since '/dev/null' is",
    "step.py --trainings nothing": "argument --trainings: 'nothing' is not known; known: mlm, costa, ",
    "roofline.py --papers nothing": "argument --papers: 'nothing' is not known; known: ",
    "pretraining.py --papers nothing": "argument --papers: 'nothing' is not known; known: ",
    "encode.py --data /nowhere": "argument --data: there is no folder '/nowhere'",
    "encode.py --data /": "argument --data: '/' has no beir/scifact/corpus.jsonl",
    "growth.py --sizes encode=x": "argument --sizes: 'encode=x' has no sizes; give numbers above 0, such as",
    "growth.py --sizes baking=3": "argument --sizes: there is no work 'baking'; known: encode, search",
}


@pytest.mark.parametrize("words", WRONG)
def test_a_wrong_argument_is_told_in_a_sentence(arguments, words, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", words.split())
    with pytest.raises(SystemExit) as left:
        runpy.run_path(str(FOLDER / words.split()[0]), run_name="__main__")
    assert left.value.code == 2
    assert f"{words.split()[0]}: error: {WRONG[words]}" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_measured(arguments):
    for place in ("/proc/none/x", "/proc"):
        with pytest.raises(ArgumentTypeError, match=rf"^nothing can be written into '{place}' \(.+\); name "):
            arguments.output(place)


def test_a_right_argument_is_what_it_names(arguments, tmp_path):
    assert arguments.folder(str(tmp_path)) == tmp_path
    assert arguments.checkout(str(FOLDER.parent)) == FOLDER.parent.resolve()
    assert arguments.output(str(tmp_path / "not" / "yet")) == tmp_path / "not" / "yet"
    assert not (tmp_path / "not").exists()
    assert arguments.names_among(["one", "two"])("two,one") == ["two", "one"]
    assert arguments.sizes_of(["encode"])("encode=10,100") == ("encode", (10, 100))
