"""Progress on standard error: bars on a terminal, otherwise lines, e.g. under nohup."""

import contextlib
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from repro.errors import visible

FIRST, INTERVAL = 10.0, 120.0  # seconds before the first and between further lines
IN_A_LOG = 10.0  # seconds between lines for a parent process
TAIL = 4096


@dataclass(frozen=True)
class OverallProgress:
    """The progress of all work. ``left`` is the time left in words."""

    done: int
    total: int
    left: str = ""

    def __str__(self) -> str:
        return ", ".join(filter(None, [f"{self.done} of {self.total} done", self.left]))


class Progress:
    """Reports progress. This base class is silent."""

    @contextlib.contextmanager
    def task(self, name: str, total: int | None = None, *, log: Path | None = None):
        """Show a task of ``total`` units, or of unknown size. Yields ``advance(n=1)``, which counts units."""
        yield lambda n=1: None

    @contextlib.contextmanager
    def showing(self) -> Iterator[None]:
        """Keep the display open while pieces begin and end."""
        yield

    def begins(self, piece: str, whole: OverallProgress | None = None) -> None:
        """Show the start of a piece of work with a unique name."""

    def goes_on(self, piece: str, log: Path) -> None:
        """Show a piece that runs in another process, by its ``log``."""

    def ends(self, piece: str, how: str, whole: OverallProgress | None = None, *, why: str = "") -> None:
        """Show the end of a piece: ``how`` is its duration or e.g. "failed", with a reason ``why``."""

    def note(self, message: str) -> None:
        """Write a line to the terminal."""


SILENT = Progress()


class TerminalProgress(Progress):
    """Bars on a terminal, otherwise lines on standard error.

    A task has a line every ``interval`` seconds. ``verbose`` adds begin and end of each piece.
    """

    def __init__(
        self, clock: Callable[[], float] = time.time, *, interval: float = INTERVAL, verbose: bool = False
    ):
        self._interval, self._verbose = interval, verbose
        self._bars: _Bars | None = None
        self._last = ""
        self._clock = clock
        self._due: dict[str, float] = {}  # time of a piece's next line
        self._named: set[str] = set()
        self._logged: set[str] = set()

    @contextlib.contextmanager
    def task(self, name: str, total: int | None = None, *, log: Path | None = None):
        with self.showing():
            if self._bars is None:
                clock, wait = self._clock, (self._first_wait(in_piece=bool(self._due)), self._interval)
                yield _Lines(name, total, log, clock=clock, wait=wait, say=self._note_of_task).advance
            else:
                with self._bars.task(name, total) as advance:
                    yield advance

    @contextlib.contextmanager
    def showing(self) -> Iterator[None]:
        if self._bars is not None or not sys.stderr.isatty():
            yield
            return
        self._bars = bars = _Bars()
        try:
            with bars.shown:
                yield
        finally:
            self._bars = None

    def begins(self, piece: str, whole: OverallProgress | None = None) -> None:
        self._due[piece] = self._clock() + self._first_wait(in_piece=True)
        if self._bars is not None:
            return self._bars.begins(piece, whole)
        if self._verbose:
            self._print_name(piece)

    def _first_wait(self, *, in_piece: bool) -> float:
        return self._interval if in_piece and not self._verbose and self._bars is None else FIRST

    def _print_name(self, piece: str) -> None:
        self._named.add(piece)
        self.note(piece)
        self._last = piece

    def _note_of_task(self, message: str) -> None:
        if self._due and (piece := next(reversed(self._due))) not in self._named:
            self._print_name(piece)
        self.note(message)

    def goes_on(self, piece: str, log: Path) -> None:
        if self._clock() < self._due.get(piece, 0):
            return
        if self._bars is not None:
            self._due[piece] = self._clock() + 1
            return self._bars.goes_on(piece, last_line(log))
        suffix = "" if piece in self._logged else f" (log: {log})"
        self._logged.add(piece)
        self._named.add(piece)
        self._due[piece] = self._clock() + self._interval
        self.note(f"{piece}: {last_line(log) or 'under way'}{suffix}")

    def ends(self, piece: str, how: str, whole: OverallProgress | None = None, *, why: str = "") -> None:
        self._due.pop(piece, None)
        is_shown = self._verbose or piece in self._named or bool(why)
        if self._bars is not None:
            self._bars.ends(piece, how if is_shown else "", whole)
        elif is_shown:
            message = ", ".join(map(str, filter(None, [how, whole])))
            self.note(f"  {message}" if self._last == piece else f"{piece}: {message}")
        if why:
            self.note(f"  {how}: {why}")

    def note(self, message: str) -> None:
        message = visible(message)
        if self._bars is not None:
            return self._bars.note(message)
        print(message, file=sys.stderr, flush=True)
        self._last = ""


