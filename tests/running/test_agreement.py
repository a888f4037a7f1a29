"""Two artefacts' folders are equal to the bit, to a tolerance, or not at all."""

import json

import numpy as np
import pytest

from repro.running.recomputation import Agreement, agreement


@pytest.fixture
def folders(tmp_path):
    """``folders(write)``: two folders, of which ``write(folder, True)`` makes the second different."""

    def make(write):
        for name, other in (("stored", False), ("again", True)):
            (tmp_path / name).mkdir()
            write(tmp_path / name, other)
        return tmp_path / "stored", tmp_path / "again"

    return make


def _vectors(folder, other):
    np.save(folder / "vectors.npy", np.float32([[1, -8], [2, 3]]) + other * np.float32([[0, 0], [8e-6, 0]]))


def _scores(folder, other):
    (folder / "scores.json").write_text(json.dumps({"queries": ["1"], "RR": [0.5 - other * 1e-12]}))


def _run(folder, other):
    (folder / "run.trec").write_text(f"1 Q0 a 1 {2.5 + other * 1e-6} x\n1 Q0 b 2 1.5 x\n")


def _rows(folder, other):
    from datasets import Dataset

    Dataset.from_dict({"id": ["a"], "scores": [[4.0 + other * 1e-6]]}).save_to_disk(str(folder / "arrow"))


def _weights(folder, other):
    from safetensors.numpy import save_file

    save_file({"w": np.float32([4, 4 + other * 1e-6])}, folder / "model.safetensors")


@pytest.mark.parametrize("write", [_vectors, _scores, _run, _rows, _weights])
def test_numbers_agree_within_a_tolerance_of_the_greatest_magnitude(folders, write):
    stored, again = folders(write)
    close = agreement(stored, again, tolerance=1e-5)
    assert close.name == "tolerance" and 0 < close.difference < 2e-6 and close.why == ""
    strict = agreement(stored, again, tolerance=0.0)
    assert (strict.name, strict.difference) == ("none", close.difference)
    assert "numbers differ, the most by" in strict.why
    assert agreement(stored, stored, tolerance=0.0) == Agreement("bits")


def test_the_difference_is_relative_to_the_greatest_magnitude(folders):
    assert agreement(*folders(_vectors), tolerance=1e-5).difference == pytest.approx(
        1e-6, rel=0.05
    )  # 8e-6 of 8


@pytest.mark.parametrize(
    "name, one, other, why",
    [
        ("run.trec", "1 Q0 a 1 2.5 x\n1 Q0 b 2 1.5 x\n", "1 Q0 b 1 2.5 x\n1 Q0 a 2 1.5 x\n", "2 of 2 lines"),
        ("scores.json", '{"q": [0.5]}', '{"q": [0.5, 0.5]}', "1 of 1 lines"),
        ("ids.txt", "a\nb\n", "a\nc\n", "1 of 2 lines"),
        ("rows.jsonl", '{"id": "a"}\n', '{"id": "b"}\n', "1 of 1 lines"),
        ("scores.json", "[1.0]", "[NaN]", "1 of 1 numbers"),
        ("scores.json", "[1.0]", "[1.0", "1 of 1 lines"),
    ],
)
def test_what_differs_in_more_than_numbers_never_agrees(folders, name, one, other, why):
    stored, again = folders(lambda folder, second: (folder / name).write_text(other if second else one))
    compared = agreement(stored, again, tolerance=1.0)
    assert (compared.name, compared.difference) == ("none", None)
    assert compared.why.startswith(f"{name}: {why}")


def test_equal_content_in_other_bytes_is_not_equal_to_the_bit(folders):
    stored, again = folders(
        lambda folder, other: (folder / "a.json").write_text(json.dumps([1], indent=int(other)))
    )
    assert agreement(stored, again, tolerance=0.0) == Agreement("tolerance", 0.0)


def test_shapes_and_types_of_arrays_are_compared(folders):
    stored, again = folders(lambda folder, other: np.save(folder / "a.npy", np.zeros(3, ["f4", "f8"][other])))
    assert agreement(stored, again, tolerance=1.0).why == "a.npy: its content differs, not in numbers alone"


def test_a_file_that_only_one_has_is_a_difference_and_a_log_of_the_work_is_none(folders):
    def write(folder, other):
        (folder / "lucene.log").write_text(f"{other}")
        (folder / "blocks").mkdir()
        (folder / "blocks" / f"{other}").touch()
        (folder / "artefact.json").write_text(f"{other}")

    stored, again = folders(write)
    assert agreement(stored, again, tolerance=0.0) == Agreement("bits")
    (again / "more.txt").touch()
    assert agreement(stored, again, tolerance=0.0).why == "only one of them has more.txt"
