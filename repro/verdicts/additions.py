"""Plugins put values and lines beside a cell's published and measured number; no verdict rests on them."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from repro.hooks import ask
from repro.manifest.cells import Cell

if TYPE_CHECKING:
    from repro.verdicts.compared import ComparedCell
    from repro.writers.html.elements import Content


class StatedValue(Protocol):
    """A value that somebody states of a cell, in the unit of the published one.

    Attributes:
        decimals: digits after the point to which it is known.
        making: how it was made, a key of the ``makings`` of its kind; ``maker``: who made it.
        match: how sure it is that it is of the cell: ``exact``, ``close``, or ``loose`` by its name alone.
        by_authors: whether the authors of the system state it.
        shown: as tables show it.
    """

    cell: Cell
    value: Decimal
    decimals: int
    making: str
    maker: str
    match: str
    by_authors: bool
    shown: str

    def as_json(self) -> dict[str, Any]: ...


class SideValues(Protocol):
    """All values of a kind for one cell, at least one, the closest in kind to the published one first.

    Attributes:
        shown: the closest as tables show it.
        known: what is known of the cell by it, a key of the ``known`` of its kind.
        equal: whether it is the published number at the coarser rounding of both.
        remark: a word or two behind it in a table of the terminal.
        spread: how many there are, and from where to where, where there are several; else empty.
        letter: what stands raised behind it in LaTeX; ``count``: how many values there are.
    """

    values: Sequence[StatedValue]
    shown: str
    known: str
    equal: bool
    remark: str
    spread: str
    letter: str
    count: int

    def markdown(self) -> str:
        """Return the closest value with its making and its place, for a page of a table."""
        ...

    def html_line(self) -> Content:
        """Return the closest value as the line below a cell's numbers in a table of the report."""
        ...

    def html_card(self) -> Content:
        """Return all values, for the card of the cell."""
        ...


class SideValueKind(Protocol):
    """A kind of values beside a cell's own.

    Attributes:
        name: in JSON and for ``only`` of a report's list; ``label``: of lines and columns of tables.
        spread_label: of the line of spreads; ``abbreviation``: of a column in LaTeX.
        makings: how values are made -> the same in words, the closest to a published number first.
        known: what may be known of a cell by them -> what that means.
        signs: of each of these, the class of colours and the sign in a report.
        origin: in a caption, how a table shows them; ``explained``: a sentence below tables of a terminal;
            ``how_to_read``: one in a report.
    """

    name: str
    only: str
    label: str
    spread_label: str
    abbreviation: str
    makings: Mapping[str, str]
    known: Mapping[str, str]
    signs: Mapping[str, tuple[str, str]]
    origin: str
    explained: str
    how_to_read: str

    def of(self, cell: Cell) -> SideValues | None:
        """Return the values of a cell; None where there is none. Raises ManifestError for a bad file."""
        ...

    def as_json(self, values: SideValues | None) -> list[dict[str, Any]]: ...

    def as_row(self, values: SideValues | None) -> dict[str, Any]: ...

    def latex_legend(self, shown: Sequence[SideValues]) -> str:
        """Return the sentence of a caption on letters, of those that a table shows."""
        ...


@functools.cache
def kinds() -> tuple[SideValueKind, ...]:
    """Return every kind of values that a plugin puts beside cells."""
    return tuple(ask().side_values())


def side_values(cell: Cell) -> dict[str, SideValues]:
    """Return the values of each kind that has one of the cell, by its name."""
    return {kind.name: values for kind in kinds() if (values := kind.of(cell)) is not None}


class CellPart:
    """A plugin's part of the page of one cell in the terminal; each of its methods may be left out.

    Attributes:
        facts: by key, of the JSON object.
        source_of_a_run: where a run of the cell's system was released; empty where that is not known.
    """

    facts: Mapping[str, Any] = MappingProxyType({})
    source_of_a_run: str = ""

    def below_published(self) -> Iterator[tuple[str, str]]:
        """Yield labels and lines that follow the published value."""
        yield from ()

    def below_measured(self, *, verbose: bool) -> Iterator[tuple[str, str]]:
        """Yield labels and lines that follow what was measured; with ``verbose`` all of them."""
        yield from ()

    def commands(self) -> dict[str, str]:
        """Return what a command does -> the command."""
        return {}

    def at_end(self, *, verbose: bool) -> Iterator[tuple[str, str]]:
        """Yield labels and lines that follow all else."""
        yield from ()


class Answers(Protocol):
    """The differences, measured on equal terms, that readings and claims point at, by pointer."""

    def words(self, pointer: str) -> str: ...

    def as_json(self, pointers: Sequence[str]) -> list[dict[str, Any]]: ...

    def show(self, paper: str, kind: str, pointing: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Print a line for every comparison that readings or claims, by id, point at."""
        ...


class NoAnswers:
    """The answers where no plugin measures anything on equal terms."""

    def words(self, pointer: str) -> str:
        return "no study is at hand"

    def as_json(self, pointers: Sequence[str]) -> list[dict[str, Any]]:
        return []

    def show(self, paper: str, kind: str, pointing: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Print nothing."""


def answers_in(pointers: Sequence[str], results, store, machine) -> Answers:
    """Return the answers to pointers of readings and claims; nothing is run."""
    return ask().answers(pointers=pointers, results=results, store=store, machine=machine) or NoAnswers()


def at_full(c: ComparedCell | None, kind: SideValueKind) -> SideValues | None:
    """Return the values of a kind where the cell is compared with the published number, at scale full."""
    return c.side_values.get(kind.name) if c is not None and c.scale == "full" else None
