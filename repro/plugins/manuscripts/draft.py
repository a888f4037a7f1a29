"""Drafts cells.yaml from a source, e.g. the column ``mrr10`` with a question about its dataset."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from operator import itemgetter
from typing import Any

from pydantic import ValidationError

from repro.manifest.reading_schema import Reading
from repro.manifest.schema import Manifest, faults
from repro.plugins.manuscripts.headings import ColumnMeaning, Meaning, meaning, with_neighbours
from repro.plugins.manuscripts.layout import Layout
from repro.plugins.manuscripts.rows import (
    MARKS,
    Transcription,
    Values,
    as_fraction,
    bold_scope,
    key,
    match,
    plain,
    transcribe,
)
from repro.plugins.manuscripts.source_tables import Manuscript, Place, SourceCell, SourceTable
from repro.retrieval.datasets.catalog import catalog

TICKS = {"✓": True, "✔": True, "✗": False, "✘": False, "×": False, "yes": True, "no": False}
ABLATION = re.compile(r"(?:w/|w/o|without|with|only|\+|-|−|–)\b|[+−–-]\s")
ROLES = "role: ours for rows with the paper's name, cited for others. Use rerun for runs by its authors"


@dataclass(frozen=True)
class Remark:
    """A comment: a question (``todo``), an assumption (``likely``) or a ``note``."""

    kind: str
    text: str


def _todo(text: str) -> Remark:
    return Remark("todo", text)


@dataclass(frozen=True)
class Entry:
    """The ``facts`` of a table, mark, column or row, as in cells.yaml, with its place in the source."""

    facts: Mapping[str, Any]
    place: Place
    remarks: tuple[Remark, ...] = ()

    @property
    def is_asked(self) -> bool:
        return any(remark.kind == "todo" for remark in self.remarks)


@dataclass(frozen=True)
class TableDraft:
    """A drafted table. ``readings`` maps ids to (unspecified choice, name of its paper)."""

    head: Entry
    marks: Mapping[str, Entry]
    columns: tuple[Entry, ...]
    groups: tuple[Mapping[str, Any], ...]
    rows: tuple[Entry, ...]
    readings: Mapping[str, tuple[Reading, str]]

    @property
    def id(self) -> str:
        return self.head.facts["id"]

    @property
    def content(self) -> dict[str, Any]:
        marks = {mark: entry.facts for mark, entry in self.marks.items()}
        columns, rows = ([entry.facts for entry in part] for part in (self.columns, self.rows))
        return {**self.head.facts, "marks": marks, "groups": self.groups, "columns": columns, "rows": rows}

    def entries(self) -> Iterator[tuple[str, Entry]]:
        """Yield (name, entry), e.g. named "table 1, column dev.rr10"."""
        name = f"table {self.id}"
        yield name, self.head
        yield from ((f"{name}, mark {mark}", entry) for mark, entry in self.marks.items())
        yield from ((f"{name}, column {entry.facts['id']}", entry) for entry in self.columns)
        yield from ((f"{name}, row {entry.facts['id']}", entry) for entry in self.rows)


@dataclass(frozen=True)
class Draft:
    """The drafted results tables of a source, and the place of each omitted table with the reason."""

    tables: tuple[TableDraft, ...]
    left_out: tuple[tuple[Place, str], ...]


def draft(name: str, manuscript: Manuscript) -> Draft:
    tables: dict[str, TableDraft] = {}
    left_out = []
    meanings = with_neighbours([meaning(s) for s in manuscript.tables])
    for number, (source, read_as) in enumerate(zip(manuscript.tables, meanings, strict=True), start=1):
        if not read_as.is_of_results:
            left_out.append((source.place, "no heading names a measure or a collection"))
            continue
        id = source.number or manuscript.labels.get(source.label, str(number))
        made = _Drafting(name, source, read_as).table(_unused(_slug(id) or str(number), tables))
        if reason := _fault(made):
            left_out.append((source.place, f"a manifest cannot represent it: {reason}"))
        else:
            tables[made.id] = made
    return Draft(tuple(tables.values()), tuple(left_out))


def _fault(table: TableDraft) -> str:
    try:
        manifest = Manifest.model_validate({"paper": "draft", "title": "draft", "tables": [table.content]})
    except ValidationError as error:
        return str(error.errors()[0]["msg"])
    return next((reason for _, reason in faults(manifest)), "")


@dataclass
class _Drafting:
    name: str
    source: SourceTable
    read_as: Meaning
    strings: dict[tuple[int, int], Transcription] = field(default_factory=dict)  # by (row, column)
    columns: dict[int, Entry] = field(default_factory=dict)
    readings: dict[str, tuple[Reading, str]] = field(default_factory=dict)

    def table(self, id: str) -> TableDraft:
        plan = self.read_as.layout
        for row in plan.rows:
            for column in self.read_as.columns:
                self.strings[row, column.place] = transcribe(plan.table.body[row][column.place])
        taken: dict[str, Entry] = {}
        for column in sorted(self.read_as.columns, key=lambda column: column.is_mean):
            made = self._column(column, _unused(_slug(".".join(map(_slug, column.head))) or "column", taken))
            taken[made.facts["id"]] = self.columns[column.place] = made
        self.columns = dict(sorted(self.columns.items()))
        names = {text: _slug(text) or "group" for text in dict.fromkeys(filter(None, plan.groups))}
        rows: dict[str, Entry] = {}
        for row, group in zip(plan.rows, plan.groups, strict=True):
            parts = filter(None, (names.get(group), _slug(plan.label(row)) or "row"))
            made = self._row(row, names.get(group), _unused(".".join(parts), rows))
            rows[made.facts["id"]] = made
        groups = tuple({"id": name, "label": text} for text, name in names.items())
        columns, entries = tuple(self.columns.values()), tuple(rows.values())
        return TableDraft(self._head(id), self._marks(entries), columns, groups, entries, self.readings)

    def _head(self, id: str) -> Entry:
        plan, unit = self.read_as.layout, self.read_as.unit or "fraction"
        strings = [[self.strings[row, c.place].text for row in plan.rows] for c in self.read_as.columns]
        bold = bold_scope(strings, plan.groups)
        facts: dict[str, Any] = {"id": id, "about": "todo: subject of the table", "unit": unit, "bold": bold}
        facts |= {"transposed": True} if self.read_as.is_transposed else {}
        remarks = [_todo("about: subject of the table in your own words"), Remark("likely", ROLES)]
        if bold == "unknown":
            remarks.append(_todo("bold: it marks the best of a column, group, row or table"))
        if self.read_as.unit is None:
            remarks.append(_todo("unit: fraction or percent"))
        return Entry(facts, self.source.place, (*remarks, *(Remark("note", n) for n in self.source.notes)))

    def _marks(self, rows: Iterable[Entry]) -> dict[str, Entry]:
        strings = [text for row in rows for text in (*row.facts["cells"], row.facts.get("marks", ""))]
        used = " ".join(strings).replace("**", "")
        todo = _todo("means: significant (with `over`), source (with `source`) or property")
        entry = Entry({"means": "property", "property": "todo"}, self.source.place, (todo,))
        return dict.fromkeys(filter(used.__contains__, MARKS), entry)

    def _column(self, column: ColumnMeaning, id: str) -> Entry:
        facts: dict[str, Any] = {"id": id, "head": list(column.head)} | self._unit(column)
        meant = (column.dataset, column.measure)
        remarks: list[Remark] = []
        if reason := self._elsewhere(column):
            facts["not_measurable"] = reason
        elif column.mean_of:
            ids = [self.columns[place].facts["id"] for place in column.mean_of]
            facts |= {"mean_of": ids} | ({"measure": column.measure.value} if column.measure.value else {})
        elif column.is_mean:
            remarks = [_todo(f"mean_of, the ids of columns: {column.dataset.reason}")]
        elif column.dataset.value and column.measure.value:
            facts |= {"dataset": column.dataset.value, "measure": column.measure.value}
            facts |= {"kind": "answers"} if catalog()[column.dataset.value].answers else {}
            remarks = [Remark("likely", f"{part.value}: {part.reason}") for part in meant if part.reason]
        else:
            questions = map(_question, ("dataset", "measure"), meant)
            remarks = [_todo(", ".join(questions))]
        return Entry(facts, self._place(column), tuple(remarks))

    def _unit(self, column: ColumnMeaning) -> dict[str, str]:
        numbers = [self.strings[row, column.place].number for row in self.read_as.layout.rows]
        if column.is_cost or any(abs(n) > 100 for n in numbers if n is not None):
            return {"unit": "number"}
        return {"unit": column.unit} if column.unit and column.unit != self.read_as.unit else {}

    def _elsewhere(self, column: ColumnMeaning) -> str:
        if column.is_cost:
            return "a size, a time or a setting, not a measure of a ranking"
        parts = (column.dataset, column.measure)
        return ", ".join(part.reason for part in parts if part.sure == "elsewhere")

    def _place(self, column: ColumnMeaning) -> Place:
        head = [row[column.place] for row in self.read_as.layout.table.head]
        return next((c.place for c in reversed(head) if c.text.strip()), self.source.place)

    def _row(self, row: int, group: str | None, id: str) -> Entry:
        plan = self.read_as.layout
        cells, label = plan.table.body[row], plan.label(row)
        named = [cells[place] for place in plan.labels if cells[place].text.strip()]
        role = "ours" if self._is_ours(label) else "cited"
        facts: dict[str, Any] = {"id": id, "group": group, "label": label or "todo", "role": role}
        facts["marks"] = "".join(filter(MARKS.__contains__, named[-1].marks if named else ()))
        facts["attributes"] = _attributes(plan, cells)
        facts["cells"] = [self.strings[row, place].text for place in self.columns]
        recipe, remarks = self._recipe(label, role, row)
        remarks += [] if label else [_todo("label: the row has no label")]
        known = dict(filter(itemgetter(1), facts.items()))
        return Entry(known | recipe, cells[0].place, (*remarks, *self._left_out(row)))

    def _is_ours(self, label: str) -> bool:
        name = re.sub("[^a-z0-9]", "", self.name)
        return plain(label).startswith(name) or "ours" in label.lower() or bool(ABLATION.match(label))

    def _recipe(self, label: str, role: str, row: int) -> tuple[dict[str, Any], list[Remark]]:
        if role == "ours":
            return {}, [_todo("recipe: a function of recipes.py, and its options")]
        found = match(label, self._values(row))
        if found.row is None:
            return {}, [_todo(f"recipe, or not_measurable with the reason: {found.reason}")]
        remarks = [Remark("likely", f"recipe: {found.reason}")] if found.sure == "likely" else []
        if not found.row.recipe:
            return {"not_measurable": found.row.not_measurable}, remarks
        datasets = {entry.facts["dataset"] for entry in self.columns.values() if "dataset" in entry.facts}
        for id, reading in found.row.readings(sorted(datasets)).items():
            self.readings.setdefault(id, (reading, found.row.source.name))
        options = found.row.options
        return {"recipe": found.row.recipe} | ({"with": options} if options else {}), remarks

    def _values(self, row: int) -> Values:
        values = {}
        for column in self.read_as.columns:
            measure = column.measure.value or next(iter(column.measure.choices), "")
            number = self.strings[row, column.place].number
            if column.dataset.value and measure and number is not None:
                values[key(column.dataset.value, measure)] = as_fraction(number, column.unit or "fraction")
        return values

    def _left_out(self, row: int) -> Iterator[Remark]:
        cells = self.read_as.layout.table.body[row]
        if under := [entry.facts["id"] for place, entry in self.columns.items() if cells[place].underlined]:
            yield Remark("note", f"underlined: {', '.join(under)}")
        for place, entry in self.columns.items():
            if rest := self.strings[row, place].remainder:
                yield Remark("note", f"{entry.facts['id']} also says {rest!r}")


def _attributes(plan: Layout, cells: Sequence[SourceCell]) -> dict[str, Any]:
    texts = {_slug(" ".join(plan.head(p))) or f"column-{p + 1}": cells[p].text.strip() for p in plan.words}
    return {name: TICKS.get(text.lower(), text) for name, text in texts.items() if text}


def _question(name: str, part) -> str:
    if part.value:
        return f"{name}: {part.value}"
    choices = f": {' or '.join(part.choices)}" if part.choices else ""
    return f"{name}{choices}? {part.reason}"


def _slug(text: str) -> str:
    plain_text = unicodedata.normalize("NFKD", text.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9.]+", "-", plain_text.replace("@", "")).strip("-.")


def _unused(id: str, taken: Mapping[str, object]) -> str:
    tries = chain([id], (f"{id}-{number}" for number in count(2)))
    return next(each for each in tries if each not in taken)
