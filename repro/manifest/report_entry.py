"""An entry of reports.yaml from the filled form of an issue."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import yaml
from pydantic import ValidationError

from repro.errors import DataError, UsageError
from repro.manifest import yaml_file
from repro.manifest.cells import Cell, cell
from repro.manifest.report_form import FIELDS, answers
from repro.manifest.report_place import place_of
from repro.manifest.reports import FILE, Report, ReportMethod, Reports, Source, faults, folders, known_cells

CHOICES = {
    "unit": ("fraction", "percent"),
    "start": get_args(ReportMethod.model_fields["start"].annotation),
    "match": get_args(Report.model_fields["match"].annotation),
    "who": get_args(Source.model_fields["who"].annotation),
}
NUMBERS = {"value": (r"[0-9]+(\.[0-9]+)?", "0.3412"), "seeds": ("[0-9]{1,4}", "1")}
IN_HOW = ("start", "software", "seeds", "hardware", "batch", "differs")
IN_REPORT = ("value", "unit", "measure", "dataset", "match", "at", "note")


@dataclass(frozen=True)
class Entry:
    """A report with its source, as it stands in the reports.yaml of a folder.

    Attributes:
        known: whether the folder has the source already.
    """

    folder: Path
    source: Source
    report: Report
    cells: tuple[Cell, ...]
    known: bool

    @property
    def yaml(self) -> str:
        """A file with the report, and with its source where that is new, to be added to the folder's."""
        name, report = self.report.source, _stated(self.report)
        source = [] if self.known else ["sources:", f"  {name}:", f"    {_flow(_stated(self.source))}"]
        lines = [*source, "reports:", f"- {_flow(report)}"]
        where = (
            f"below its reports, as the source {name} is there" if self.known else "below both of its parts"
        )
        file = f"{self.folder.parent.name}/{self.folder.name}/{FILE}"
        return "\n".join([f"# {file}: {where}", *lines])


def entry_of(body: str, *, issue: str = "", day: str = "", where: str = "the form") -> Entry:
    """The entry that the Markdown of a filled form gives, checked as reports.yaml is.

    Args:
        issue: OWNER/NAME#NUMBER of the issue that the form is of, the place of a value without another.
        day: on which that was written, YEAR-MONTH-DAY.
        where: what the form was read from, for the error.

    Raises DataError with all that is wrong, in one sentence.
    """
    given, wrong = answers(body)
    if given:
        cells, of_cells = _cells(given["cells"])
        values, of_values = _values(given)
        place, of_place = place_of(given, issue, day)
        wrong += [*of_cells, *of_values, *of_place]
    if wrong:
        raise _refusal(where, wrong)
    return _checked(cells, given | values, place, where)


def _cells(text: str) -> tuple[list[Cell], list[str]]:
    cells, wrong = [], []
    for name in re.split(r"[\s,;]+", text.strip("` ")):
        try:
            cells += [cell(name.strip("`"))] if name else []
        except UsageError as error:
            wrong.append(f"Cells: {error}")
    if text and not (cells or wrong):
        wrong.append(f"Cells is {text!r} and names no cell; give at least one, as PAPER/TABLE/ROW/COLUMN")
    return cells, wrong


def _values(given: dict[str, str]) -> tuple[dict, list[str]]:
    """The answers that are no text: a choice by its word, how many seeds, differences by their lines."""
    values: dict = {name: given[name].split(maxsplit=1)[0] if given[name] else "" for name in CHOICES}
    wrong = [
        f"{FIELDS[name].label} begins with {word!r} and not with {_or(CHOICES[name])}"
        for name, word in values.items()
        if word not in ("", *CHOICES[name])
    ]
    values["seeds"] = given["seeds"] or "0"
    values["differs"] = tuple(filter(None, (line.strip("-* ") for line in given["differs"].split("\n"))))
    return values, wrong + _no_numbers(given)


def _no_numbers(given: dict[str, str]) -> list[str]:
    return [
        f"{FIELDS[name].label} is {given[name]!r} and no number such as {example}"
        for name, (form, example) in NUMBERS.items()
        if given[name] and not re.fullmatch(form, given[name])
    ]


def _checked(cells: list[Cell], given: dict, place: dict, where: str) -> Entry:
    """The entry, by the schema and beside what the folder's reports.yaml has. Raises DataError."""
    known = known_cells()
    folder, content = _folder(cells, known)
    try:
        source = Source(who=given["who"], name=given["name"], **place)
        name = _name(source, content)
        stated = {key: given[key] for key in IN_REPORT} | {"how": {key: given[key] for key in IN_HOW}}
        report = Report(cells=tuple(cell.id for cell in cells), source=name, **stated)
    except ValidationError as error:
        raise _refusal(where, list(map(in_words, error.errors()))) from None
    sources = {name: source, **content.sources}
    together = Reports(sources=sources, reports=(*content.reports, report))
    if wrong := [reason for _, reason in faults(together, known)]:
        raise _refusal(where, wrong)
    return Entry(folder, sources[name], report, tuple(cells), known=name in content.sources)


def in_words(error: dict) -> str:
    """One of pydantic's errors: the field, where it is of one, and the reason."""
    field = ".".join(map(str, error["loc"]))
    reason = error["msg"].removeprefix("Value error, ")
    return f"{field}: {reason}" if field else reason


def _refusal(where: str, wrong: list[str]) -> DataError:
    return DataError(f"{where}: {'; '.join(wrong)}")


def _folder(cells: list[Cell], known: dict[str, Cell]) -> tuple[Path, Reports]:
    """The folder with most reports of the first cell's system, else that of its paper; and its reports."""
    counts: Counter[Path] = Counter()
    contents = {folder: yaml_file.read(folder / FILE, Reports) for folder in folders()}
    for folder, content in contents.items():
        systems = (known[name].row.system for report in content.reports for name in report.cells)
        counts[folder] = sum(system == cells[0].row.system for system in systems)
    best = max(counts, key=counts.__getitem__, default=None)
    folder = best if best and counts[best] else cells[0].paper.folder
    return folder, contents.get(folder, Reports())


def _name(source: Source, content: Reports) -> str:
    """The short name under which the source is there, or a new one of its letters and digits."""
    names = {there.unnamed: name for name, there in content.sources.items()}
    short = re.sub(r"[^a-z0-9]+", "-", source.name.lower()).strip("-") or "source"
    numbered = (f"{short}-{number}" for number in itertools.count(2))
    free = (name for name in itertools.chain([short], numbered) if name not in content.sources)
    return names.get(source.unnamed) or next(free)


def _stated(content: Source | Report) -> dict:
    return content.model_dump(mode="json", exclude_defaults=True)


def _flow(content: dict) -> str:
    """A mapping as YAML in braces, whose further lines are indented more than what it stands below."""
    options = {"default_flow_style": True, "sort_keys": False, "allow_unicode": True, "width": 105}
    return yaml.safe_dump(content, **options).strip().replace("\n", "\n    ")


def _or(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}"
