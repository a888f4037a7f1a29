"""The shape of findings.yaml: what reports say in sum, each number with the entries that it rests on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from fnmatch import fnmatchcase
from statistics import mean
from typing import Literal

from pydantic import Field

from repro.manifest import papers as at_hand
from repro.manifest import yaml_file
from repro.manifest.cells import Cell, cells_of
from repro.manifest.decimals import percent
from repro.manifest.papers import kept_with_papers, papers
from repro.manifest.yaml_file import Fault, Identified, StrictMapping
from repro.plugins.reports.reports import CellReport, reports

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
    """Every finding, its numbers held against the entries. Raises ManifestError with file and line."""
    result: tuple[Finding, ...] = ()
    for path in sorted(at_hand.ROOT.glob(f"*/{FILE}")):
        result += yaml_file.read(path, tuple[Finding, ...], faults=faults)
    return result


def faults(stated: tuple[Finding, ...]) -> Iterator[Fault]:
    """Numbers of a sentence that no ground names, and grounds that give another number."""
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
        value = abs(first - second)
    else:
        value = value_of(ground)
    if isinstance(value, str):
        return value
    outcome = round(value, ground.decimals)
    return "" if outcome == Decimal(ground.number) else f"{ground.number} rests on what gives {outcome}"


def value_of(ground: SupportingReports) -> Decimal | str:
    """The number that a ground gives, in percent; a sentence where it gives none."""
    if not ground.source:
        values = [percent(cell.printed.value, cell.unit) for cell in cells(ground) if cell.is_numeric]
        return _value(values, ground, f"published numbers of {ground.cell}")
    items = entries(ground)
    if ground.take in ("count", "equal"):
        matches = [r for r in items if ground.take == "count" or r.equals_published]
        return Decimal(len({id(r.report) for r in matches}))
    return _value([percent(r.value, r.cell.unit) for r in items], ground, f"such reports on {ground.cell}")


def _value(values: list[Decimal], ground: SupportingReports, noun: str) -> Decimal | str:
    functions = {"least": min, "greatest": max, "mean": mean}
    if not values or (ground.take == "value" and len(set(values)) != 1):
        return f"there are {len(values)} {noun}, one is needed" if values else f"there are no {noun}"
    return values[0] if ground.take == "value" else functions[ground.take](values)


def cells(ground: SupportingReports) -> list[Cell]:
    """The cells that a ground names."""
    all_cells = (cell for source in papers().values() for cell in cells_of(source))
    return [cell for cell in all_cells if fnmatchcase(cell.id, ground.cell)]


def entries(ground: SupportingReports) -> list[CellReport]:
    """The reports that a ground names; none of a published number."""
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
