"""Judgements of each statement by the paper's own numbers, by ours and by values that others report."""

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial

from repro.hooks import MAKINGS, CellNote, notes
from repro.manifest.cells import Cell, exhibits, select
from repro.manifest.papers import Paper, papers
from repro.manifest.printed import decimals_of, half_unit
from repro.plugins.statements.claim_values import MeasuredValues, PublishedValues, facts_of_exhibits
from repro.plugins.statements.claims import FAILS, UNTESTED, MissingNumber, claims_of, format_value
from repro.plugins.statements.language import Places
from repro.plugins.statements.statements import Judgement, Statement, statements
from repro.running.plan import plan
from repro.running.scale import Scale
from repro.running.workspace import Workspace
from repro.verdicts.comparison import judged_cells
from repro.verdicts.decision import KINDS

OF_ONE_SYSTEM, TRAINED_AGAIN = ("run", "checkpoint", "index"), ("trained", "fine-tuned")
ALIKE = {"released": OF_ONE_SYSTEM, "trained again": TRAINED_AGAIN}


@dataclass(frozen=True)
class ClosestReports(PublishedValues):
    """The reported value that best matches each published one. A match by name alone is not used.

    ``starts`` limits how the values were made, e.g. to ``("trained", "fine-tuned")``.
    """

    starts: tuple[str, ...] = ()
    is_published = False
    _notes: dict[str, tuple[CellNote, ...]] = field(default_factory=dict)

    def of(self, cell: Cell) -> CellNote:
        if cell.id not in self._notes:
            self._notes[cell.id] = notes(cell)
        counting = [note for note in self._notes[cell.id] if not self.starts or note.making in self.starts]
        if not counting:
            raise MissingNumber(f"no value of {cell.id} is reported elsewhere")
        if counting[0].match == "loose":
            raise MissingNumber(f"values reported elsewhere match {cell.id} only by name")
        return counting[0]

    def number(self, cell: Cell) -> Decimal:
        return self.of(cell).value

    def shown(self, cell: Cell) -> str:
        note = self.of(cell)
        return f"{format_value(note.value)} ({note.making})"

    def check_order(self, one: Cell, other: Cell) -> None:
        """Raise MissingNumber if two values with unequal decimals agree at the fewer decimals."""
        values = [(self.number(c), 2 if c.unit == "fraction" else 0) for c in (one, other)]
        first, second = (value.scaleb(digits) for value, digits in values)
        decimals = [decimals_of(value) - digits for value, digits in values]
        if decimals[0] != decimals[1] and abs(first - second) <= half_unit(min(decimals)):
            raise MissingNumber(f"others' values of {one.id} and {other.id} are equal after rounding")

    def why_untested(self, cell: Cell) -> str:
        return "values reported elsewhere have no significance test"

    def over_seeds(self, cell: Cell) -> list[float]:
        raise MissingNumber(f"no seeds of {cell.id} are reported elsewhere")

    def drawn(self, shown: str, fact: str) -> float:
        raise MissingNumber(f"no value of {shown} is reported elsewhere")


@dataclass(frozen=True)
class OthersJudgement:
    """The judgement of a statement by values reported elsewhere. ``used`` pairs cells with these values, and
    ``cells`` counts all its cells with numbers. ``alike`` has the states by released systems alone and by
    retrained ones alone, if there are values of both.
    """

    judgement: Judgement = field(default_factory=partial(Judgement, UNTESTED))
    used: tuple[tuple[Cell, CellNote], ...] = ()
    cells: int = 0
    alike: Mapping[str, str] = field(default_factory=dict)

    @property
    def state(self) -> str:
        return self.judgement.state

    @property
    def speaks(self) -> bool:
        return self.state != UNTESTED

    @property
    def kinds(self) -> dict[str, int]:
        counts = Counter(note.making for _, note in self.used)
        return {making: counts[making] for making in MAKINGS if counts[making]}

    @property
    def basis(self) -> str:
        """The number and kinds of the reports used, e.g. "2 of 4 cells: …", or ""."""
        if not self.used:
            return ""
        kinds = ", ".join(f"{MAKINGS[start]} ({number})" for start, number in self.kinds.items())
        by_authors = sum(note.who == "authors" for _, note in self.used)
        basis = f"{len(self.used)} of {self.cells} cells: {kinds}"
        basis += f", {by_authors} by authors of the systems" if by_authors else ""
        mixed = ", mixes released and retrained systems: "
        return basis + (mixed + self.like_beside_like if self.alike else "")

    @property
    def like_beside_like(self) -> str:
        states = ", ".join(f"{name}: {state}" for name, state in self.alike.items())
        return f"by kind of making ({states})" if states else ""

    def as_json(self) -> dict:
        return self.judgement.as_json() | {
            "cells": self.cells,
            "kinds": self.kinds,
            "alike": dict(self.alike),
            "used": [{"cell": cell.id, **note.as_json()} for cell, note in self.used],
        }


