"""The commands on drafts: ``repro new paper NAME --from SOURCE`` and ``repro show coverage FILE``."""

import copy
import textwrap
from collections.abc import Iterable, Iterator
from inspect import cleandoc
from itertools import chain
from pathlib import Path
from typing import Any

import click
import yaml

from repro.cli.printing import emit_json, put, say, table
from repro.cli.verbs import new as plain_paper
from repro.cli.verbs import show
from repro.errors import UsageError
from repro.graph import grouped
from repro.manifest.papers import papers
from repro.plugins.manuscripts import auditing, source_tables
from repro.plugins.manuscripts.checks.values import columns_of
from repro.plugins.manuscripts.draft import Draft, Entry, TableDraft, draft
from repro.plugins.manuscripts.reading import read

WIDTH = 110
TABLE_KEYS = ("kind", "about", "unit", "bold", "transposed")
TEMPLATES = Path(__file__).with_name("templates")


def _template(name: str) -> str:
    return (TEMPLATES / f"{name}.txt").read_text(encoding="utf-8")


def cells_text(name: str, source: str, draft: Draft) -> str:
    head = _template("cells.yaml").format(name=_scalar(name), source=source)
    return head + "\n".join(map(_table, draft.tables))


def readings_text(draft: Draft) -> str:
    entries = []
    for id, (reading, name) in _readings(draft).items():
        facts = {"id": id, "kind": "silence", "where": "todo"}
        facts["paper"] = "todo: statement of the paper, if any"
        facts["evidence"] = f"todo, with the choices and default of {name}"
        entries.append({**facts, "choices": dict(reading.choices), "default": reading.default})
    return yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=WIDTH) if entries else ""


def readme_text(name: str, source: str, draft: Draft) -> str:
    listed = {kind: _listed(draft, kind) or "Nothing.\n" for kind in ("todo", "likely")}
    return _template("README.md").format(name=name, source=source, table=draft.tables[0].id, **listed)


def questions(draft: Draft, kind: str) -> dict[str, list[tuple[str, str]]]:
    """Return text -> [(name, place) of an entry] for the remarks of a kind, e.g. "todo"."""
    entries = chain.from_iterable(each.entries() for each in draft.tables)
    remarks = ((remark, name, entry) for name, entry in entries for remark in entry.remarks)
    return grouped((r.text, (name, str(entry.place))) for r, name, entry in remarks if r.kind == kind)


def _listed(draft: Draft, kind: str) -> str:
    lines = []
    for text, places in questions(draft, kind).items():
        lines.append(textwrap.fill(text, WIDTH, initial_indent="- ", subsequent_indent="  "))
        lines += [f"  - {what} ({place})" for what, place in places]
    if kind == "todo":
        for id, (_, name) in _readings(draft).items():
            lines.append(f"- `{id}` in readings.yaml: check the choices, copied from {name}")
        lines += [f"- {place} is omitted: {reason}" for place, reason in draft.left_out]
    return "".join(f"{line}\n" for line in lines)


def _readings(draft: Draft) -> dict[str, Any]:
    return {id: found for table in reversed(draft.tables) for id, found in table.readings.items()}


def _table(table: TableDraft) -> str:
    facts = {"kind": "results", **table.head.facts}
    rest = (f"  {name}: {_scalar(facts[name])}" for name in TABLE_KEYS if name in facts)
    lines = [*_comments(table.head, ""), f"- id: {_scalar(facts['id'])}", *rest]
    if table.marks:
        lines.append("  marks:")
        for mark, entry in table.marks.items():
            lines += [*_comments(entry, "    "), f"    {_scalar(mark)}: {{{_inner(dict(entry.facts))}}}"]
    lines += ["  columns:", *_entries(table.columns, (("dataset", "measure", "kind"), ("not_measurable",)))]
    if table.groups:
        lines += ["  groups:", *(f"  - {{{_inner(dict(group))}}}" for group in table.groups)]
    lines += ["  rows:", *_entries(table.rows, (("cells",), ("recipe", "with"), ("not_measurable",)))]
    return "\n".join(lines) + "\n"


def _entries(entries: Iterable[Entry], lines: tuple[tuple[str, ...], ...]) -> Iterator[str]:
    for entry in entries:
        yield from _comments(entry, "  ")
        below = [{key: entry.facts[key] for key in keys if key in entry.facts} for keys in lines]
        first = {k: v for k, v in entry.facts.items() if not any(k in keys for keys in lines)}
        yield "  - {" + ",\n     ".join(_inner(part) for part in (first, *below) if part) + "}"


def _comments(entry: Entry, indent: str) -> Iterator[str]:
    for remark in entry.remarks:
        kind = "" if remark.kind == "note" else f"{remark.kind}: "
        lines = textwrap.wrap(f"{kind}{remark.text}", WIDTH - len(indent) - 2, break_long_words=False)
        yield from (f"{indent}# {line}" for line in lines)


def _scalar(value: object) -> str:
    return _inner([value])


def _inner(value: object) -> str:
    options = {"default_flow_style": True, "allow_unicode": True, "sort_keys": False, "width": 10**6}
    return yaml.safe_dump(value, **options).strip()[1:-1]


DRAFTED = """ With --from, each results table is
drafted: columns with collection and measure from the headings, rows with the recipe of a known system,
numbers, bold and marks. Missing facts are marked in cells.yaml and listed in README.md."""


