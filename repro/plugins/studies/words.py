"""Writes the notes below a study's table, and its findings in words, e.g. "above BM25: BERT"."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial

from repro.manifest.schema import Column
from repro.plugins.studies.contrasts import UNDECIDED, WITHIN, Contrast
from repro.plugins.studies.studies import Study
from repro.writers.grid import capitalised, label_in_full

MARKS = {
    "above": "▲",
    "slightly above": "△",
    "slightly below": "▽",
    "below": "▼",
    WITHIN: "=",
    "not tested": "–",
}
MANY = 6
METHOD = (
    "Mean ± half of its 95 % interval. Queries and seeds are crossed random effects "
    "(Satterthwaite's degrees of freedom)."
)
COST = (
    "FLOPs and seconds are those of the row's own pre-training, hours those of all trainings behind the row, "
    "including shared ones (means over seeds). FLOPs of matrix products and attention, forward and backward, "
    "are counted in the first steps and extrapolated to all. Seconds and hours depend on the machine's load. "
    "For an interrupted training, they are extrapolated from the steps of its last attempt."
)


def label(study: Study, row: str) -> str:
    return next(label_in_full(study.table, r) for r in study.table.rows if r.id == row)


def mark(verdict: str) -> str:
    """Return the sign of a verdict, e.g. "▲", or "" for an inconclusive one."""
    return MARKS.get(verdict, "")


def caption(study: Study) -> str:
    sentences = [METHOD, *_signs(study), *_few_seeds(study)]
    if study.untrained:
        sentences.append(f"Not trained: {join([label(study, row) for row in study.untrained])}.")
    sentences += [*_floor(study), COST]
    return " ".join([*preliminary_note(study), *doubts_note(study), *sentences])


def doubts_note(study: Study) -> list[str]:
    return [f"{capitalised(study.doubts)}."] if study.doubts else []


def shortened_note(text: str, study: Study, *, explained: str) -> str:
    """Return the note ``text`` with a reference to Table ``explained`` in place of common sentences."""
    explanation = " ".join([METHOD, *_signs(study)])
    text = text.replace(explanation, f"Intervals, signs and costs as under Table {explained}.")
    text = text.replace(f" {COST}", "")
    return text.replace(_verdict_explanation(study), f" Verdicts as under Table {explained}.")


def _signs(study: Study) -> list[str]:
    base = study.table.delta_from
    reference = f"the row {label(study, base)}" if base else "the row of reference"
    floor = ", f at the floor" if study.analysis.floor else ""
    signs = f"▲ above, ▼ below, △ ▽ slightly above or below, = {WITHIN}{floor}: compared with {reference}."
    overlap = "Tests compare the same queries, so rows with overlapping intervals can differ significantly."
    return [signs, overlap] if study.contrasts else []


def preliminary_note(study: Study) -> list[str]:
    return [f"{study.preliminary.capitalize()}."] if study.preliminary else []


def verdicts_note(study: Study) -> str:
    return " ".join([*preliminary_note(study), _claim(study)]) + _verdict_explanation(study)


def _verdict_explanation(study: Study) -> str:
    floor = study.analysis.floor
    text = (
        " Differences are means over the same queries and seeds, with 95 % intervals. p is two-sided and "
        "Holm-corrected within a group and column. Above or below: the corrected p is at most "
        f"{study.plan.level:g}. Slightly: the difference is also significantly smaller than the margin. "
        "Within ±x points: it is not significant, and significantly smaller than the margin x (two one-"
        "sided tests, Holm-corrected). Effects below x remain possible. Inconclusive: neither. Not tested: "
        "a single seed, or scores without variance."
    )
    if floor is None:
        return text
    name = label(study, floor)
    return f"{text} At the floor: the better row of the pair is not above {name} (same test, uncorrected)."


def _claim(study: Study) -> str:
    claim = study.plan.confirmatory
    if claim is None or claim.table != study.table.id:
        return "All comparisons are exploratory."
    family = next(family.label for family in study.analysis.families if family.id == claim.family)
    column = next(c for c in study.table.columns if c.id == claim.column)
    return f"One claim is confirmatory: {family}, {column.label}. All others are exploratory."


def order(study: Study, column: Column) -> str:
    """Return a column's findings in words, e.g. "RR@10. Above BM25: BERT."."""
    primary = " (primary)" if column.id == study.analysis.primary else ""
    return " ".join(f"{capitalised(part)}." for part in [column.label + primary, *_findings(study, column)])


