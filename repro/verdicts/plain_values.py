"""Comparisons as JSON objects, or as rows of a table."""

from dataclasses import asdict
from typing import Any

from repro.verdicts.compared import ComparedCell, Comparison
from repro.verdicts.effects import Effect, effects, orders

# field -> value without a record
RECORDED: dict[str, Any] = {
    "fingerprint": None,
    "queries": None,
    "missing": None,
    "readings": {},
    "substitutes": {},
}


def cells_as_json(comparison: Comparison) -> list[dict]:
    """Return an object per cell with tests, effects and order of the rows."""
    by_table = {key: (effects(cells), orders(cells)) for key, cells in comparison.by_table().items()}
    return [
        cell_as_json(c)
        | {"tests": comparison.pairs(c)}
        | {"paired": [asdict(test) for test in comparison.paired.get(c.cell.id, ())]}
        | _effects_and_order(c, *by_table[c.cell.paper.name, c.cell.table.id])
        for c in comparison.cells
    ]


def cell_as_json(c: ComparedCell) -> dict:
    first, interval = c.records[0] if c.records else None, c.interval
    facts = {key: getattr(first, key, default) for key, default in RECORDED.items()}
    return {
        "id": c.cell.id,
        **_place(c),
        "unit": c.cell.unit,
        "printed": c.cell.text,
        "published": c.published,
        "measured": c.measured,
        "difference": c.verdict.difference,
        "interval": [interval.low, interval.high] if interval else None,
        "published_inside": c.published_inside,
        "verdict": c.verdict.name,
        "why": c.verdict.why,
        "discrimination": c.verdict.discrimination,
        "scale": c.scale,
        "collections": list(c.measured_on),
        "cut_at": c.cut_at,
        "seeds": [r.seed for r in c.records],
        **facts,
        "fingerprints": [r.fingerprint for r in c.records],
        "current": c.current,
        "doubts": [asdict(doubt) for doubt in c.doubts],
        **asdict(c.code),
        "libraries_not_compared": list(c.libraries_not_compared),
        "data_without_digest": c.data_without_digest,
        "imported": [run.as_json() for run in c.imported],
        "others": [note.as_json() for note in c.notes],
        "blocked": [{"cause": o.cause, "remedy": o.remedy} for o in c.obstacles],
    }


def cell_as_row(c: ComparedCell) -> dict:
    """Return a cell's row of a CSV file."""
    interval, last_run = c.interval, c.imported[-1] if c.imported else None
    return {
        "cell": c.cell.id,
        **_place(c),
        "system": c.cell.row.label,
        "scale": c.scale,
        "collections": " ".join(c.measured_on) or None,
        "cut_at": c.cut_at,
        "unit": c.cell.unit,
        "published": c.published,
        "measured": c.measured,
        "difference": c.verdict.difference,
        "low": getattr(interval, "low", None),
        "high": getattr(interval, "high", None),
        "published_inside": c.published_inside,
        "queries": c.records[0].queries if c.records else None,
        "seeds": len(c.records),
        "verdict": c.verdict.name,
        "why": c.verdict.why,
        "current": c.current,
        "doubts": "; ".join(doubt.kind for doubt in c.doubts) or None,
        "imported": getattr(last_run, "measured", None),
        "imported_by": getattr(last_run, "maker", None),
        "imported_verdict": last_run.verdict.name if last_run else None,
        **_stated(c),
    }


def _stated(c: ComparedCell) -> dict:
    first, values = c.notes[0] if c.notes else None, [float(note.value) for note in c.notes]
    return {
        "others": values[0] if values else None,
        "others_count": len(values),
        "others_least": min(values, default=None),
        "others_most": max(values, default=None),
        "others_how": getattr(first, "making", None),
        "others_match": getattr(first, "match", None),
        "others_by": getattr(first, "label", None),
        "others_at": getattr(first, "address", None),
    }


def _place(c: ComparedCell) -> dict:
    return {
        "paper": c.cell.paper.name,
        "table": c.cell.table.id,
        "row": c.cell.row.id,
        "column": c.cell.column.id,
        "dataset": c.cell.column.dataset,
        "measure": c.records[0].measure if c.records else c.cell.column.measure,
    }


def _effects_and_order(
    compared: ComparedCell, gains: list[Effect], taus: dict[str, tuple[float, int]]
) -> dict:
    row, column = compared.cell.row.id, compared.cell.column.id
    tau, rows = taus.get(column, (None, 0))
    return {
        "effects": [e.as_json() for e in gains if (e.row, e.column) == (row, column)],
        "order": None if tau is None else {"tau": tau, "rows": rows},
    }
