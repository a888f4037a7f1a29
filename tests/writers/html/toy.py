"""A report of one made-up paper; every text in it may be hostile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from repro.hooks import PaperPart, Section
from repro.manifest.cells import cells_of
from repro.manifest.papers import Paper
from repro.manifest.reading_schema import Reading
from repro.manifest.schema import Manifest, Table
from repro.plugins.reports.reports import Source
from repro.plugins.statements.claims_sections import audit_section, claims
from repro.plugins.statements.findings import Finding
from repro.plugins.statements.judged import JudgedStatement, OthersJudgement
from repro.plugins.statements.statements import Judgement, Statement
from repro.plugins.studies.contrasts import Contrast, TableAnalysis
from repro.plugins.studies.studies import Entry, Study
from repro.plugins.studies.writing import shown_study
from repro.retrieval.evaluation.crossed import Estimate, Variances
from repro.running.requirements import Obstacle
from repro.store.results import Record
from repro.verdicts.compared import ComparedCell, Comparison, ImportedRun, PairedTest
from repro.verdicts.coverage import CoverageItem
from repro.verdicts.training_costs import Cost
from repro.verdicts.verdict import Doubt, Verdict
from repro.writers.figures import passages
from repro.writers.html.sections import Part, Report, View
from tests.made_up_reports import notes_on, report_on

VERDICTS = ("exact", "higher", "not run", "inconclusive", "blocked", "consistent")
DEV = "msmarco-passage/dev/small"
FILE = Source(who="toolkit", name="A toolkit", repository="a/b", path="its results.md", commit=f"{0:040}")


def report(
    drawings: Path | None = None, *, add: str = "", scale: str = "full", scaled: bool = False
) -> Report:
    """The report with the drawings of ``draw``. ``add`` ends every free text, ``scaled`` all measurements."""
    source = _paper(add)
    cells = [c for c in cells_of(source, (source.manifest.tables[0],)) if c.is_numeric]
    verdicts = [name if name in ("not run", "blocked") or not scaled else "scaled" for name in VERDICTS]
    covered = [_covered(c, name) for c, name in zip(cells, VERDICTS, strict=True)]
    part = Part(
        source,
        scale,
        _view(source, scale, verdicts, drawings, add),
        covered=covered,
        readings=list(source.readings.values()),
        rests_on={c.id: source.readings for c in cells},
        of_plugins=[_Statements(add)],
    )
    made = "2026-01-03", "commit c0ffee"
    return Report(scale, [part], cells, {"toy": covered}, "many hours" + add, made)


@dataclass(frozen=True)
class _Statements(PaperPart):
    add: str

    def sections(self, part: Part) -> Sequence[Section]:
        add = self.add
        what = "doubt", "values", "another paper", "toy", "values/x"
        finding = Finding(*what, ("toy/1/g.x/a",), ("0.316",), "differs" + add, "known" + add)
        statements = [
            _judged(
                "claim/better",
                "§1" + add,
                "y above x" + add,
                ("holds", "0.342 above 0.316" + add),
                ("fails", "p 0.2"),
                OthersJudgement(
                    Judgement("fails", "0.3352 (checkpoint) beside 0.339 (trained)" + add),
                    tuple((part.view.compared[4].cell, note) for note in part.view.compared[4].notes),
                    3,
                    {"released": "untested", "trained again": "fails"},
                ),
            ),
            _judged("1/bold/g.y/a", "Table 1", "best" + add, ("fails", ""), ("untested", "nothing measured")),
        ]
        told = claims("toy", statements, part.scale, {})
        return [
            Section("Claims", "claims", 1, told, of_no_scale=False),
            Section("Audit", "audit", 2, audit_section(part.paper, [finding])),
        ]


def study_of(table: Table) -> Study:
    known = Estimate(0.05, 0.01, 20.0, 100, 2, Variances(0.1, 0.01, 0.1))
    entries = {("base", "c"): Entry({1: 0.2}), ("own", "c"): Entry({1: 0.3, 2: 0.32}, known)}
    above = Contrast("reference", "c", "own", "base", known, holm=0.02, verdict="above")
    return Study(table, TableAnalysis(table=table.id), entries, (above,), costs={"own": Cost(1e12, 3.0)})


def _view(source: Paper, scale: str, verdicts: Sequence[str], drawings: Path | None, add: str) -> View:
    table, study = source.manifest.tables[0], source.manifest.tables[1]
    cells = [c for c in cells_of(source, (table,)) if c.is_numeric]
    compared = [_compared(c, name, scale, add) for c, name in zip(cells, verdicts, strict=True)]
    paired = PairedTest("a.trec" + add, "B toolkit" + add, 0.02, None, None, 0.03, 0.06, None, 1, 2, 3)
    return View(
        Comparison(compared, {("toy", "1", DEV): _tests()}, paired={compared[0].cell.id: (paired,)}),
        compared,
        _drawings(drawings) if drawings else {},
        {study.id: shown_study("Table 2 of toy", study, study_of(study))},
        {"1": f"% {scale}\n\\begin{{tabular}}{add}\n"},
    )


def _judged(
    place: str, where: str, says: str, printed: tuple, ours: tuple, others: OthersJudgement | None = None
) -> JudgedStatement:
    kind = "claim" if place.startswith("claim") else "bold"
    statement = Statement(f"toy/{place}", None, kind, where, says, decide=None)
    return JudgedStatement(
        statement, Judgement(*printed), Judgement(*ours), "full", others or OthersJudgement()
    )


def draw(folder: Path, *, add: str = "") -> Path:
    """A drawing, a view as a page, and one as Markdown; returns the folder."""
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 200"/>'
    (folder / "toy-figure1.svg").write_text(svg, encoding="utf-8")
    (folder / "toy-table3.html").write_text(f"<!doctype html><p>shaded{add}</p>", encoding="utf-8")
    (folder / "toy-table3.md").write_text(_passages(folder, add), encoding="utf-8")
    return folder


def _passages(folder: Path, add: str) -> str:
    path = folder / "list.md"
    passage = {"title": "T" + add, "text": "a | b *c*" + add, "grade": 1, "score": 0.5, "id": "d1", "rank": 1}
    query = {"text": "who" + add, "wanted": "whom" + add, "found": False, "id": "q", "passages": [passage]}
    passages([("BM|25" + add, {"queries": [query]})], path, note="a note" + add)
    return path.read_text(encoding="utf-8")


def _drawings(folder: Path) -> dict[str, list[Path]]:
    figures, tables = sorted(folder.glob("toy-figure*")), sorted(folder.glob("toy-table*"))
    return {"figure-1": figures, "3": tables}


def _paper(add: str) -> Paper:
    first, second = {"dataset": DEV, "measure": "RR@10"}, {"dataset": DEV, "measure": "R@1000"}
    columns = [
        first | {"id": "a", "head": ["Dev" + add, "MRR@10"], "note": "noted" + add},
        second | {"id": "b", "head": ["Dev" + add, "R@1k"]},
    ]
    own = {"id": "g.y", "group": "g", "label": "Y" + add, "role": "ours"}
    rows = [
        {"id": "g.x", "group": "g", "label": "X" + add, "role": "rerun", "cells": ["0.316", "0.941"]},
        own | {"cells": ["**0.342*†**", "0.959 (+1.8)"]},
        {"id": "h.x", "group": "h", "label": "X" + add, "cells": ["0.335", "0.957"]},
        {"id": "h.z", "group": "h", "label": "Z", "cells": ["-", "words" + add]},
    ]
    study = {
        "id": "2",
        "kind": "study",
        "about": "two rows" + add,
        "delta_from": "base",
        "columns": [{"id": "c", "head": ["Set", "MRR@10"]}],
        "rows": [{"id": "base", "label": "Base" + add}, {"id": "own", "label": "Own" + add}],
    }
    entries = [{"query": "who" + add, "shown": [{"system": "x", "rank": 1, "relevant": False}]}]
    manifest = Manifest.model_validate(
        {
            "paper": "toy",
            "title": "A toy" + add,
            "authors": ["One" + add],
            "venue": "Nowhere" + add,
            "doi": "10.1/x",
            "code": "javascript:alert(1)",
            "tables": [
                {
                    "id": "1",
                    "about": "two systems" + add,
                    "columns": columns,
                    "rows": rows,
                    "note": "a note" + add,
                    "groups": [{"id": "g", "label": "First" + add}, {"id": "h", "label": "Second"}],
                    "marks": {
                        "*": {"means": "significant", "over": ["x"]},
                        "†": {"means": "property", "property": "p" + add},
                    },
                    "test": {"kind": "t", "sides": 2, "level": 0.05},
                },
                study,
                {"id": "3", "kind": "examples", "about": "answers" + add, "entries": entries},
            ],
            "figures": [{"id": "1", "about": "a curve" + add, "x": "steps" + add}],
        }
    )
    texts = {"where": "§2" + add, "paper": "says nothing" + add, "evidence": "none" + add}
    reading = Reading(id="seed", kind="silence", **texts, choices={"one": 1, "two": 2}, default="one")
    source = Paper("toy", Path("toy"), "papers.toy")
    source.__dict__.update(manifest=manifest, readings={"seed": reading})  # cached properties
    return source


def _covered(cell, verdict: str) -> CoverageItem:
    """As the verdict has it: what is not run has a run of others, what is blocked has a report."""
    full = {"not run": ("full, imported",), "blocked": ()}.get(verdict, ("full",))
    stated = notes_on(cell, "0.1") if verdict == "blocked" else ()
    facts = (cell.id, cell.paper.name, "table 1", "recipe", (*full, "tiny"))
    return CoverageItem(*facts, equal=any(cell.equals(note.value) for note in stated), notes=stated)


def _compared(cell, name: str, scale: str, add: str) -> ComparedCell:
    measured = name not in ("not run", "blocked")
    hardware = {"gpu": ["GPU" + add], "cpu": "CPU" + add, "cores": 2}
    environment = {"commit": "c0ffee", "hardware": hardware, "software": {"torch": "2"}}
    records = [
        Record(
            *(cell.id, scale, float(cell.printed.value) + n / 100, n, f"f{n}", 150, 1),
            *(cell.column.measure, cell.unit),
            readings={"seed": "two"},
            substitutes={"data": "not here" + add},
            environment=environment,
            recorded=f"2026-01-0{n}T00:00:00+00:00",
            deviation=0.4,
            collections=("tiny/passage/dev",) if scale == "tiny" else (),
        )
        for n in (1, 2)
    ]
    obstacles = (Obstacle("no data" + add, "fetch it" + add),) if name == "blocked" else ()
    verdict = Verdict(name, "because" + add, difference=0.01, half_width=float(Decimal("0.02")))
    outdated = "the recipe has changed since this was measured" if name == "consistent" else ""
    imported, reported = (), ()
    if name == "blocked":
        paper = {"title": "A title" + add, "table": "2" + add, "arxiv": "2401.00001"}
        own = Source(who="authors", name="Its authors" + add, **paper)
        made = report_on(cell, "0.339", "trained", source=own, match="close", note="noted" + add)
        theirs = report_on(cell, "0.3352", source=FILE, at="line 3" + add)
        reported = (theirs.note, made.note)
    if name == "not run":
        origin = {"file": "run.trec" + add, "sha256": "5e", "toolkit": "A toolkit" + add}
        judged = Verdict("higher", "run by others, a file" + add, difference=0.01)
        imported = (ImportedRun(replace(records[0], origin=origin), judged),)
    facts = tuple(records) if measured else (), verdict, obstacles
    doubts = (Doubt("outdated", outdated),) if outdated else ()
    return ComparedCell(cell, scale, *facts, doubts, imported=imported, notes=reported)


def _tests() -> dict:
    pairs = [[None, 0.01], [0.01, None]]
    keys = ("difference", "effect_size", "p", "holm_student_p", "permutation_p", "holm_p")
    keys += ("wins", "ties", "losses")
    found = {"names": ["g.x", "g.y"], "means": [0.3, 0.4], "interval": pairs} | dict.fromkeys(keys, pairs)
    return {"max_p": 0.05, "measures": {"RR@10": found}}