def _findings(study: Study, column: Column) -> list[str]:
    contrasts = _distinct_contrasts(study, column.id)
    within = f"within ±{study.analysis.matters.get(column.id, 0):g} points of each other"
    phrases = {WITHIN: within, UNDECIDED: UNDECIDED, "not tested": "not tested"}
    found = {phrase: [c for c in contrasts if c.verdict == verdict] for verdict, phrase in phrases.items()}
    found["at the floor"] = [c for c in contrasts if c.at_floor]
    parts = [
        *_rows_above(study, column.id, contrasts, "above"),
        *_rows_above(study, column.id, contrasts, "slightly above"),
        *(f"{phrase}: {_pairs(study, pairs, contrasts)}" for phrase, pairs in found.items() if pairs),
        *_standing(study, column),
    ]
    return parts or ["nothing is compared"]


def _rows_above(study: Study, column: str, contrasts: Sequence[Contrast], verdict: str) -> list[str]:
    rows = defaultdict[str, list[str]](list)
    for c in contrasts:
        if c.verdict in (verdict, verdict.replace("above", "below")):
            high, low = (c.row, c.against) if c.verdict == verdict else (c.against, c.row)
            rows[low].append(high)
    means = {row: entry.mean for (row, place), entry in study.entries.items() if place == column}
    ranked = partial(sorted, key=lambda row: -means[row])
    names = {low: join([label(study, high) for high in ranked(rows[low])]) for low in rows}
    return [f"{verdict} {label(study, low)}: {names[low]}" for low in ranked(rows)]


def _pairs(study: Study, found: Sequence[Contrast], contrasts: Sequence[Contrast]) -> str:
    if len(found) > MANY:
        return f"{len(found)} of {len(contrasts)} pairs"
    # labels may contain commas
    return "; ".join(f"{label(study, c.row)} and {label(study, c.against)}" for c in found)


def _distinct_contrasts(study: Study, column: str) -> list[Contrast]:
    by_pair: dict[frozenset[str], Contrast] = {}
    for c in (c for c in study.contrasts if c.column == column):
        by_pair.setdefault(frozenset((c.row, c.against)), c)
    return list(by_pair.values())


def join(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _few_seeds(study: Study) -> list[str]:
    counts = {row: count for row, count in study.seeds_of_rows.items() if row not in study.untrained}
    most = max(counts.values(), default=0)
    fewer = [f"{label(study, row)} ({count})" for row, count in counts.items() if count < most]
    means = "A mean is over all seeds of its row, and a difference over the seeds that both rows have."
    return [f"Fewer than {most} seeds: {join(fewer)}. {means}"] if fewer else []


def _floor(study: Study) -> list[str]:
    floor = study.analysis.floor
    if floor is None or not any(study.standing.values()):
        return []
    findings = [
        f"{column.label}: {'; '.join(parts)}."
        for column in study.table.columns
        if (parts := list(_standing(study, column)))
    ]
    return findings or [f"All compared rows are above {label(study, floor)}."]


def _standing(study: Study, column: Column) -> Iterator[str]:
    if study.analysis.floor is None:
        return
    for phrase in ("below", "not above", "not tested against"):
        standing = phrase.removesuffix(" against")
        if names := [label(study, row) for row in study.to_floor(column.id, standing)]:
            yield f"{phrase} {label(study, study.analysis.floor)}: {join(names)}"
