"""Right solutions score 1, known mistakes are named, and cheats score 0."""

import json
import re
import subprocess
import sys

import pytest

from repro.manifest.papers import papers
from repro.plugins import exercises
from repro.plugins.exercises import Cases, exercise, grade, judged
from tests.cli.conftest import folders as folders
from tests.cli.conftest import repro as repro

NAMES = list(exercises.exercises())
HOLM = "baselines/holm"


@pytest.fixture
def graded(tmp_path):
    def of(source, name=HOLM, **how):
        (tmp_path / "solution.py").write_bytes(source if isinstance(source, bytes) else source.encode())
        return grade(name, tmp_path, **how)

    return of


@pytest.mark.parametrize("name", NAMES)
def test_right_solutions_score_1_and_each_known_mistake_is_named(name):
    task, cases = exercise(name), Cases(exercise(name), 8)
    assert not any("error" in each for each in cases.expected)
    assert [judged(cases, cases.outcomes(s)).score for s in task.right] == [1] * len(task.right)
    assert len(task.wrong) >= 3
    for change, outcomes in zip(task.wrong, cases.wrong, strict=True):
        assert not change.old or task.right[0].count(change.old) == 1, change
        found = judged(cases, outcomes)
        assert found.score < 1 and list(found.mistakes) == [task.message(change)], change


@pytest.mark.parametrize("name", NAMES)
def test_choices_are_those_of_readings(name):
    sources = [p for p in papers().values() if p.name == name.partition("/")[0]] or papers().values()
    choices = {(id, each) for p in sources for id, r in p.readings.items() for each in r.choices}
    assert set(exercise(name).choices) <= {id for id, _ in choices}
    assert {tuple(c.reading.split("=")) for c in exercise(name).wrong if c.reading} <= choices


def test_100_batches_are_graded_in_another_process(graded):
    task, name = exercise("costa/group-contrastive"), "costa/group-contrastive"
    right, wrong = graded(task.right[0], name), graded(task.changed(task.wrong[0]), name)
    assert right.score == 1 > wrong.score > 0
    assert [*right.mistakes, *wrong.mistakes] == [task.message(task.wrong[0])]


def test_a_folder_is_written_once_and_graded_by_pytest_and_as_json(tmp_path, repro):
    assert len(NAMES) >= 20 and all(name in repro("new", "exercise").out for name in NAMES)
    assert "-o needs the name" in repro("new", "exercise", "-o", "x").err
    words, wrong = ("new", "exercise", HOLM, "-o", str(tmp_path / "x")), exercise(HOLM).wrong[0]
    assert repro(*words).status == 0 and "exists already" in repro(*words).err
    (tmp_path / "x/solution.py").write_text(exercise(HOLM).changed(wrong))
    test = tmp_path / "x/test_solution.py"
    found = json.loads(subprocess.check_output([sys.executable, test]))
    assert 0 < found["score"] < 1 and found["mistakes"] == [wrong.message] and found["checks"][0]["passed"]
    run = subprocess.run([sys.executable, "-m", "pytest", test], capture_output=True, text=True)
    assert run.returncode == 1 and f"score {found['score']:.2f}\n{wrong.message}" in run.stdout


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def holm(p_values):\n    raise NotImplementedError\n", "NotImplementedError"),
        ("from repro.retrieval.evaluation.p_values import holm\n", "imports repro.retrieval"),
        ("try:\n    import papers\nexcept BaseException:\n    pass\n", "imports papers"),
        ("import importlib as i\nholm = i.import_module('repro.errors')\n", "No module named|opens|imports"),
        (f"def holm(p_values):\n    return open({exercises.__file__!r}).read()\n", "opens .*exercises"),
        ("import os\nos.system('true')\n", "cannot use os.system"),
        ("import sys\nsys.exit(0)\n", "ended its process"),
        ("def holm(p_values):\n    return 10**400\n", "same for all"),
        ("import numpy\ndef holm(p_values):\n    return numpy.array([1j])\n", "same for all"),
        (b"holm = \xff\n", "SyntaxError"),
        ("holm = 1 +\n", "SyntaxError"),
    ],
)
def test_cheats_and_empty_solutions_score_0(graded, source, reason):
    found = graded(source, batches=2)
    assert found.score == 0 and re.search(reason, found.reason)


@pytest.mark.parametrize("file", ["conftest.py", "__init__.py", "test_solution.py"])
def test_a_folder_that_takes_over_the_test_scores_0(graded, tmp_path, file):
    assert graded(exercise(HOLM).right[0]).score == 1
    (tmp_path / file).write_text("")
    found = grade(HOLM, tmp_path)
    assert found.score == 0 and file in found.reason
