"""Counts of a comparison, e.g. cells per verdict, and conditions of its numbers in words."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from repro.graph import grouped
from repro.manifest.cells import count_in_words
from repro.running.recipe_calls import NOT_MEASURABLE
from repro.running.records import member_cells
from repro.running.scale import scales
from repro.verdicts.compared import ComparedCell
from repro.verdicts.decision import KINDS
from repro.verdicts.verdict import FAILS, NEITHER, PASSES


@dataclass(frozen=True)
class Summary:
    """Counts of the published cells, or of all cells if none is published.

    Attributes:
        measurements: distinct ones, without averages.
        inside, intervals: published means inside our interval over queries, and all such intervals.
        imported, only_imported: cells with runs by others, and those without a measurement of ours.
    """

    words: str
    cells: int
    measured: int
    measurements: int
    passing: int
    failing: int
    neither: int
    inside: int
    intervals: int
    imported: int
    imported_runs: int
    only_imported: int
    verdicts: dict[str, int]

    def as_json(self) -> dict:
        return asdict(self)


def summarise(compared: Sequence[ComparedCell]) -> Summary:
    cells = published(compared) or compared
    verdicts = Counter(c.verdict.name for c in cells)
    inside = [c.published_inside for c in cells]
    measured = [c for c in cells if c.records]
    imported = [c for c in cells if c.imported]
    runs = {(run.record.fingerprint, run.record.measure) for c in imported for run in c.imported}
    return Summary(
        words=measured_in_words(compared),
        cells=len(cells),
        measured=len(measured),
        measurements=distinct(cells),
        passing=sum(verdicts[name] for name in PASSES),
        failing=sum(verdicts[name] for name in FAILS),
        neither=sum(c.verdict.name in NEITHER for c in measured),
        inside=inside.count(True),
        intervals=len(inside) - inside.count(None),
        imported=len(imported),
        imported_runs=len(runs),
        only_imported=sum(not c.records for c in imported),
        verdicts=dict(verdicts.most_common()),
    )


def published(compared: Sequence[ComparedCell]) -> list[ComparedCell]:
    return [c for c in compared if c.cell.counted_as == "published"]


def unmeasured(cells: Iterable[ComparedCell]) -> Counter[str]:
    """Count the unmeasured cells by reason, e.g. "blocked"."""
    return Counter(_why_unmeasured(c) for c in cells if not c.records and c.cell.counted_as)


def _why_unmeasured(c: ComparedCell) -> str:
    if c.verdict.name in ("failed", "blocked"):
        return c.verdict.name
    stated = c.cell.column.not_measurable or c.cell.row.not_measurable
    return NOT_MEASURABLE if stated and c.verdict.why.startswith(stated) else c.verdict.why.split("; ")[0]


def measured_in_words(compared: Sequence[ComparedCell]) -> str:
    scales = ", ".join(sorted({c.scale for c in compared}))
    measured = {c.cell.id for c in compared if c.records}
    return count_in_words((c.cell for c in compared), measured=measured, scale=scales)


def distinct(cells: Sequence[ComparedCell]) -> int:
    """Count the measurements behind the cells, without averages."""
    measurements = {c.cell.id: c.measurement for c in cells if c.records}
    averages = {c.cell.id for c in cells if not measurements.keys().isdisjoint(member_cells(c.cell))}
    return len({measurement for cell, measurement in measurements.items() if cell not in averages})


def conditions(cells: Sequence[ComparedCell]) -> str:
    """Describe substitute data, cut measures, notes and doubts, e.g. "substitute data: …"."""
    data = stand_ins(cells)
    where = f"substitute data: {data}" if data else ""
    return "; ".join(filter(None, (where, cut_measures(cells), scale_notes(cells), doubts_in_brief(cells))))


def scale_notes(cells: Iterable[ComparedCell]) -> str:
    measured = (c for c in cells if c.records and c.scale in c.cell.row.scale_notes)
    notes = {c.cell.row.label: c.cell.row.scale_notes[c.scale] for c in measured}
    return "; ".join(f"{label}: {note}" for label, note in notes.items())


def cut_measures(cells: Sequence[ComparedCell]) -> str:
    """Describe the measures that look deeper than their runs."""
    is_one = len({c.cell.row.id for c in cells if c.records}) == 1
    measures = grouped(
        (
            (c.cut_at, why_cut(c, run="the run" if is_one else f"the run of {c.cell.row.label}")),
            c.records[0].measure,
        )
        for c in cells
        if c.cut_at and c.records
    )
    return "; ".join(
        f"{' and '.join(dict.fromkeys(names))}: computed on the top {depth} ({why})"
        for (depth, why), names in measures.items()
    )


def why_cut(c: ComparedCell, *, run: str = "the run") -> str:
    """Return why a measure is cut: because of the scale, or because ``run`` contains no more documents."""
    known = scales().get(c.scale)
    scale_depth = known.facts.caps.get("depth") if known else c.cut_at  # a user's scale may be absent
    ends_by_itself = scale_depth is None or (c.cut_at or 0) < scale_depth
    return f"{run} contains no more" if ends_by_itself else "this scale retrieves no more"


def stand_ins(cells: Sequence[ComparedCell]) -> str:
    """Describe substitute data, e.g. "tiny/wiki/test replaces 2 collections"."""
    pairs = ((identifier, c.cell.column.dataset or "several") for c in cells for identifier in c.stand_ins)
    return "; ".join(
        f"{identifier} replaces {names[0] if len(names) == 1 else f'{len(names)} collections'}"
        for identifier, names in grouped(dict.fromkeys(pairs)).items()
    )


def doubt_kinds(c: ComparedCell) -> str:
    found = {doubt.kind for doubt in c.doubts}
    return "; ".join(kind for kind in KINDS if kind in found)


IN_BRACKETS = "numbers in brackets are in doubt"


def doubts_in_brief(cells: Iterable[ComparedCell], *, lead: str = IN_BRACKETS) -> str:
    """Return a clause that counts the doubtful numbers by kind, or ""."""
    kinds = Counter(kind for c in cells for kind in {doubt.kind for doubt in c.doubts_shown})
    if not kinds:
        return ""
    reasons = "; ".join(f"{kinds[kind]} {meaning}" for kind, meaning in KINDS.items() if kinds[kind])
    return f"{lead}: {reasons}"