def by_others(
    statement: Statement, places: Places, *, published: Judgement, values: ClosestReports
) -> OthersJudgement:
    """Judge a statement by the closest reports on the cells of ``published``, its judgement by the paper."""
    used, alike = [], {}
    cells = [c for c in published.cells if c.is_numeric]
    for cell in cells:
        with suppress(MissingNumber):
            used.append((cell, values.of(cell)))
    if not used:
        return OthersJudgement(cells=len(cells))
    judgement, starts = statement.judge(values, places), {note.making for _, note in used}
    if not (starts.isdisjoint(OF_ONE_SYSTEM) or starts.isdisjoint(TRAINED_AGAIN)):
        alike = {
            name: statement.judge(replace(values, starts=kind), places).state for name, kind in ALIKE.items()
        }
    return OthersJudgement(judgement, tuple(used), len(cells), alike)


@dataclass(frozen=True)
class JudgedStatement:
    """A statement judged by the paper's numbers, ours and reported ones, with doubts about ours."""

    statement: Statement
    published: Judgement
    ours: Judgement
    scale: str
    others: OthersJudgement = field(default_factory=OthersJudgement)
    doubts: tuple[str, ...] = ()

    @property
    def fails(self) -> bool:
        return FAILS in (self.published.state, self.ours.state, self.others.state)

    def as_json(self) -> dict:
        s = self.statement
        return {
            "id": s.id,
            "paper": s.paper.name,
            "kind": s.kind,
            "where": s.where,
            "tables": list(s.tables),
            "says": s.says,
            "expect": " ".join(s.expect.split()),
            "note": s.note,
            "assumed": s.assumed,
            "published": self.published.as_json(),
            "ours": {
                "state": self.ours.state,
                "why": self.ours.why,
                "test": self.ours.test,
                "measures": dict(self.ours.measures),
                "doubts": list(self.doubts),
            },
            "others": self.others.as_json(),
            "scale": self.scale,
            "says_of_paper": self.scale == "full",
            "deviation": s.need.as_json() if s.need else None,
        }


@dataclass(frozen=True)
class PublishedJudgement:
    statement: Statement
    places: Places
    published: Judgement
    others: OthersJudgement

    def judged(self, ours: MeasuredValues, scale: str) -> JudgedStatement:
        ours.doubted.clear()
        judgement = self.statement.judge(ours, self.places)
        doubts = tuple(kind for kind in KINDS if kind in ours.doubted)
        return JudgedStatement(self.statement, self.published, judgement, scale, self.others, doubts)


def published_judgements(source: Paper) -> list[PublishedJudgement]:
    """Judge every statement of a paper by its own and reported numbers, without ours."""
    places, values, judgements = Places(source), ClosestReports(), []
    for statement in statements(source):
        published = statement.as_published
        others = by_others(statement, places, published=published, values=values)
        judgements.append(PublishedJudgement(statement, places, published, others))
    return judgements


def judged(sources: list[Paper], ours: MeasuredValues, *, scale: str) -> list[JudgedStatement]:
    return [j.judged(ours, scale) for source in sources for j in published_judgements(source)]


def judged_at(sources: list[Paper], scale: Scale, workspace: Workspace) -> list[JudgedStatement]:
    """Judge all statements of papers, with our measurements at a scale."""
    mentions = [named_papers(c.expect) for source in sources for c in claims_of(source).values()]
    names = tuple(sorted({s.name for s in sources}.union(*mentions)))
    cells, drawings = select(names), exhibits(names)
    whole = plan(cells, scale=scale, machine=workspace.machine, exhibits=drawings)
    comparison = judged_cells(whole, workspace.results, workspace.store)
    ours = MeasuredValues(comparison, facts_of_exhibits(whole, workspace.store))
    return judged(sources, ours, scale=scale.name)


def named_papers(expect: str) -> set[str]:
    """Return the names of the papers in an expression, e.g. PAPER in ``v("PAPER:1/ours/rr")``."""
    return set(re.findall(r"[\"']([\w-]+):", expect)) & set(papers())
