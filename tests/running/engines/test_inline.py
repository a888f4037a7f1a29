import pytest

from repro.progress import Progress
from repro.running.engines import inline
from repro.running.engines.inline import TimedTasks
from tests.noted import Noted


class Clock:
    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(inline, "time", made)
    return made


def test_the_pace_is_that_between_the_first_and_the_last_advance(clock):
    timed = TimedTasks(Progress())
    with timed.task("encoding", 30) as advance:
        for seconds in (9.0, 1.0, 1.0):  # the first advance waits for what is loaded once
            clock.now += seconds
            advance(10)
        clock.now += 4.0
    assert timed.facts == {"encoding": {"done": 30, "seconds": 15.0, "pace": pytest.approx(0.1)}}


def test_a_task_that_advances_once_has_no_pace(clock):
    timed = TimedTasks(Progress())
    with timed.task("searching") as advance:
        clock.now += 2.0
        advance(7)
    with timed.task("nothing"):
        pass
    assert timed.facts["searching"] == {"done": 7, "seconds": 2.0}
    assert timed.facts["nothing"] == {"done": 0, "seconds": 0.0}


def test_a_task_is_timed_and_passed_on_with_its_log(tmp_path):
    shown = Noted()
    timed = TimedTasks(shown)
    with timed.task("training", 3, log=tmp_path / "log") as advance:
        advance()
        advance(2)
    assert shown.tasks == {"training": [3, 3]}
    assert timed.facts["training"]["done"] == 3 and "pace" in timed.facts["training"]
