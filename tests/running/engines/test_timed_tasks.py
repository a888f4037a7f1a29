"""Tasks that are timed are shown as they would be without."""

import inspect

import pytest

from repro.progress import Progress
from repro.running.engines.inline import TimedTasks
from tests.noted import Noted


@pytest.mark.parametrize("name", [name for name in vars(Progress) if not name.startswith("_")])
def test_whatever_a_progress_is_told_may_be_told_where_tasks_are_timed(name):
    told, base = (inspect.signature(getattr(one, name)).parameters for one in (TimedTasks, Progress))
    assert list(told) == list(base)


def test_a_task_is_timed_and_passed_on_with_its_log(tmp_path):
    shown = Noted()
    timed = TimedTasks(shown)
    with timed.task("training", 3, log=tmp_path / "log") as advance:
        advance()
        advance(2)
    assert shown.tasks == {"training": [3, 3]}
    assert timed.facts["training"]["done"] == 3 and "pace" in timed.facts["training"]