@click.command(
    "paper",
    help=cleandoc(plain_paper.paper.help or "") + DRAFTED,
    params=[*plain_paper.paper.params],
    epilog="""\b
Examples:
  repro new paper NAME                      placeholders that run
  repro new paper NAME --from paper.tex     a draft of the tables of a source
  repro new paper NAME --from arxiv.tar.gz --dir DIR""",
)
@click.option(
    "--from",
    "source",
    metavar="SOURCE",
    help="Draft cells from LaTeX (file, folder or archive), Markdown, CSV or HTML, e.g. paper.tex.",
)
def new_paper(name, source, directory):
    if source is None:
        return click.get_current_context().invoke(plain_paper.paper, name=name, directory=directory)
    plain_paper.check_name(name)
    manuscript = read(Path(source))
    made = draft(name, manuscript)
    if not made.tables:
        reasons = ", ".join(f"{place}: {reason}" for place, reason in made.left_out[:3])
        raise UsageError(f"{source} has no table of results ({reasons}). Write cells.yaml by hand.")
    files = plain_paper.scaffold(name, plain_paper.folder_of(directory), _contents(name, source, made))
    for path in files:
        print(path)
    _show(name, files[0].parent, made, manuscript.notes)
    return None


def _contents(name: str, source: str, made) -> dict[str, str | None]:
    title = Path(source).name
    empty = plain_paper.TEMPLATES / "readings.yaml.txt"
    return {
        "cells.yaml": cells_text(name, title, made),
        "readings.yaml": empty.read_text() + readings_text(made),
        "README.md": readme_text(name, title, made),
        **dict.fromkeys(("claims.yaml", "audit.yaml", "settings.yaml", "costs.yaml")),
    }


def _show(name: str, folder: Path, made, notes) -> None:
    head = ("table", "columns", "known", "likely", "todo", "rows", "measurable", "in the source")
    lines = [(t.id, *map(str, _counts(t)), str(t.head.place)) for t in made.tables]
    table(f"{name}: {sum(len(t.rows) for t in made.tables)} rows", head, lines, right=range(1, 7))
    for place, reason in made.left_out:
        say(f"{place} is omitted: {reason}")
    for note in notes:
        say(note)
    say(f"todo: {len(questions(made, 'todo'))} questions, listed in {folder / 'README.md'}")
    measured = next((t.id for t in made.tables if _counts(t)[5] and _counts(t)[3] < len(t.columns)), None)
    say(f"next: repro show {name} --table {made.tables[0].id}")
    if measured is not None:
        say(f"then: repro run {name} --table {measured} --scale tiny, for rows with a recipe")
    say(f"then: answer the questions in {folder / 'cells.yaml'} (`repro show coverage {name}` lists them)")


def _counts(table) -> tuple[int, int, int, int, int, int]:
    asked = sum(entry.is_asked for entry in table.columns)
    likely = sum(any(r.kind == "likely" for r in entry.remarks) for entry in table.columns)
    columns, recipes = len(table.columns), sum("recipe" in entry.facts for entry in table.rows)
    return columns, columns - asked - likely, likely, asked, len(table.rows), recipes


HEAD = ("table", "place", "rows", "numbers", "not read", "open")
OF_DRAFTS = """

A FILE is the source of a paper, e.g. paper.tex. The output counts the numbers in its tables that `repro
audit` reads or not, and lists the columns and rows that a draft leaves open."""

PARTS = copy.copy(show.coverage.params[0])
PARTS.metavar = "[PAPER|FILE]..."


@click.command(
    "coverage",
    help=cleandoc(show.coverage.help or "") + OF_DRAFTS,
    params=[PARTS, *show.coverage.params[1:]],
    epilog=f"{show.coverage.epilog}\n  repro show coverage paper.tex  the tables of a draft",
)
def coverage(names, form):
    files = [name for name in names if name not in papers() and Path(name).exists()]
    if files and len(files) < len(names):
        raise UsageError(f"{files[0]} is a draft. Name papers or drafts in one command, not both.")
    if not files:
        return click.get_current_context().invoke(show.coverage, names=names, form=form)
    made = [of_draft(auditing.audited(Path(file))) for file in files]
    if form == "json":
        return emit_json(made)
    for each in made:
        title = f"{each['source']}: {each['cells']:,} numbers are read, {each['unread']:,} cells are not"
        counts = [[len(v) if isinstance(v, list) else v for v in one.values()] for one in each["tables"]]
        table(title, HEAD, [list(map(str, row)) for row in counts], right=range(2, 6))
        parts = [part for one in each["tables"] for part in (*one["unread"], *one["open"])]
        for part in (*parts, *each["lost"]):
            put(f"{part['place']}: {part['text']}")
    return say("`repro new paper NAME --from FILE` drafts these tables, with a question per open part.")


def of_draft(made: auditing.Audited) -> dict:
    """Return the counts of a draft, e.g. ``{"tables": [{"read": 40, "unread": [], …}], "cells": 40, …}``."""
    drafted = {each.head.place: each for each in draft("draft", made.manuscript).tables}
    tables = []
    for number, source in enumerate(made.manuscript.tables, start=1):
        columns = list(columns_of(source))
        entries = drafted[source.place].entries() if source.place in drafted else ()
        unread = [(f"{cell.text!r} is not read", cell.place) for _, cells in columns for cell in cells]
        asked = [(f"{name} is open", each.place) for name, each in entries if each.is_asked and "," in name]
        counts = {"rows": len(source.body), "read": sum(len(read) for read, _ in columns)}
        place = {"table": source.number or str(number), "place": str(source.place)}
        tables.append({**place, **counts, "unread": _with_places(unread), "open": _with_places(asked)})
    totals = {"cells": made.cells, "unread": made.unread, "checked": made.looked_at}
    lost = _with_places((text, place) for place, text in made.manuscript.lost)
    return {"source": str(made.manuscript.path), **totals, "tables": tables, "lost": lost}


def _with_places(parts: Iterable[tuple[str, source_tables.Place]]) -> list[dict[str, str]]:
    return [{"text": text, "place": str(place)} for text, place in parts]
