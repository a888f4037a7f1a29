"""Progress as it reaches a terminal, and a file."""

import io
import sys
from datetime import datetime
from pathlib import Path

import pytest

from repro.progress import FIRST, INTERVAL, OverallProgress, TerminalProgress, span


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """``terminal()`` is standard error from then on, of 80 columns."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")

    def begin() -> Terminal:
        monkeypatch.setattr(sys, "stderr", Terminal())
        return sys.stderr

    return begin


def test_in_a_file_a_line_is_whole_when_a_piece_begins_and_another_says_how_it_ended(capsys):
    progress = TerminalProgress(verbose=True)
    with progress.showing():
        progress.begins("corpus")
        assert capsys.readouterr().err == "corpus\n"
        with progress.task("reading", 3) as advance:
            advance()
        progress.ends("corpus", "0.4 s", OverallProgress(1, 2, "about 2 min left"))
        progress.begins("index")
        progress.note("  waiting")
        progress.ends("index", "12 s", OverallProgress(2, 2))
    lines = ["  0.4 s, 1 of 2 done, about 2 min left", "index", "  waiting", "index: 12 s, 2 of 2 done"]
    assert capsys.readouterr().err.splitlines() == lines


def test_in_brief_only_long_or_failed_pieces_have_lines(capsys):
    clock = Clock()
    progress = TerminalProgress(clock)
    with progress.showing():
        for piece, seconds, why in (("corpus", 50, ""), ("pretrain", INTERVAL, ""), ("encode", 1, "no room")):
            progress.begins(piece, OverallProgress(0, 3))
            with progress.task("steps", 300) as advance:
                clock.now += seconds
                advance(100)
            progress.ends(piece, "failed" if why else "done", OverallProgress(3, 3), why=why)
    first, second, *others = capsys.readouterr().err.splitlines()
    assert (first, second[:24]) == ("pretrain", "  steps: 100 of 300, 50/")
    assert others == ["pretrain: done, 3 of 3 done", "encode: failed, 3 of 3 done", "  failed: no room"]


class Clock:
    def __init__(self):
        self.now = datetime(2026, 1, 1, 12).timestamp()

    def __call__(self):
        return self.now


def test_without_a_terminal_a_long_task_says_now_and_then_how_far_it_has_come(capsys):
    clock = Clock()
    with TerminalProgress(clock).task("training", 80_000, log=Path("log.jsonl")) as advance:
        advance(20_000)
        for _ in range(int(FIRST + 2 * INTERVAL)):
            clock.now += 1
            advance(10)
    assert capsys.readouterr().err.splitlines() == [
        "  training: 20,100 of 80,000, 10/s, about 1 h 40 min left, until Thu 01 Jan 13:40 (log: log.jsonl)",
        "  training: 21,300 of 80,000, 10/s, about 98 min left, until Thu 01 Jan 13:40",
        "  training: 22,500 of 80,000, 10/s, about 96 min left, until Thu 01 Jan 13:40",
    ]


def test_on_a_terminal_there_is_a_bar_before_anything_has_advanced(terminal):
    shown = terminal()
    progress = TerminalProgress(verbose=True)
    with progress.showing():
        progress.begins("costa/1 bm25: corpus", OverallProgress(0, 2, "about 12 s left"))
        progress._bars.shown.refresh()
        assert "costa/1 bm25: corpus" in shown.getvalue() and "━" in shown.getvalue()
        assert "all, about 12 s left" in shown.getvalue() and "0/2" in shown.getvalue()
        with progress.task("reading", 3) as advance:
            advance(2)
            progress._bars.shown.refresh()
            assert "  reading" in shown.getvalue() and "2/3" in shown.getvalue()
        progress.ends("costa/1 bm25: corpus", "0.4 s", OverallProgress(1, 2))
    assert "   0.4 s  costa/1 bm25: corpus" in shown.getvalue()


def test_what_is_interrupted_leaves_the_cursor_and_the_next_line_alone(terminal):
    shown = terminal()
    with pytest.raises(KeyboardInterrupt), TerminalProgress().showing():
        raise KeyboardInterrupt
    assert shown.getvalue().count("\x1b[?25l") == shown.getvalue().count("\x1b[?25h") == 1


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (99.4, "99 s"),
        (100, "2 min"),
        (5900, "98 min"),
        (6000, "1 h 40 min"),
        (200_000, "2 days"),
    ],
)
def test_a_time_is_told_as_people_say_it(seconds, words):
    assert span(seconds) == words
