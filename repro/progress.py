"""Progress on standard error: bars on a terminal, elsewhere a line for each piece of work."""

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Whole:
    """How far the pieces of a work have come together.

    Attributes:
        left: how long the rest takes, in words; empty where nobody can tell.
    """

    done: int
    total: int
    left: str = ""


class Progress:
    """Reports how far a piece of work has come; this one says nothing (the base of all others)."""

    @contextlib.contextmanager
    def task(self, name: str, total: int | None = None):
        """Open a task of ``total`` units; the value given is ``advance(n=1)``."""
        yield lambda n=1: None

    @contextlib.contextmanager
    def showing(self) -> Iterator[None]:
        """Keep what is shown in its place while pieces begin and end."""
        yield

    def begins(self, piece: str, whole: Whole | None = None) -> None:
        """A piece of work begins; ``piece`` is a line that names it, and no other that is under way."""

    def ends(self, piece: str, how: str, whole: Whole | None = None) -> None:
        """A piece that began ends; ``how`` says in a word or two how long it took, or that it failed."""

    def note(self, message: str) -> None:
        """A line for the reader of the terminal (not for the log)."""


class TerminalProgress(Progress):
    """Bars where standard error is a terminal, from the moment a piece or a task begins.

    Elsewhere a line as a piece begins, and one when it ends, which names it again if another came between.
    """

    def __init__(self):
        self._bars = None
        self._last = ""  # the last line, where it is a piece's that begins

    @contextlib.contextmanager
    def task(self, name: str, total: int | None = None):
        with self.showing():
            if self._bars is None:
                yield lambda n=1: None
            else:
                with self._bars.task(name, total) as advance:
                    yield advance

    @contextlib.contextmanager
    def showing(self) -> Iterator[None]:
        if self._bars is not None or not sys.stderr.isatty():
            yield
            return
        self._bars = _Bars()
        try:
            with self._bars.shown:
                yield
        finally:
            self._bars = None

    def begins(self, piece: str, whole: Whole | None = None) -> None:
        if self._bars is not None:
            return self._bars.begins(piece, whole)
        self.note(piece)
        self._last = piece

    def ends(self, piece: str, how: str, whole: Whole | None = None) -> None:
        if self._bars is not None:
            return self._bars.ends(piece, how, whole)
        told = f"{how}, {whole.left}" if whole and whole.left else how
        self.note(f"  {told}" if self._last == piece else f"{piece}: {told}")

    def note(self, message: str) -> None:
        if self._bars is not None:
            return self._bars.note(message)
        print(message, file=sys.stderr, flush=True)
        self._last = ""


class _Bars:
    """A bar for the whole, one for each piece under way and one for its task; gone when all is over."""

    def __init__(self):
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichProgress
        from rich.table import Column

        one_line = Column(ratio=1, no_wrap=True, overflow="ellipsis")
        self.shown = RichProgress(
            TextColumn("{task.description}", markup=False, table_column=one_line),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[count]}"),
            _clock(),
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
        row, done = self._row(f"  {name}" if self.pieces else name, timed=True), 0

        def advance(n: int = 1) -> None:
            nonlocal done
            done += n
            self._fill(row, done, total)

        self._fill(row, 0, total)
        try:
            yield advance
        finally:
            self.shown.remove_task(row)

    def begins(self, piece: str, whole: Whole | None) -> None:
        self._tell(whole)
        self.pieces[piece] = self._row(piece)

    def ends(self, piece: str, how: str, whole: Whole | None) -> None:
        self.shown.remove_task(self.pieces.pop(piece))
        self.shown.console.print(f"{how:>8}  {piece}", markup=False, no_wrap=True, overflow="ellipsis")
        self._tell(whole)

    def note(self, message: str) -> None:
        self.shown.console.print(message, markup=False, soft_wrap=True)

    def _tell(self, whole: Whole | None) -> None:
        if whole is None:
            return
        if self.whole is None:
            self.whole = self._row("")
        description = f"all, {whole.left}" if whole.left else "all"
        self._fill(self.whole, whole.done, whole.total, description)

    def _row(self, description: str, *, timed: bool = False) -> int:
        """A bar; ``timed`` ones say how long they still take."""
        return self.shown.add_task(description, total=None, count="", timed=timed)

    def _fill(self, row: int, done: int, total: int | None, description: str | None = None) -> None:
        count = f"{done}/{total}" if total else f"{done or ''}"
        self.shown.update(row, completed=done, total=total, count=count, description=description)


def _clock():
    """A column of the time since a bar began and, for timed ones, until it ends."""
    from rich.progress import ProgressColumn
    from rich.text import Text

    class Clock(ProgressColumn):
        max_refresh = 0.5

        def render(self, task) -> Text:
            left = task.time_remaining if task.total and task.fields["timed"] else None
            return Text(span(task.elapsed or 0) + ("" if left is None else f", {span(left)} left"))

    return Clock()


def span(seconds: float) -> str:
    """A time as people say it: "0.4 s", "12 s", "3 min", "2 h 10 min", "3 days"."""
    if seconds < 99.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{round(hours / 24)} days"
