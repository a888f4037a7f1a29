"""Exercises are graded right: solutions score 1, known mistakes are named, and cheats score 0."""

import json
import subprocess
import sys

import pytest

from repro.manifest.papers import papers
from repro.plugins import exercises
from repro.plugins.exercises import Cases, exercise, files, grade, judged
from tests.cli.conftest import folders as folders
from tests.cli.conftest import repro as repro

NAMES = list(exercises.exercises())
HOLM = "baselines/holm"  # needs no torch, which takes a second to import


@pytest.fixture
def graded(tmp_path):
    """``graded(source)``: the grade of a solution in a folder of its own."""

    def of(source, name=HOLM, **how):
        (tmp_path / "solution.py").write_text(source, encoding="utf-8")
        return grade(name, tmp_path, **how)

    return of


@pytest.mark.parametrize("name", NAMES)
def test_right_solutions_score_1_and_each_known_mistake_is_named(name):
    task, cases = exercise(name), Cases(exercise(name), 8)
    assert not [each for each in cases.expected if "error" in each]
    assert [judged(cases, cases.outcomes(source)).score for source in task.right] == [1] * len(task.right)
    assert len(task.wrong) >= 3
    for change, outcomes in zip(task.wrong, cases.wrong, strict=True):
        assert not change.old or task.right[0].count(change.old) == 1, change
        found = judged(cases, outcomes)
        assert found.score < 1 and list(found.mistakes) == [task.message(change)], change


def test_there_are_twenty_with_choices_of_readings():
    assert len(NAMES) >= 20
    for name in NAMES:
        task, own = exercise(name), papers().get(name.partition("/")[0])
        readings = [source.readings for source in ([own] if own else papers().values())]
        assert all(any(id in known for known in readings) for id in task.choices), name
        for id, _, choice in (c.reading.partition("=") for c in task.wrong if c.reading):
            assert any(choice in known[id].choices for known in readings if id in known), (name, id, choice)


@pytest.mark.parametrize("number", [None, 0, 2])
def test_100_batches_are_graded_in_another_process(graded, number):
    name = "costa/group-contrastive"
    task = exercise(name)
    found = graded(task.right[0] if number is None else task.changed(task.wrong[number]), name)
    assert (found.score == 1) is (number is None) and not found.reason
    assert list(found.mistakes) == ([] if number is None else [task.message(task.wrong[number])])


def test_a_folder_is_graded_by_pytest_and_as_json(tmp_path, repro):
    said, wrong = repro("new", "exercise", HOLM, "-o", str(tmp_path / "x")), exercise(HOLM).wrong[0]
    assert said.status == 0 and "solution.py" in said.out
    (tmp_path / "x/solution.py").write_text(exercise(HOLM).changed(wrong))
    test = tmp_path / "x/test_solution.py"
    run = subprocess.run([sys.executable, test], capture_output=True, text=True)
    found = json.loads(run.stdout)
    assert 0 < found["score"] < 1 and found["mistakes"] == [wrong.message]
    assert {check["name"]: check["passed"] for check in found["checks"]}["shapes and dtypes"]
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", test], capture_output=True, text=True)
    assert run.returncode == 1 and f"score {found['score']:.2f}\n{wrong.message}" in run.stdout


def test_an_empty_solution_scores_0(graded):
    found = graded("def holm(p_values):\n    raise NotImplementedError\n")
    assert found.score == 0 and "NotImplementedError" in found.reason
    assert not any(check.passed for check in found.checks)


OPENED = f"def holm(p_values):\n    return open({exercises.__file__!r}).read()\n"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("from repro.retrieval.evaluation.p_values import holm\n", "imports repro.retrieval"),
        ("def holm(p_values):\n    import papers\n", "imports papers"),
        (
            "def holm(p_values):\n    try:\n        import repro\n    except BaseException:\n        pass\n",
            "repro",
        ),
        ("import importlib as i\nholm = i.import_module('repro.errors')\n", "No module named|opens|imports"),
        (OPENED, "opens .*exercises"),
        ("import os\nos.system('true')\n", "cannot use os.system"),
        ("import sys\nsys.exit(0)\n", "no results"),
        ("holm = 1 +\n", "SyntaxError"),
    ],
)
def test_a_solution_that_uses_the_suite_or_gives_nothing_scores_0(graded, source, reason):
    found = graded(source, batches=2)
    assert found.score == 0
    with pytest.raises(ValueError, match=reason):
        raise ValueError(found.reason)


@pytest.mark.parametrize("file", ["conftest.py", "__init__.py", "test_solution.py"])
def test_a_folder_that_takes_over_the_test_scores_0(tmp_path, file):
    (tmp_path / "solution.py").write_text(exercise(HOLM).right[0])
    (tmp_path / "test_solution.py").write_text(files(HOLM)["test_solution.py"])
    assert grade(HOLM, tmp_path).score == 1
    (tmp_path / file).write_text("")
    found = grade(HOLM, tmp_path)
    assert found.score == 0 and file in found.reason


def test_exercises_are_listed_and_an_unknown_or_written_one_is_an_error(repro, tmp_path):
    assert all(name in repro("new", "exercise").out for name in NAMES)
    assert "is not a known exercise" in repro("new", "exercise", "costa/none").err
    repro("new", "exercise", HOLM, "-o", str(tmp_path / "x"))
    assert "exists already" in repro("new", "exercise", HOLM, "-o", str(tmp_path / "x")).err
