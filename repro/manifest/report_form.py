"""The form "I measured a cell" as it comes out of an issue: Markdown with a heading for each field."""

from __future__ import annotations

from dataclasses import dataclass

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
    """The answers of a filled form by the ids of its fields, empty where left out, and what is wrong with it.

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
    """The reason why an answer is none; empty where it is one."""
    field = FIELDS[name]
    if not is_there:
        return f"the part {HEADING + field.label!r} is missing"
    if field.required and not answer:
        return f"{field.label} is empty"
    if name != LAST and len(answer) > LONGEST:
        return f"{field.label} has more than {LONGEST} characters; restate it in few words"
    return ""


def _parts(body: str) -> tuple[dict[str, list[str]], list[str]]:
    """The lines below each heading by the field's id, and the ids of headings that occur again."""
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
    """The answer without empty lines around it, on one line unless the field has several."""
    answer = "\n".join(lines).strip()
    if answer == NOTHING:
        return ""
    return answer if name in OF_LINES else " ".join(answer.split())
