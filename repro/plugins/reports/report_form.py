"""An entry of others.yaml from the form "I measured a cell" as it comes out of an issue, in Markdown."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, get_args
from urllib.parse import unquote

import yaml
from pydantic import ValidationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

from repro.errors import DataError, UsageError
from repro.manifest import yaml_file
from repro.manifest.cells import Cell, cell
from repro.manifest.places import no_day
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

NOTHING = "_No response_"  # stands below the heading of a field that was left empty
HEADING = "### "
LONGEST = 400  # characters of an answer that goes into an entry: what is longer is no restatement


@dataclass(frozen=True)
class Field:
    """A field of the form: its label there, and whether it has to be filled in."""

    label: str
    required: bool = False


# by id, as .github/ISSUE_TEMPLATE/measured-a-cell.yml has them; what follows the last heading is its answer
FIELDS = {
    "cells": Field("Cells", required=True),
    "value": Field("Value", required=True),
    "unit": Field("Unit", required=True),
    "measure": Field("Measure", required=True),
    "dataset": Field("Dataset", required=True),
    "start": Field("How it was made", required=True),
    "software": Field("Software"),
    "seeds": Field("Seeds"),
    "hardware": Field("Hardware"),
    "batch": Field("Batch"),
    "differs": Field("What differs"),
    "match": Field("Match", required=True),
    "who": Field("Who states it", required=True),
    "name": Field("Name", required=True),
    "place": Field("Place"),
    "date": Field("Date"),
    "title": Field("Title"),
    "table": Field("Table"),
    "at": Field("At"),
    "note": Field("Note"),
    "evidence": Field("Evidence"),
}
LAST = "evidence"
OF_LINES = ("differs", "evidence")


def answers(body: str) -> tuple[dict[str, str], list[str]]:
    """Return the answers of a filled form by the ids of its fields, empty where left out, and what is wrong
    with it.

    Args:
        body: the Markdown that GitHub makes of the form, with any line ends.
    """
    parts, repeats = _parts(body)
    if not parts:
        heading = f"{HEADING}{FIELDS['cells'].label}"
        return {}, [f'it is no filled form "I measured a cell", which begins with {heading!r}']
    texts = {name: _answer(name, parts.get(name, [])) for name in FIELDS}
    faults = [f"{FIELDS[name].label} stands there twice" for name in repeats]
    return texts, faults + [reason for name in FIELDS if (reason := _fault(name, texts[name], name in parts))]


def _fault(name: str, answer: str, is_there: bool) -> str:
    """Return the reason why an answer is none; empty where it is one."""
    field = FIELDS[name]
    if not is_there:
        return f"the part {HEADING + field.label!r} is missing"
    if field.required and not answer:
        return f"{field.label} is empty"
    if name != LAST and len(answer) > LONGEST:
        return f"{field.label} has more than {LONGEST} characters; restate it in few words"
    return ""


def _parts(body: str) -> tuple[dict[str, list[str]], list[str]]:
    """Return the lines below each heading by the field's id, and the ids of headings that occur again."""
    names = {field.label: name for name, field in FIELDS.items()}
    parts: dict[str, list[str]] = {}
    repeats, current = [], ""
    for line in body.replace("\r\n", "\n").split("\n"):
        name = names.get(line.removeprefix(HEADING).strip(), "") if line.startswith(HEADING) else ""
        if name and current != LAST:
            repeats += [name] if name in parts else []
            current = name
            parts.setdefault(name, [])
        elif current:
            parts[current].append(line)
    return parts, repeats


def _answer(name: str, lines: list[str]) -> str:
    """Return the answer without empty lines around it, on one line unless the field has several."""
    answer = "\n".join(lines).strip()
    if answer == NOTHING:
        return ""
    return answer if name in OF_LINES else " ".join(answer.split())


NAME = r"[\w.-]+"
FILE_AT_COMMIT = re.compile(rf"https://github\.com/({NAME}/{NAME})/blob/([^/]+)/([^#?]+)(?:#.*)?")
THREAD = re.compile(rf"https://github\.com/({NAME}/{NAME})/(issues|pull)/([1-9]\d{{0,8}})/?(?:#.*)?")
CARD = re.compile(
    rf"https://huggingface\.co/({NAME}/{NAME})(?:/(?:blob|tree|commit)/([^/#?]+)(?:/[^#?]*)?)?/?"
)
PAPER = re.compile(r"https://arxiv\.org/(?:abs|pdf)/(\d{4}\.\d{4,5}(?:v\d+)?)(?:\.pdf)?")
ARTICLE = re.compile(r"https://doi\.org/(10\.\d{4,9}/[^\s#?]+)")
ISSUE = re.compile(rf"({NAME}/{NAME})#([1-9]\d{{0,8}})")
COMMIT = re.compile(r"[0-9a-f]{40}")
KINDS = (
    "https://github.com/OWNER/NAME/blob/COMMIT/PATH, …/issues/NUMBER or …/pull/NUMBER, "
    "https://huggingface.co/OWNER/NAME, https://arxiv.org/abs/NUMBER, https://doi.org/10.…"
)


def place_of(given: dict[str, str], issue: str, day: str) -> tuple[dict, list[str]]:
    """Return the fields of a ``Source`` that tell its place, and what is wrong with them.

    Args:
        given: the answers of the form; without an address, title and table the issue itself is the place.
        issue: OWNER/NAME#NUMBER.
        day: on which it was opened.
    """
    paper = {name: given[name] for name in ("title", "table") if given[name]}
    if not (given["place"] or paper):
        return _issue_place(given, issue, day)
    try:
        place = (_place_at(given["place"], given["date"]) if given["place"] else {}) | paper
    except UsageError as error:
        return {}, [f"Place: {error}"]
    faults = _paper_faults(place)
    if place.get("date") == "":
        faults.append("Date is empty, and a comment or a model card needs one")
    return place, faults + _day_problems(place.get("date", ""))


