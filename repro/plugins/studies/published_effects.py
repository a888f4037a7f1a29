"""The differences that papers print of two rows of a study, beside which the study's own are read.

Its YAML is published.yaml of a study's folder: a table, two rows, and the cells whose difference is the
published one, in points of the column that decides.
"""

from collections.abc import Iterator

from repro.errors import UsageError, check_known
from repro.manifest import yaml_file
from repro.manifest.cells import cell, table_of
from repro.manifest.decimals import percent
from repro.manifest.papers import Paper
from repro.manifest.yaml_file import Fault, StrictMapping

FILE = "published.yaml"


class PublishedPair(StrictMapping):
    """Two rows of a table, and the paths of the cells that a paper prints of them."""

    table: str
    row: str
    other: str
    cells: tuple[str, str]

    @property
    def difference(self) -> float:
        """The first cell less the second, in points. Raises UsageError for a cell that there is not."""
        ours, theirs = (percent(c.number, c.unit) for c in map(cell, self.cells))
        return float(ours - theirs)


def published_effects(source: Paper) -> dict[tuple[str, str, str], float]:
    """Return the published difference of two rows by table, row and other row; both ways round.

    Raises ManifestError with file and line, also for a table, row or cell that there is not.
    """
    return source.once(published_effects, lambda: _read(source))


def _read(source: Paper) -> dict[tuple[str, str, str], float]:
    path = source.folder / FILE

    def faults(pairs: tuple[PublishedPair, ...]) -> Iterator[Fault]:
        for number, pair in enumerate(pairs):
            try:
                rows = [row.id for row in table_of(source, pair.table).rows]
                check_known(f"row of {source.name}/{pair.table}", pair.row, pair.other, valid=rows)
                _ = [cell(name) for name in pair.cells]
            except UsageError as error:
                yield (number,), str(error)

    pairs = yaml_file.read(path, tuple[PublishedPair, ...], faults=faults) if path.exists() else ()
    effects = {(pair.table, pair.row, pair.other): pair.difference for pair in pairs}
    return {(table, other, row): -x for (table, row, other), x in effects.items()} | effects
