"""Made-up reports on real cells."""

from repro.manifest.cells import cell
from repro.plugins.reports.quantities import join_quantities
from repro.plugins.reports.reports import CellReport, Report, Source

FRACTION, PERCENT = "costa/3/ance/dev.rr10", "simlm/2/dense.ance/dev.rr10"  # 0.330 and 33.0
BM25 = "simlm/2/sparse.bm25/dev.rr10"  # 18.5, where others print 18.7
PLACE = {"repository": "a/b", "issue": 5, "date": "2024-01-01"}


def report(value, *cells, unit="percent", start="checkpoint", match="exact", by="x", who="toolkit", **how):
    """A report and who makes it."""
    stated = {"measure": "MRR@10", "dataset": "dev", "source": by, "value": value, "unit": unit}
    made = Report(cells=cells, match=match, how={"start": start, **how}, **stated)
    return made, Source(who=who, name=by, **PLACE)


def quantities(*made):
    """The quantities of reports."""
    known: dict = {}
    for one, source in made:
        for name in one.cells:
            known.setdefault(name, []).append(CellReport(cell(name), one, source))
    return join_quantities(known)
