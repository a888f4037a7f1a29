"""Queries of one row against those of the row of reference, as a small SVG."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from repro.manifest.schema import Table
from repro.running.measurement import Measurement
from repro.running.plan import Plan
from repro.store import Store, read_json
from repro.writers.grid import label_in_full
from repro.writers.html.elements import Markup, el

MOST_ROWS = 12  # of a table
MOST_QUERIES = 400  # of a drawing; evenly taken from the sorted ids where there are more
SIDE, PAD = 150, 8


@dataclass(frozen=True)
class Scatter:
    """One row beside the reference: points (reference, row), a pair for every query drawn."""

    row: str
    reference: str
    measure: str
    points: tuple[tuple[float, float], ...]
    queries: int

    @property
    def outcomes(self) -> str:
        """The numbers of drawn queries on which the row is above, equal and below."""
        above = sum(y > x for x, y in self.points)
        equal = sum(y == x for x, y in self.points)
        return f"{above} above, {equal} equal, {len(self.points) - above - equal} below"


def scatters(plan: Plan, store: Store, paper: str) -> dict[str, list[Scatter]]:
    """Return table -> rows with stored scores in the first column where the reference row has them too."""
    measurements: dict[str, dict[str, dict[str, Measurement]]] = {}
    tables: dict[str, Table] = {}
    for m in plan.measurements:
        is_stored = len(m.parts) == 1 and plan.states[m.parts[0].fingerprint] == "stored"
        if m.cell.paper.name == paper and is_stored and m.cell.table.kind == "results":
            tables[m.cell.table.id] = m.cell.table
            columns = measurements.setdefault(m.cell.table.id, {})
            columns.setdefault(m.cell.column.id, {}).setdefault(m.cell.row.id, m)
    by_table = {
        name: list(_table_scatters(tables[name], columns, store)) for name, columns in measurements.items()
    }
    return {name: rows for name, rows in by_table.items() if rows}


def _table_scatters(table: Table, columns: Mapping, store: Store) -> Iterator[Scatter]:
    column = next((c.id for c in table.columns if len(columns.get(c.id, ())) > 1), None)
    if column is None:
        return
    rows = columns[column]
    measured_rows = [row for row in table.rows if row.id in rows]
    reference = next((row for row in measured_rows if row.id == table.delta_from), measured_rows[0])
    base_scores = _scores(rows[reference.id], store)
    for row in [r for r in measured_rows if r is not reference][:MOST_ROWS]:
        names = label_in_full(table, row), label_in_full(table, reference)
        yield _scatter(*names, rows[row.id].measure, _scores(rows[row.id], store), base_scores)


def _scores(m: Measurement, store: Store) -> dict[str, float]:
    scores = read_json(store.path(m.parts[0]) / "scores.json")
    return dict(zip(scores["queries"], scores["measures"][m.measure], strict=True))


def _scatter(row: str, reference: str, measure: str, scores: Mapping, base_scores: Mapping) -> Scatter:
    queries = sorted(scores.keys() & base_scores.keys())
    step = max(1, -(-len(queries) // MOST_QUERIES))
    points = tuple((base_scores[q], scores[q]) for q in queries[::step])
    return Scatter(row, reference, measure, points, len(queries))


def drawing(scatter: Scatter) -> Markup:
    """Return the drawing with its words: above the diagonal the row is better."""
    maximum = max([1e-9, *(v for point in scatter.points for v in point)])
    title = f"{scatter.row} against {scatter.reference}, {scatter.measure} by query: {scatter.outcomes}"
    edge = SIDE - PAD
    frame = [
        el("rect", x=PAD, y=PAD, width=SIDE - 2 * PAD, height=SIDE - 2 * PAD, class_="frame"),
        el("line", x1=PAD, y1=edge, x2=edge, y2=PAD, class_="diagonal"),
    ]
    look = {"viewBox": f"0 0 {SIDE} {SIDE}", "class_": "scatter", "role": "img", "aria_label": title}
    svg = el("svg", el("title", title), frame, _dots(scatter.points, maximum), **look)
    count = len(scatter.points)
    share = f"{count} of {scatter.queries} queries" if count < scatter.queries else ""
    words = el(
        "figcaption", el("b", scatter.row), el("br"), scatter.outcomes, el("br") if share else None, share
    )
    return el("figure", svg, words, class_="small")


def _dots(points: Sequence[tuple[float, float]], maximum: float) -> list[Markup]:
    inner = SIDE - 2 * PAD
    counts = Counter(
        (round(PAD + inner * x / maximum), round(SIDE - PAD - inner * y / maximum)) for x, y in points
    )
    return [
        el("circle", cx=x, cy=y, r=f"{min(1.6 + 0.5 * count**0.5, 7):.1f}")
        for (x, y), count in sorted(counts.items())
    ]
