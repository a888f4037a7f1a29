"""Keeps runs of one's own as somebody's runs of published cells, beside the suite's measurements."""

from collections.abc import Iterator, Sequence

from repro.errors import UsageError
from repro.exchange.run_import import Importer, Origin
from repro.manifest.cells import Cell
from repro.plugins.yours.table import OwnRow, OwnTable
from repro.store import make_writable


def record(tables: Sequence[OwnTable], importer: Importer) -> Iterator[tuple[str, int, int]]:
    """Record each run for the cells that it covers, where tables are of one row; yield label, new and all.

    A cell that looks deeper than a run goes is left out.

    Raises UsageError for several rows, or another scale than full.
    """
    cells = [c for table in tables for c in table.of_paper]
    if len({(c.cell.paper.name, c.cell.row.id) for c in cells}) != 1 or cells[0].scale != "full":
        raise UsageError("--record keeps a run of one row at full scale: name that row, as --row ROW")
    make_writable(importer.store.root)
    importer.results.make_writable()
    for row in (row for table in tables for row in table.rows):
        imported = list(_imported(row, [c.cell for c in cells], importer))
        yield row.row.label, sum(imported), len(imported)


def _imported(row: OwnRow, cells: Sequence[Cell], importer: Importer) -> Iterator[bool]:
    """Yield of each cell whether its record is new."""
    runs = {name: scored.run for name, scored in row.scored.items() if not scored.cut_at}
    for run in {path for path in runs.values() if path}:
        covered = [cell for cell in cells if runs.get(cell.column.id) == run]
        yield from (item.new for item in importer.add(run, covered, origin=Origin()))
