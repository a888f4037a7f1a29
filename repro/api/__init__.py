"""The suite as a library, e.g. ``repro.compare("PAPER/1")``.

The command line calls the same functions. ``repro`` re-exports them lazily.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    import pandas


T = TypeVar("T")


class Listing(Sequence[T], Generic[T]):
    """A sequence of objects. ``to_frame()`` returns one line per object.

    Args:
        line: returns the plain values of one object by column name.
        index: the column that becomes the index, e.g. "cell".

    Example:
        >>> repro.records("PAPER", scale="tiny").to_frame()
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

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __repr__(self) -> str:
        kinds = sorted({type(item).__name__ for item in self._items})
        return f"<{len(self)} {', '.join(kinds) or 'items'}, see to_frame()>"

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(max_rows=60)

    def to_frame(self) -> pandas.DataFrame:
        """Return one line per object. Missing values are NaN."""
        import pandas

        if not self._items:
            return pandas.DataFrame()
        frame = pandas.DataFrame([dict(self._line(item)) for item in self._items]).set_index(self._index)
        empty = frame.columns[frame.isna().all()]
        return frame.astype(dict.fromkeys(empty, float))  # None in all lines would make it one of objects