class _Lines:
    def __init__(self, name: str, total: int | None, log: Path | None, *, clock, wait, say):
        self.name, self.total, self.log, self.clock, self.say = name, total, log, clock, say
        self.done, (first, self.interval) = 0, wait
        self.since, self.before = clock(), 0
        self.began, self.due = self.since, self.since + first

    def advance(self, n: int = 1) -> None:
        self.done += n
        now = self.clock()
        if now - self.began < 1:  # work of an earlier attempt does not count
            self.since, self.before = now, self.done
        if now >= self.due:
            self.say(f"  {self.name}: {self._progress_in_words(now)}")
            self.since, self.before, self.due, self.log = now, self.done, now + self.interval, None

    def _progress_in_words(self, now: float) -> str:
        rate = (self.done - self.before) / max(now - self.since, 1e-9)
        parts = [f"{self.done:,} of {self.total:,}" if self.total else f"{self.done:,}", _rate_in_words(rate)]
        if self.total and rate > 0:
            seconds = max(0, self.total - self.done) / rate
            end = datetime.fromtimestamp(now + seconds)
            parts.append(f"about {span(seconds)} left, until {end:%a %d %b %H:%M}")
        return ", ".join(parts) + (f" (log: {self.log})" if self.log else "")


def _rate_in_words(per_second: float) -> str:
    if per_second < 1:
        return f"{per_second * 60:.3g}/min"
    return f"{per_second:,.0f}/s" if per_second >= 10 else f"{per_second:.1f}/s"


def last_line(log: Path) -> str:
    """Return the last complete line of a log that is not blank, or ""."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL))
            lines = file.read().decode("utf-8", "replace").split("\n")[:-1]
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


class _Bars:
    def __init__(self):
        from rich import progress
        from rich.console import Console
        from rich.table import Column

        one_line = Column(ratio=1, no_wrap=True, overflow="ellipsis")
        self.shown = progress.Progress(
            progress.TextColumn("{task.description}", markup=False, table_column=one_line),
            progress.BarColumn(bar_width=12),
            progress.TextColumn("{task.fields[count]}"),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
            console=Console(stderr=True, highlight=False),
            transient=True,
            expand=True,
            refresh_per_second=4,
            redirect_stdout=False,
        )
        self.whole: int | None = None
        self.pieces: dict[str, int] = {}

    @contextlib.contextmanager
    def task(self, name: str, total: int | None):
        row, count = self._add_row(f"  {name}" if self.pieces else name), 0

        def advance(n: int = 1) -> None:
            nonlocal count
            count += n
            self._update_row(row, count, total)

        self._update_row(row, 0, total)
        try:
            yield advance
        finally:
            self.shown.remove_task(row)

    def begins(self, piece: str, whole: OverallProgress | None) -> None:
        self._show_overall(whole)
        self.pieces[piece] = self._add_row(piece)

    def goes_on(self, piece: str, line: str) -> None:
        if counts := re.search(r"([\d,]+) of ([\d,]+)", line):
            done, total = (int(count.replace(",", "")) for count in counts.groups())
            self._update_row(self.pieces[piece], done, total)

    def ends(self, piece: str, how: str, whole: OverallProgress | None) -> None:
        self.shown.remove_task(self.pieces.pop(piece))
        if how:
            line = visible(f"{how:>8}  {piece}")
            self.shown.console.print(line, markup=False, no_wrap=True, overflow="ellipsis")
        self._show_overall(whole)

    def note(self, message: str) -> None:
        self.shown.console.print(message, markup=False, soft_wrap=True)

    def _show_overall(self, whole: OverallProgress | None) -> None:
        if whole is None:
            return
        if self.whole is None:
            self.whole = self._add_row("")
        description = f"all, {whole.left}" if whole.left else "all"
        self._update_row(self.whole, whole.done, whole.total, description)

    def _add_row(self, description: str) -> int:
        return self.shown.add_task(visible(description), total=None, count="")

    def _update_row(self, row: int, done: int, total: int | None, description: str | None = None) -> None:
        count = f"{done}/{total}" if total else f"{done or ''}"
        self.shown.update(row, completed=done, total=total, count=count, description=description)


def span(seconds: float) -> str:
    """Return a duration in words, e.g. "0.4 s", "3 min", "2 h 10 min"."""
    if seconds < 99.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{round(hours / 24)} days"
