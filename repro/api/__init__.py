"""Select cells, e.g. ``select("PAPER/1", scale="tiny")``, and return lists that convert to DataFrames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from numbers import Integral
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from repro.errors import UsageError
from repro.manifest.cells import Cell, ShownExhibit, exhibits, figure_of
from repro.manifest.cells import select as cells_named
from repro.manifest.papers import paper
from repro.manifest.papers import papers as papers_at_hand
from repro.running.plan import Plan, plan
from repro.running.scale import Scale
from repro.running.scale import scale as scale_of
from repro.running.workspace import Workspace

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")


class Listing(Sequence[T], Generic[T]):
    """A sequence of objects that converts to a pandas DataFrame.

    Args:
        line: a function that returns an object's values by column name.
        index: the column that becomes the index.

    Example:
        >>> repro.compare("PAPER/1").cells.to_frame()
    """

    def __init__(self, items: Iterable[T], *, line: Callable[[T], Mapping[str, Any]], index: str):
        self._items, self._line, self._index = tuple(items), line, index

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Listing[T]: ...
    def __getitem__(self, place: int | slice) -> T | Listing[T]:
        if isinstance(place, slice):
            return Listing(self._items[place], line=self._line, index=self._index)
        return self._items[place]

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        kinds = sorted({type(item).__name__ for item in self._items})
        return f"<{len(self)} {', '.join(kinds) or 'items'}, see to_frame()>"

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(max_rows=60)

    def to_frame(self) -> pandas.DataFrame:
        """Return a frame with one row per object, empty without objects. Missing values are NaN."""
        import pandas

        if not self._items:
            return pandas.DataFrame()
        frame = pandas.DataFrame([dict(self._line(item)) for item in self._items]).set_index(self._index)
        empty = frame.columns[frame.isna().all()]
        return frame.astype(dict.fromkeys(empty, float))


@dataclass(frozen=True)
class Selection:
    """Cells and exhibits, with the settings for measuring or judging them.

    Attributes:
        scale: a name. Only scale ``full`` is compared with the published numbers.
        seeds: fine-tuning seeds, by default each paper's own.
        readings: reading -> choice that replaces its default.
        of_user: the scale of a user's file, if any.

    Example:
        >>> repro.select("PAPER/1", scale="tiny").plan()
    """

    cells: list[Cell]
    exhibits: list[ShownExhibit] = field(default_factory=list)
    scale: str = "full"
    seeds: tuple[int, ...] = ()
    readings: Mapping[str, str] = field(default_factory=dict)
    workspace: Workspace = field(default_factory=Workspace.open)
    of_user: Scale | None = None

    @property
    def scale_itself(self) -> Scale:
        return self.of_user or scale_of(self.scale)

    def plan(self) -> Plan:
        """Return the plan without creating a store. Raises the errors of ``repro.running.plan.plan``."""
        return plan(
            self.cells,
            scale=self.scale_itself,
            machine=self.workspace.machine,
            seeds=self.seeds,
            overrides=self.readings,
            exhibits=self.exhibits,
        )


Names = tuple[str, ...]


def select(
    *names: str,
    tables: Sequence[str] = (),
    figures: Sequence[str] = (),
    rows: Sequence[str] = (),
    scale: str | Scale = "full",
    seeds: Sequence[int] = (),
    readings: Mapping[str, str] = MappingProxyType({}),
    workspace: Workspace | None = None,
) -> Selection:
    """Select papers (``"PAPER"``), tables (``"PAPER/1"``) or single cells, by default all.

    Args:
        tables, figures: numbers, looked up in every named paper.
        rows: ids, or systems (``"bert"`` selects every row of that system). Exhibits are then left out.
        scale: a name, or the result of ``repro.user_scale``. Other arguments are those of ``Selection``.

    Raises:
        UsageError: an unknown name, nothing to measure, a text instead of several names, or invalid seeds.

    Example:
        >>> repro.select("PAPER/1", rows=["bert"], scale="tiny", seeds=[1, 2])
    """
    check_several(tables=tables, figures=figures, rows=rows)
    numbers = _check_seeds(seeds)
    chosen_scale = scale if isinstance(scale, Scale) else scale_of(scale)
    places, cell_names = _split_names(names, (*tables, *_figure_owners(names, figures)), any_rows=bool(rows))
    shown_exhibits = [] if rows else [item for place in places for item in exhibits(*place)]
    candidates = cells_named(cells=cell_names) if cell_names else []
    candidates += chain.from_iterable(_place_cells(*place, tuple(rows), shown_exhibits) for place in places)
    cells = list({c.id: c for c in candidates}.values())
    folders = workspace or Workspace.open()
    user_scale = chosen_scale if chosen_scale.by_user else None
    return Selection(cells, shown_exhibits, chosen_scale.name, numbers, readings, folders, user_scale)


def check_several(**sequences: Sequence[str]) -> None:
    """Raise UsageError for a text instead of several names, e.g. ``rows="bert"``."""
    for name, value in sequences.items():
        if isinstance(value, str):
            raise UsageError(f"{name} takes several names, not the text {value!r}; write [{value!r}]")


def _check_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    is_sequence = not isinstance(seeds, str | int)
    if not (is_sequence and all(isinstance(seed, Integral) and 0 <= seed < 2**32 for seed in seeds)):
        named = ", ".join(map(str, seeds)) if is_sequence else repr(seeds)
        raise UsageError(f"seeds takes whole numbers below 2**32, e.g. 1, 2 and 3, not {named}")
    if repeated := [seed for seed, count in Counter(seeds).items() if count > 1]:
        raise UsageError(f"seed {repeated[0]} is given twice. Remove one, as equal seeds give equal runs.")
    return tuple(map(int, seeds))


def _split_names(names: Names, owners: Names, *, any_rows: bool) -> tuple[list[tuple[Names, Names]], Names]:
    paper_names = _names_with_slashes(0, names)
    tables = (name.split("/") for name in _names_with_slashes(1, names))
    places: list[tuple[Names, Names]] = [((owner,), (table,)) for owner, table in tables]
    if any((paper_names, owners, any_rows and not places, not names)):
        places.insert(0, (paper_names, owners))
    return places, _names_with_slashes(2, names)


def _names_with_slashes(slashes: int, names: Names) -> Names:
    return tuple(name for name in names if min(name.count("/"), 2) == slashes)


def _place_cells(names: Names, owners: Names, rows: Names, shown_exhibits: list[ShownExhibit]) -> list[Cell]:
    exhibit_owners = {item.owner for item in shown_exhibits}
    cell_owners = tuple(owner for owner in owners if owner not in exhibit_owners)
    has_cells = cell_owners or not owners
    return cells_named(names, tables=cell_owners, rows=rows) if has_cells else []


def _figure_owners(names: Names, numbers: Sequence[str]) -> list[str]:
    for name, number in product(_names_with_slashes(0, names) or papers_at_hand(), numbers):
        if not figure_of(paper(name), number).is_measured:
            remedy = f"`repro show {name} --table figure-{number}` describes it"
            raise UsageError(f"figure {number} of {name} has no recipe yet; {remedy}")
    return [f"figure-{number}" for number in numbers]