def _paper_faults(place: dict) -> list[str]:
    text_keys = place.keys() & {"title", "table"}
    number_keys = place.keys() & {"arxiv", "doi"}
    if text_keys and place.keys() - {*number_keys, *text_keys}:
        return ["Title and Table are filled in, but Place is no paper's"]
    if text_keys and not number_keys:
        return ["a paper needs its address at arxiv.org or doi.org as its Place"]
    return ["a paper needs both Title and Table"] if number_keys and len(text_keys) < 2 else []


def _issue_place(form: dict[str, str], issue: str, day: str) -> tuple[dict, list[str]]:
    faults = [] if form["evidence"] else ["Evidence is empty, and without a Place this issue is the only one"]
    if not (issue and day):
        return {}, [*faults, "Place is empty, and no --issue with its --date was named that could be it"]
    return _issue(issue, day), faults + _day_problems(day)


def _day_problems(day: str) -> list[str]:
    """Return the reason why nothing can have been said on a day; none where it can, or the day is empty."""
    if reason := day and no_day(day):
        return [f"Date {reason}"]
    today = datetime.now(UTC).date().isoformat()
    return [f"Date {day} is yet to come"] if day > today else []


def _place_at(address: str, date: str) -> dict:
    """Return the fields of a ``Source`` that an address gives; a paper's title and table are not among them.

    Args:
        date: of a comment, or on which a model card without a commit was read.

    Raises UsageError for an address of another kind, or without what tells the place for good.
    """
    if match := FILE_AT_COMMIT.fullmatch(address):
        repository, commit, path = match.groups()
        if not COMMIT.fullmatch(commit):
            remedy = "press y on GitHub, which shows the address at a commit"
            raise UsageError(f"{address!r} is a file at {commit!r}, which moves: {remedy}")
        return {"repository": repository, "path": unquote(path), "commit": commit}
    if match := THREAD.fullmatch(address):
        repository, kind, number = match.groups()
        return {"repository": repository, "issue" if kind == "issues" else "pull": int(number), "date": date}
    if match := PAPER.fullmatch(address):
        return {"arxiv": match[1]}
    if match := ARTICLE.fullmatch(address):
        return {"doi": unquote(match[1])}
    if match := CARD.fullmatch(address):
        is_commit = COMMIT.fullmatch(match[2] or "")
        return {"card": match[1]} | ({"commit": match[2]} if is_commit else {"date": date})
    raise UsageError(f"{address!r} is no address that is known to stay; known are {KINDS}")


def _issue(name: str, date: str) -> dict:
    """Return the fields for an issue OWNER/NAME#NUMBER. Raises UsageError for another form."""
    match = ISSUE.fullmatch(name)
    if match is None:
        raise UsageError(f"an issue is named OWNER/NAME#NUMBER, not {name!r}")
    return {"repository": match[1], "issue": int(match[2]), "date": date}


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
    """Return the entry that the Markdown of a filled form gives, checked as others.yaml is.

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
    """Return the answers that are no text: a choice by its word, how many seeds, differences by their
    lines."""
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
    """Return the entry, by the schema and beside what the folder's others.yaml has. Raises DataError."""
    cells_by_id = known_cells()
    folder, content = _folder(cells, cells_by_id)
    try:
        source = Source(who=fields["who"], name=fields["name"], **place)
        name = _name(source, content)
        values = {key: fields[key] for key in IN_REPORT} | {"how": {key: fields[key] for key in IN_HOW}}
        report = Report(cells=tuple(cell.id for cell in cells), source=name, **values)
    except ValidationError as error:
        raise _refusal(origin, [in_words(fault) for fault in error.errors()]) from None
    sources = {name: source, **content.sources}
    all_reports = Reports(sources=sources, values=(*content.values, report))
    if problems := [reason for _, reason in faults(all_reports, cells_by_id)]:
        raise _refusal(origin, problems)
    return Entry(folder, sources[name], report, tuple(cells), known=name in content.sources)


def in_words(error: ErrorDetails) -> str:
    """Return one of pydantic's errors: the field, where it is of one, and the reason."""
    field = ".".join(map(str, error["loc"]))
    reason = error["msg"].removeprefix("Value error, ")
    return f"{field}: {reason}" if field else reason


def _refusal(origin: str, problems: list[str]) -> DataError:
    return DataError(f"{origin}: {'; '.join(problems)}")


def _folder(cells: list[Cell], cells_by_id: dict[str, Cell]) -> tuple[Path, Reports]:
    """Return the folder with most reports of the first cell's system, else that of its paper; and its
    reports."""
    counts: Counter[Path] = Counter()
    contents = {folder: yaml_file.read(folder / FILE, Reports) for folder in folders()}
    for folder, content in contents.items():
        systems = (cells_by_id[name].row.system for report in content.values for name in report.cells)
        counts[folder] = sum(system == cells[0].row.system for system in systems)
    best = max(counts, key=counts.__getitem__, default=None)
    folder = best if best and counts[best] else cells[0].paper.folder
    return folder, contents.get(folder, Reports())


def _name(source: Source, content: Reports) -> str:
    """Return the short name under which the source is there, or a new one of its letters and digits."""
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
    """Return a mapping as YAML in braces, whose further lines are indented more than what it stands below."""
    options = {"default_flow_style": True, "sort_keys": False, "allow_unicode": True, "width": 105}
    return yaml.safe_dump(content, **options).strip().replace("\n", "\n    ")


def _alternatives(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}"
