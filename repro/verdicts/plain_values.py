"""Comparisons as plain values: an object per cell for programs, a line per cell for tables."""

from dataclasses import asdict
from math import sqrt

from repro.plugins.reports.others import OthersValues
from repro.plugins.studies.contrasts import Contrast
from repro.plugins.studies.studies import Study, study_of
from repro.running.plan import Plan
from repro.running.records import PER_UNIT
from repro.store import Store
from repro.store.results import Results
from repro.verdicts.compared import ComparedCell, Comparison
from repro.verdicts.effects import Effect, effects, orders

# of a record, and what stands in its place where nothing was measured
RECORDED = {"fingerprint": None, "queries": None, "missing": None, "readings": {}, "substitutes": {}}


def cells_as_json(comparison: Comparison) -> list[dict]:
    """An object per cell: published and measured, tests between rows, effects, order of the rows."""
    by_table = {key: (effects(cells), orders(cells)) for key, cells in comparison.by_table().items()}
    return [
        cell_as_json(c)
        | {"tests": comparison.pairs(c)}
        | {"paired": [asdict(test) for test in comparison.paired.get(c.cell.id, ())]}
        | _effects_and_order(c, *by_table[c.cell.paper.name, c.cell.table.id])
        for c in comparison.cells
    ]


def cell_as_json(c: ComparedCell) -> dict:
    """The object that ``run``, ``compare`` and ``status`` print of a cell with ``--json``."""
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
        "scale": c.scale,
        "collections": list(c.measured_on),
        "cut_at": c.cut_at,
        "seeds": [r.seed for r in c.records],
        **facts,
        "fingerprints": [r.fingerprint for r in c.records],
        "current": c.current,
        "doubts": [asdict(doubt) for doubt in c.doubts],
        **asdict(c.code),
        "data_without_digest": c.data_without_digest,
        "imported": [run.as_json() for run in c.imported],
        "others": c.others.as_json() if c.others else [],
        "blocked": [{"cause": o.cause, "remedy": o.remedy} for o in c.obstacles],
    }


def cell_as_row(c: ComparedCell) -> dict:
    """The plain values of a cell, as a line of a CSV file or of a data frame; None where there is none.

    Of several runs by others the last, and of values of others the closest in kind, as tables show them.
    """
    interval, last_run = c.interval, c.imported[-1] if c.imported else None
    imported_verdict = last_run.verdict.name if last_run else None
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
        "imported_verdict": imported_verdict,
        **_others_values(c.others),
    }


def _others_values(others: OthersValues | None) -> dict:
    """The closest value of others of a cell, how many there are, and their span."""
    closest = others.closest if others else None
    least, most = map(float, others.span) if others else (None, None)
    return {
        "others": float(closest.value) if closest else None,
        "others_count": len(others.reports) if others else 0,
        "others_least": least,
        "others_most": most,
        "others_how": closest.report.how.start if closest else None,
        "others_match": closest.report.match if closest else None,
        "others_by": closest.source.name if closest else None,
        "others_at": closest.source.address if closest else None,
    }


def _place(c: ComparedCell) -> dict:
    """The cell's place, and by what the published number is defined."""
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


def contrasts_by_cell(
    comparison: Comparison, plan: Plan, store: Store, results: Results | None = None
) -> dict[str, list[dict]]:
    """Cell of a study -> the object of every comparison of its row with another one; none for other tables.

    Args:
        results: whose file of scores counts for what the store lacks.
    """
    by_cell: dict[str, list[dict]] = {}
    for cells in comparison.by_table().values():
        source, table = cells[0].cell.paper, cells[0].cell.table
        if table.kind == "study":
            times = PER_UNIT.get(table.unit, 1)
            study = study_of(plan, store, source=source, table=table, results=results)
            for c in study.contrasts:
                objects = by_cell.setdefault(f"{source.name}/{table.id}/{c.row}/{c.column}", [])
                objects.append(contrast_as_json(c, times=times) | _place_of(study, c))
    return by_cell


def _place_of(study: Study, c: Contrast) -> dict:
    """The standing of a comparison in the plan of analysis, and whether seeds of it are missing."""
    confirmatory = study.is_confirmatory(c.family, c.column)
    return {"confirmatory": confirmatory, "preliminary": study.preliminary or None}


def contrast_as_json(c: Contrast, *, times: float) -> dict:
    """A comparison as an object; what is not known is null.

    Args:
        times: of the unit of its numbers in a fraction, 100 for percent.
    """

    def scaled(fraction: float | None) -> float | None:
        return None if fraction is None else times * fraction

    pair = {"family": c.family, "row": c.row, "against": c.against, "verdict": c.verdict}
    matters = {"matters": scaled(c.matters), "seeds_needed": c.seeds_needed}
    d = c.difference
    if d is None:
        return pair | {"difference": None} | matters
    deviations = {name: scaled(sqrt(variance)) for name, variance in vars(d.variances).items()}
    return pair | {
        "difference": scaled(d.mean),
        "interval": [scaled(end) for end in d.interval()],
        "standard_error": scaled(d.error),
        "freedom": d.freedom,
        "p": d.p,
        "holm_p": c.holm,
        "queries": d.queries,
        "seeds": d.seeds,
        "deviations": deviations,
        "smallest_seen": scaled(c.smallest_seen),
        **matters,
    }
