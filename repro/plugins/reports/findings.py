"""Where reports differ among themselves, with the reasons stated, and what they say in sum: findings.yaml."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from statistics import mean, median
from typing import Literal

from pydantic import Field

from repro.manifest import papers as at_hand
from repro.manifest import yaml_file
from repro.manifest.cells import Cell, cells_of
from repro.manifest.papers import kept_with_papers, papers
from repro.manifest.printed import decimals_of, half_unit, percent
from repro.manifest.yaml_file import Fault, Identified, StrictMapping
from repro.plugins.reports.quantities import RELEASED, Entry, Quantity
from repro.plugins.reports.reports import CellReport, reports

SAME = {"a released model or run": RELEASED, "an index of the same texts": ("index",)}
ANOTHER = "another training or checkpoint of the model"
# A reason by the words of an entry that state it; the first that fits counts.
REASONS = {
    "the question among its own results": ("own rankings",),
    "fields of the index: titles and more": ("in one field", "several fields", "scores of title"),
    "a sample of the questions, or collections merged": ("sampled questions", "merged into one"),
    "titles of the passages": ("with titles", "without titles"),
    "similarity: cosine or dot product": ("cosine", "dot product"),
    "numerical precision": ("fp16", "half precision", "rounded to integers"),
    "length of texts": ("passages cut", "documents cut", "cut length"),
    "search: approximate, or of another depth": (
        "approximat",
        "compressed index",
        "hnsw",
        "fewer probes",
        "depth",
    ),
    "re-ranking in place of retrieval": ("re-rank",),
    "another copy of the weights": ("weights converted", "copy of the weights", "encoded by"),
    "which checkpoint it is, is not said": (
        "of the released checkpoints is not",
        "which checkpoint",
        "checkpoint is not told",
    ),
    ANOTHER: ("trained", "of several sets", "batches of 256", "another submitted run", "checkpoint"),
    "engine, parameters or texts of the index": (
        "k1 ",
        "parameters",
        "engine",
        "implementation",
        "toolkit",
        "stop words",
        "predicted queries",
        "in place of the bm25",
        "topics",
        "index",
    ),
}
OTHER, SILENT = "another reason, as stated", "no reason stated"


@dataclass(frozen=True)
class Disagreement:
    """Reports on one quantity that rounding does not explain, by at least two parties.

    The parties take a released model or run of one name, or index the same texts; an entry may state that
    it is of another training or checkpoint.

    Attributes:
        entries: the reports that are compared, from the least to the greatest.
    """

    quantity: Quantity
    of: str
    entries: tuple[Entry, ...]

    @property
    def spread(self) -> Decimal:
        """The greatest report less the least, in points."""
        return self.entries[-1].value - self.entries[0].value

    @property
    def reasons(self) -> list[str]:
        """Every reason that entries state and that tells them apart, those of most entries first."""
        counts = Counter(reason for entry in self.entries for reason in reasons(entry))
        names = [name for name, _ in counts.most_common() if self._differ_in(name)]
        return names or [SILENT]

    def _differ_in(self, reason: str) -> bool:
        return len({reasons(entry).get(reason) for entry in self.entries}) > 1


def disagreements(quantities: Iterable[Quantity]) -> list[Disagreement]:
    """Return every disagreement, the widest first."""
    items = []
    for quantity in quantities:
        for kind, starts in SAME.items():
            entries = [e for e in quantity.entries if e.counted and e.start in starts]
            if len({e.made.source.name for e in entries}) > 1 and _differ(quantity, entries):
                items.append(Disagreement(quantity, kind, tuple(sorted(entries, key=lambda e: e.value))))
    return sorted(items, key=lambda d: (-d.spread, d.quantity.system, d.quantity.name))


def _differ(quantity: Quantity, entries: Sequence[Entry]) -> bool:
    """Return whether they differ by more than the rounding of the coarsest of them and of the published
    number."""
    values = [entry.value for entry in entries]
    published = map(decimals_of, quantity.published)
    coarsest = min(*(entry.decimals for entry in entries), *published, 1)
    return max(values) - min(values) > half_unit(coarsest)


def reasons(entry: Entry) -> dict[str, tuple[str, ...]]:
    """Reason -> the words with which an entry states it; none where nothing is said to differ."""
    kinds: dict[str, tuple[str, ...]] = {}
    for difference in _stated_differences(entry):
        text = difference.lower()
        kind = next((kind for kind, signs in REASONS.items() if any(sign in text for sign in signs)), OTHER)
        kinds[kind] = (*kinds.get(kind, ()), difference)
    return kinds


def _stated_differences(entry: Entry) -> tuple[str, ...]:
    """Return all that is stated to differ, and the parameters that stand with the software of an index."""
    how = entry.made.report.how
    parameters = how.software.partition(", k1 ")[2]
    return (*how.differs, *([f"k1 {parameters}"] if parameters else []))


def words(entry: Entry) -> str:
    """Return the words of an entry on its making: what differs, and its note; empty where it says nothing."""
    report = entry.made.report
    parts = [*dict.fromkeys(_stated_differences(entry)), *([report.note] if report.note else [])]
    return "; ".join(parts)


def by_reason(items: Sequence[Disagreement]) -> list[tuple[str, int, float]]:
    """Reason, the number of disagreements of which an entry states it, and their median spread in points."""
    spreads: dict[str, list[Decimal]] = {}
    for item in items:
        for reason in item.reasons:
            spreads.setdefault(reason, []).append(item.spread)
    rows = [(reason, len(values), float(median(values))) for reason, values in spreads.items()]
    return sorted(rows, key=lambda row: (-row[1], row[0]))


FILE = "findings.yaml"
NUMBER = re.compile(r"(?<![\w@.])\d+\.\d+(?!\w|\.\d)")


class SupportingReports(StrictMapping):
    """The reports that a number of a sentence rests on; values are in percent.

    Attributes:
        number: as it stands in the sentence.
        cell: the id of a cell, or a pattern such as ``paper/3/row/*`` for several.
        source: of the reports, or ``any``; without it the number is the published one.
        take: the one ``value``, the ``least``, the ``greatest``, the ``mean`` over the cells, the ``count``
            of reports, or of those that are ``equal`` to the published number.
        at: the beginning of the report's ``at``, where the source has several on the cell.
        starts: how the reports were made; all without it.
        less: two other numbers of the sentence, of which this is the difference, in place of a cell.
    """

    number: str
    cell: str = ""
    source: str = ""
    take: Literal["value", "least", "greatest", "mean", "count", "equal"] = "value"
    at: str = ""
    starts: tuple[str, ...] = ()
    less: tuple[str, ...] = Field((), max_length=2)

    @property
    def decimals(self) -> int:
        """Digits after the point."""
        return len(self.number.partition(".")[2])


class Finding(Identified):
    """A sentence or two that one would not have guessed.

    Attributes:
        title: in few words.
        says: numbers with a point rest on one of ``grounds`` each.
    """

    title: str
    says: str
    grounds: tuple[SupportingReports, ...] = Field(min_length=1)


@kept_with_papers
def findings() -> tuple[Finding, ...]:
    """Return every finding, its numbers held against the entries. Raises ManifestError with file and line."""
    result: tuple[Finding, ...] = ()
    for path in sorted(at_hand.ROOT.glob(f"*/{FILE}")):
        result += yaml_file.read(path, tuple[Finding, ...], faults=faults)
    return result


