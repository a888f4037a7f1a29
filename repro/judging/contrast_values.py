"""The comparisons of studies as plain values, below the cells of their rows."""

from math import sqrt

from repro.judging.compared import Comparison
from repro.judging.contrasts import Contrast
from repro.judging.studies import Study, study_of
from repro.running.plan import Plan
from repro.running.records import PER_UNIT
from repro.store import Store
from repro.store.results import Results


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
                objects.append(contrast_as_json(c, times=times) | _place(study, c))
    return by_cell


def _place(study: Study, c: Contrast) -> dict:
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
