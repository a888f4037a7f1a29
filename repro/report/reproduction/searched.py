"""The parts of the page on what was looked for: systems without a report, and searches in vain."""

from collections.abc import Sequence

from repro.judging.reproduction.systems import System
from repro.manifest.reports import Search
from repro.report.reproduction.blocks import Fold, Grid, Section, Words


def never_section(every: Sequence[System]) -> Section:
    """Systems without a report, each with what was searched, and all systems with their counts."""
    systems = [system for system in every if system.search]
    unreported = [system for system in systems if not system.reports]
    by_authors = [system for system in systems if system.reports and not system.others]
    parts = [system for system in every if not system.search]
    text = (
        f"Of {len(systems)} systems {len(unreported)} have no value of others at all: nobody, their authors "
        f"included, is known to state any of their {sum(len(s.cells) for s in unreported)} numbers "
        f"elsewhere. Of {len(by_authors)} more only the authors do."
    )
    parts_text = (
        f"{len(parts)} rows more are stages and ablations of these systems "
        f"({sum(len(s.cells) for s in parts)} cells, {sum(s.cells_with_value for s in parts)} of them with a "
        "value), which were not looked for by themselves."
    )
    head = ["system", "stands in", "cells", "queries", "places opened", "what the search gave"]
    rows = [_unreported_row(system) for system in unreported]
    names = ", ".join(system.label for system in by_authors)
    blocks = [
        Words(text),
        Grid(head, rows),
        Words(f"Only their authors state values: {names}."),
        Words(parts_text),
        _all_systems(systems),
    ]
    return Section("never-reproduced", "Never reproduced", blocks)


def _unreported_row(system: System) -> list:
    search = system.search
    counts = [str(len(system.cells)), str(len(search.queries)), str(len(set(search.places)))]
    return [system.label, ", ".join(system.papers), *counts, search.note or "nothing"]


def _all_systems(systems: Sequence[System]) -> Fold:
    head = ["system", "cells", "with a value", "by its authors", "by others"]
    rows = [
        [s.label, *map(str, (len(s.cells), s.cells_with_value, s.authors, s.others))]
        for s in sorted(systems, key=lambda s: (-s.others, -s.authors, s.label.lower()))
    ]
    return Fold("All systems, with the number of values", [Grid(head, rows, numbers=1)])


def searches_section(every: Sequence[System]) -> Section:
    """Every search with its queries, its places, and those that hold nothing."""
    text = (
        "What was looked for and where, so that it can be checked and continued: a value that is missing "
        "here is an entry of papers/*/others.yaml away."
    )
    folds = [Fold(_summary(s), _search(s.search)) for s in every if s.search]
    return Section("searches", "What was looked for, and where in vain", [Words(text), *folds])


def _summary(system: System) -> str:
    entries = system.authors + system.others
    count = f"{entries} value{'' if entries == 1 else 's'}" if entries else "nothing found"
    return f"{system.label} ({', '.join(system.papers)}): {count}"


def _search(search: Search) -> list:
    rows = [
        ["queries", "; ".join(dict.fromkeys(search.queries))],
        ["places opened", "; ".join(dict.fromkeys(search.places))],
        ["in vain", "; ".join(dict.fromkeys(search.in_vain)) or "–"],
        ["last look", search.date],
        ["note", search.note or "–"],
    ]
    return [Grid(["", ""], rows)]
