"""Columns whose collection no heading and no caption names, by what the other tables of the source say."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from repro.plugins.manuscripts.headings import UNNAMED, ColumnMeaning, Meaning
from repro.plugins.manuscripts.vocabulary import NamedMeasure, Resolution, measure_on, without_measures

Collections = Mapping[NamedMeasure, frozenset[str]]


def with_neighbours(tables: Sequence[Meaning]) -> list[Meaning]:
    """Return the tables of a source; a measure that only one collection has elsewhere tells a collection.

    It is likely, no more. All such columns of a table have to tell the same one, and the others of the table
    are of it, too, if elsewhere it is among the collections of their measures.
    """
    known = _collections(tables)
    return [_completed(table, known) for table in tables]


def _collections(tables: Sequence[Meaning]) -> Collections:
    known: dict[NamedMeasure, frozenset[str]] = {}
    for column in (column for table in tables for column in table.columns):
        if column.named and column.dataset.value:
            known[column.named] = known.get(column.named, frozenset()) | {column.dataset.value}
    return known


def _completed(table: Meaning, known: Collections) -> Meaning:
    of = {c.place: known.get(c.named, frozenset()) for c in table.columns if c.named and _is_open(c)}
    single = {next(iter(ids)) for ids in of.values() if len(ids) == 1}
    if len(single) != 1:
        return table
    [id] = single
    columns = [_of(column, id) if id in of.get(column.place, ()) else column for column in table.columns]
    return replace(table, columns=tuple(columns))


def _is_open(column: ColumnMeaning) -> bool:
    """Return whether nothing above a column but its measure says what it is of."""
    others = without_measures(" ".join(column.head))
    return column.dataset == UNNAMED and not (column.is_mean or others)


def _of(column: ColumnMeaning, id: str) -> ColumnMeaning:
    assert column.named, "an open column has a measure"
    reason = "no other collection of the tables has such a measure as the columns here"
    dataset = Resolution(id, "likely", reason)
    return replace(column, dataset=dataset, measure=measure_on(column.named, dataset))