def faults(stated: tuple[Finding, ...]) -> Iterator[Fault]:
    """Yield numbers of a sentence that no ground names, and grounds that give another number."""
    for place, finding in enumerate(stated):
        numbers = {ground.number for ground in finding.grounds}
        for number in dict.fromkeys(NUMBER.findall(f"{finding.title}. {finding.says}")):
            if number not in numbers:
                yield (place, "says"), f"nothing is named that {number} rests on"
        for line, ground in enumerate(finding.grounds):
            if reason := _ground_fault(ground, numbers, f"{finding.title} {finding.says}"):
                yield (place, "grounds", line), reason


def _ground_fault(ground: SupportingReports, numbers: set[str], text: str) -> str:
    if not re.search(rf"(?<![\d.]){re.escape(ground.number)}(?!\d|\.\d)", text):
        return f"{ground.number} does not stand in the sentence"
    if ground.less:
        if not numbers.issuperset(ground.less):
            return f"{' and '.join(ground.less)} are not both among the grounds"
        first, second = map(Decimal, ground.less)
        value: Decimal | str = abs(first - second)
    else:
        value = value_of(ground)
    if isinstance(value, str):
        return value
    outcome = round(value, ground.decimals)
    return "" if outcome == Decimal(ground.number) else f"{ground.number} rests on what gives {outcome}"


def value_of(ground: SupportingReports) -> Decimal | str:
    """Return the number that a ground gives, in percent; a sentence where it gives none."""
    if not ground.source:
        values = [percent(cell.number, cell.unit) for cell in cells(ground) if cell.is_numeric]
        return _value(values, ground, f"published numbers of {ground.cell}")
    items = entries(ground)
    if ground.take in ("count", "equal"):
        matches = [r for r in items if ground.take == "count" or r.equals_published]
        return Decimal(len({id(r.report) for r in matches}))
    return _value([percent(r.value, r.cell.unit) for r in items], ground, f"such reports on {ground.cell}")


def _value(values: list[Decimal], ground: SupportingReports, noun: str) -> Decimal | str:
    if not values or (ground.take == "value" and len(set(values)) != 1):
        return f"there are {len(values)} {noun}, one is needed" if values else f"there are no {noun}"
    if ground.take == "mean":
        return mean(values)
    return max(values) if ground.take == "greatest" else min(values)  # one value is the least


def cells(ground: SupportingReports) -> list[Cell]:
    """Return the cells that a ground names."""
    all_cells = (cell for source in papers().values() for cell in cells_of(source))
    return [cell for cell in all_cells if fnmatchcase(cell.id, ground.cell)]


def entries(ground: SupportingReports) -> list[CellReport]:
    """Return the reports that a ground names; none of a published number."""
    if not ground.source:
        return []
    return [
        report
        for name, cell_reports in reports().items()
        if fnmatchcase(name, ground.cell)
        for report in cell_reports
        if ground.source in ("any", report.report.source)
        and report.report.at.startswith(ground.at)
        and (not ground.starts or report.report.how.start in ground.starts)
    ]
