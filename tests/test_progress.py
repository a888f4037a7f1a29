"""Progress as it reaches a terminal, and a file."""

import io
import sys
from datetime import datetime
from pathlib import Path

import pytest

from repro.progress import FIRST, INTERVAL, OverallProgress, Progress, TerminalProgress, last_line, span


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
    progress = TerminalProgress()
    with progress.showing():
        progress.begins("corpus")
        assert capsys.readouterr().err == "corpus\n"
        with progress.task("reading", 3) as advance:
            advance()
        progress.ends("corpus", "0.4 s", OverallProgress(1, 2, "about 2 min left"))
        progress.begins("index")
        progress.note("  waiting")
        progress.ends("index", "12 s", OverallProgress(2, 2))
    lines = ["  0.4 s; 1 of 2 done, about 2 min left", "index", "  waiting", "index: 12 s; 2 of 2 done"]
    assert capsys.readouterr().err.splitlines() == lines


class Clock:
    """A clock that a test puts forward; it begins at noon of 1 January 2026, local time."""

    def __init__(self):
        self.now = datetime(2026, 1, 1, 12).timestamp()

    def __call__(self):
        return self.now


def test_without_a_terminal_a_long_task_says_now_and_then_how_far_it_has_come(capsys):
    clock = Clock()
    with TerminalProgress(clock).task("training", 80_000, log=Path("log.jsonl")) as advance:
        advance(20_000)  # of an earlier attempt
        for _ in range(int(FIRST + 2 * INTERVAL)):
            clock.now += 1
            advance(10)
    assert capsys.readouterr().err.splitlines() == [
        "  training: 20,100 of 80,000, 10/s, about 1 h 40 min left, until Thu 01 Jan 13:40 (log: log.jsonl)",
        "  training: 21,300 of 80,000, 10/s, about 98 min left, until Thu 01 Jan 13:40",
        "  training: 22,500 of 80,000, 10/s, about 96 min left, until Thu 01 Jan 13:40",
    ]


def test_a_task_of_unknown_size_tells_its_count_and_its_rate(capsys):
    clock = Clock()
    with TerminalProgress(clock).task("reading") as advance:
        for seconds, count in ((FIRST, 5), (INTERVAL, 3000)):
            clock.now += seconds
            advance(count)
    assert capsys.readouterr().err.splitlines() == ["  reading: 5, 30/min", "  reading: 3,005, 25/s"]


def test_a_short_task_says_nothing_and_one_on_a_terminal_has_its_bar_alone(capsys, terminal):
    clock = Clock()
    with TerminalProgress(clock).task("reading", 2) as advance:
        clock.now += FIRST - 0.1
        advance()
    assert capsys.readouterr().err == ""
    shown = terminal()
    with TerminalProgress(clock).task("reading", 2) as advance:
        clock.now += INTERVAL
        advance()
    assert "reading" in shown.getvalue() and "left, until" not in shown.getvalue()


def test_of_a_piece_in_another_process_its_own_last_word_is_told_and_once_where_its_log_lies(
    capsys, tmp_path
):
    clock, log = Clock(), tmp_path / "stage.err"
    log.write_text("")
    progress = TerminalProgress(clock)
    progress.begins("pretrain")
    progress.goes_on("pretrain", log)
    assert capsys.readouterr().err == "pretrain\n"
    for seconds, words in (
        (FIRST, ""),
        (1, "  training: 5 of 9\n"),
        (INTERVAL - 1, "\n"),
        (INTERVAL, "half"),
    ):
        clock.now += seconds
        with log.open("a") as file:
            file.write(words)
        progress.goes_on("pretrain", log)
    assert capsys.readouterr().err.splitlines() == [
        f"pretrain: under way (log: {log})",
        "pretrain: training: 5 of 9",
        "pretrain: training: 5 of 9",
    ]
    assert last_line(tmp_path / "none") == ""


def test_what_ends_beside_another_is_named_again(capsys):
    progress = TerminalProgress()
    for piece in ("a", "b"):
        progress.begins(piece)
    for piece in ("a", "b"):
        progress.ends(piece, "1.0 s")
    assert capsys.readouterr().err == "a\nb\na: 1.0 s\nb: 1.0 s\n"


def test_on_a_terminal_there_is_a_bar_before_anything_has_advanced(terminal):
    shown = terminal()
    progress = TerminalProgress()
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


def test_a_bar_of_a_piece_in_another_process_goes_by_its_last_word(terminal, tmp_path):
    clock, shown, log = Clock(), terminal(), tmp_path / "stage.err"
    log.write_text("  training: 1,200 of 6,000, 10/s\n")
    progress = TerminalProgress(clock)
    with progress.showing():
        progress.begins("pretrain")
        progress.goes_on("pretrain", log)
        progress._bars.shown.refresh()
        assert "1200/6000" not in shown.getvalue()
        clock.now += FIRST
        progress.goes_on("pretrain", log)
        progress._bars.shown.refresh()
        assert "1200/6000" in shown.getvalue()
        log.unlink()  # as that of a stage that ends
        clock.now += FIRST
        progress.goes_on("pretrain", log)
        progress.ends("pretrain", "12 s")


def test_a_task_by_itself_has_its_bar_from_the_start(terminal):
    shown = terminal()
    with TerminalProgress().task("planning"):
        pass
    assert "planning" in shown.getvalue()


def test_a_note_is_never_cut_off_and_its_brackets_stay(terminal):
    shown = terminal()
    progress = TerminalProgress()
    with progress.showing():
        progress.note("  failed: " + "x" * 100 + " [bold]")
    assert "x" * 100 + " [bold]" in shown.getvalue().replace("\n", "")


def test_what_is_interrupted_leaves_the_cursor_and_the_next_line_alone(terminal):
    shown = terminal()
    with pytest.raises(KeyboardInterrupt), TerminalProgress().showing():
        raise KeyboardInterrupt
    assert shown.getvalue().count("\x1b[?25l") == shown.getvalue().count("\x1b[?25h") == 1


def test_the_silent_one_says_nothing(capsys):
    progress = Progress()
    with progress.showing(), progress.task("x", 1) as advance:
        progress.begins("a")
        advance()
        progress.ends("a", "1 s")
    assert capsys.readouterr() == ("", "")


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
