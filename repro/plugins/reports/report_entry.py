"""An entry of others.yaml from the filled form of an issue."""

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
from repro.plugins.reports.report_form import FIELDS, answers, place_of
from repro.plugins.reports.reports import (
    FILE,
    Report,
    ReportMethod,
    Reports,
    Source,
    faults,
    folders,
    known_cells,
)

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
    """A report with its source, as it stands in the others.yaml of a folder.

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
        name, report = self.report.source, _fields(self.report)
        source = [] if self.known else ["sources:", f"  {name}:", f"    {_flow(_fields(self.source))}"]
        lines = [*source, "values:", f"- {_flow(report)}"]
        remark = (
            f"below its values, as the source {name} is there" if self.known else "below both of its parts"
        )
        file = f"{self.folder.parent.name}/{self.folder.name}/{FILE}"
        return "\n".join([f"# {file}: {remark}", *lines])


def entry_of(body: str, *, issue: str = "", day: str = "", where: str = "the form") -> Entry:
    """The entry that the Markdown of a filled form gives, checked as others.yaml is.

    Args:
        issue: OWNER/NAME#NUMBER of the issue that the form is of, the place of a value without another.
        day: on which that was written, YEAR-MONTH-DAY.
        where: what the form was read from, for the error.

    Raises DataError with all that is wrong, in one sentence.
    """
    fields, problems = answers(body)
    if fields:
        cells, cell_problems = _cells(fields["cells"])
        values, value_problems = _values(fields)
        place, place_problems = place_of(fields, issue, day)
        problems += [*cell_problems, *value_problems, *place_problems]
    if problems:
        raise _refusal(where, problems)
    return _checked_entry(cells, fields | values, place, where)


def _cells(text: str) -> tuple[list[Cell], list[str]]:
    cells, problems = [], []
    for name in re.split(r"[\s,;]+", text.strip("` ")):
        try:
            cells += [cell(name.strip("`"))] if name else []
        except UsageError as error:
            problems.append(f"Cells: {error}")
    if text and not (cells or problems):
        problems.append(f"Cells is {text!r} and names no cell; give at least one, as PAPER/TABLE/ROW/COLUMN")
    return cells, problems


def _values(fields: dict[str, str]) -> tuple[dict, list[str]]:
    """The answers that are no text: a choice by its word, how many seeds, differences by their lines."""
    values: dict = {name: fields[name].split(maxsplit=1)[0] if fields[name] else "" for name in CHOICES}
    problems = [
        f"{FIELDS[name].label} begins with {word!r} and not with {_alternatives(CHOICES[name])}"
        for name, word in values.items()
        if word not in ("", *CHOICES[name])
    ]
    values["seeds"] = fields["seeds"] or "0"
    values["differs"] = tuple(filter(None, (line.strip("-* ") for line in fields["differs"].split("\n"))))
    return values, problems + _number_problems(fields)


def _number_problems(fields: dict[str, str]) -> list[str]:
    return [
        f"{FIELDS[name].label} is {fields[name]!r} and no number such as {example}"
        for name, (form, example) in NUMBERS.items()
        if fields[name] and not re.fullmatch(form, fields[name])
    ]


def _checked_entry(cells: list[Cell], fields: dict, place: dict, origin: str) -> Entry:
    """The entry, by the schema and beside what the folder's others.yaml has. Raises DataError."""
    cells_by_id = known_cells()
    folder, content = _folder(cells, cells_by_id)
    try:
        source = Source(who=fields["who"], name=fields["name"], **place)
        name = _name(source, content)
        values = {key: fields[key] for key in IN_REPORT} | {"how": {key: fields[key] for key in IN_HOW}}
        report = Report(cells=tuple(cell.id for cell in cells), source=name, **values)
    except ValidationError as error:
        raise _refusal(origin, list(map(in_words, error.errors()))) from None
    sources = {name: source, **content.sources}
    all_reports = Reports(sources=sources, values=(*content.values, report))
    if problems := [reason for _, reason in faults(all_reports, cells_by_id)]:
        raise _refusal(origin, problems)
    return Entry(folder, sources[name], report, tuple(cells), known=name in content.sources)


def in_words(error: dict) -> str:
    """One of pydantic's errors: the field, where it is of one, and the reason."""
    field = ".".join(map(str, error["loc"]))
    reason = error["msg"].removeprefix("Value error, ")
    return f"{field}: {reason}" if field else reason


def _refusal(origin: str, problems: list[str]) -> DataError:
    return DataError(f"{origin}: {'; '.join(problems)}")


def _folder(cells: list[Cell], cells_by_id: dict[str, Cell]) -> tuple[Path, Reports]:
    """The folder with most reports of the first cell's system, else that of its paper; and its reports."""
    counts: Counter[Path] = Counter()
    contents = {folder: yaml_file.read(folder / FILE, Reports) for folder in folders()}
    for folder, content in contents.items():
        systems = (cells_by_id[name].row.system for report in content.values for name in report.cells)
        counts[folder] = sum(system == cells[0].row.system for system in systems)
    best = max(counts, key=counts.__getitem__, default=None)
    folder = best if best and counts[best] else cells[0].paper.folder
    return folder, contents.get(folder, Reports())


def _name(source: Source, content: Reports) -> str:
    """The short name under which the source is there, or a new one of its letters and digits."""
    names = {known_source.unnamed: name for name, known_source in content.sources.items()}
    base = re.sub(r"[^a-z0-9]+", "-", source.name.lower()).strip("-") or "source"
    if not isinstance(yaml.safe_load(base), str):  # a number, a date, yes: YAML would not read a name
        base = f"source-{base}"
    numbered_names = (f"{base}-{number}" for number in itertools.count(2))
    free_names = (name for name in itertools.chain([base], numbered_names) if name not in content.sources)
    return names.get(source.unnamed) or next(free_names)


def _fields(content: Source | Report) -> dict:
    return content.model_dump(mode="json", exclude_defaults=True)


def _flow(content: dict) -> str:
    """A mapping as YAML in braces, whose further lines are indented more than what it stands below."""
    options = {"default_flow_style": True, "sort_keys": False, "allow_unicode": True, "width": 105}
    return yaml.safe_dump(content, **options).strip().replace("\n", "\n    ")


def _alternatives(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}"
