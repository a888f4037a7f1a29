"""Statements of papers, each judged by the paper's own numbers and by our measurements."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from repro.errors import UsageError
from repro.judging.claims.derived import bolds, mark_holds, marks
from repro.judging.claims.language import Language
from repro.judging.claims.places import Places
from repro.judging.claims.values import Measured, Published, Values
from repro.judging.comparison import judged_cells
from repro.manifest import yaml_file
from repro.manifest.cells import Cell, select
from repro.manifest.claim_expressions import Evaluation, NoNumber
from repro.manifest.claims_schema import Claim
from repro.manifest.papers import Paper, papers
from repro.running.plan import plan
from repro.running.scale import Scale
from repro.running.workspace import Workspace

HOLDS, FAILS, UNTESTED = "holds", "fails", "untested"


@dataclass(frozen=True)
class Judgement:
    """Whether the numbers bear a statement out, and why.

    Attributes:
        state: holds, fails or untested.
        why: the cells or numbers that decide it; empty where every comparison holds.
        test: which tests between rows there are behind it; empty for published numbers.
    """

    state: str
    why: str = ""
    test: str = ""


@dataclass(frozen=True)
class Statement:
    """A sentence of the text, a mark or a bold number, as something that cells can confirm.

    Attributes:
        id: ``paper/claim/id``, ``paper/table/mark/row/column/mark`` or ``paper/table/bold/row/column``.
        kind: claim, mark or bold.
        decide: asks the language; True where it holds, raises NoNumber.
        cells: the cells a mark or bold number is about, its own first; none for a sentence.
    """

    id: str
    paper: Paper
    kind: str
    where: str
    says: str
    decide: Callable[[Language], bool]
    expect: str = ""
    note: str = ""
    tables: tuple[str, ...] = ()
    cells: tuple[Cell, ...] = ()

    def judge(self, values: Values, places: Places | None = None) -> Judgement:
        """Judge it on these values. Raises ManifestError where an expression names what is not there."""
        language = Language(places or Places(self.paper), values)
        try:
            state = HOLDS if self.decide(language) else FAILS
            why = _why(language, state)
        except NoNumber as reason:
            state, why = UNTESTED, str(reason)
        return Judgement(state, why, "" if values.is_published else _test(language, values))


def _why(language: Language, state: str) -> str:
    """The cells that contradict a statement that fails, then the other numbers that it is about."""
    against = "; ".join(dict.fromkeys(language.against)) if state == FAILS else ""
    return "; ".join(dict.fromkeys(filter(None, [against, *(s for s in language.seen if s not in against)])))


def statements(source: Paper) -> list[Statement]:
    """The sentences of claims.yaml, then marks, then bold numbers, in printed order."""
    return [*_sentences(source), *_marks(source), *_bolds(source)]


def _sentences(source: Paper) -> Iterator[Statement]:
    for number, claim in enumerate(source.claims.values()):
        place, decide = f"{source.name}/claim/{claim.id}", _decider(source, number, claim)
        details = claim.expect, claim.note, claim.about
        yield Statement(place, source, "claim", claim.where, claim.says, decide, *details)


def _decider(source: Paper, number: int, claim: Claim) -> Callable[[Language], bool]:
    def decide(language: Language) -> bool:
        evaluation = Evaluation(language.functions(), language.number, language.against.append)
        try:
            value = evaluation.of(claim.expect)
            if not isinstance(value, bool):
                raise UsageError(f"{claim.expect!r} is {value!r}, which neither holds nor fails")
            return value
        except ArithmeticError as error:
            reason = f"cannot be computed ({type(error).__name__})"
        except (UsageError, TypeError, ValueError) as error:
            reason = str(error)
        raise yaml_file.fault_at(source.folder / "claims.yaml", ("claims", number, "expect"), reason)

    return decide


def _marks(source: Paper) -> Iterator[Statement]:
    for mark, cell, meaning, over in marks(source):
        decide = partial(mark_holds, cell=cell, over=over)
        yield _of_cell("mark", cell, over, meaning, decide, end=f"/{mark}")


def _bolds(source: Paper) -> Iterator[Statement]:
    for cell, others in bolds(source):
        pairs = [(cell, other) for other in others]
        decide = partial(Language.holds, pairs=pairs, relation="not_below")
        yield _of_cell("bold", cell, others, f"best of its {cell.table.bold}", decide)


def _of_cell(kind: str, cell: Cell, others: list[Cell], meaning: str, decide, end: str = "") -> Statement:
    """The statement that a cell's type makes without words, about the cell and others."""
    table, head = cell.table.id, " ".join(cell.column.head) or cell.column.id
    place = f"{cell.paper.name}/{table}/{kind}/{cell.row.id}/{cell.column.id}{end}"
    says, cells = f"{cell.row.label}, {head}: {meaning}", (cell, *others)
    return Statement(place, cell.paper, kind, f"Table {table}", says, decide, tables=(table,), cells=cells)


def _test(language: Language, values: Values) -> str:
    tested = [p for p in language.tests if p is not None]
    text = "means only"
    if tested:
        low, high = min(tested), max(tested)
        text = f"p {low:.3g}" if low == high else f"p {low:.3g} to {high:.3g}"
        if len(tested) < len(language.tests):
            text += f" ({len(tested)} of {len(language.tests)} pairs)"
    if isinstance(values, Measured) and any(values.is_modified(c) for c in language.used):
        text += "; with substituted data"
    return text


@dataclass(frozen=True)
class Judged:
    """A statement judged twice; ``scale`` is that of our measurements."""

    statement: Statement
    published: Judgement
    ours: Judgement
    scale: str

    @property
    def fails(self) -> bool:
        """Whether the paper's own numbers or our measurements contradict it."""
        return FAILS in (self.published.state, self.ours.state)

    def as_json(self) -> dict:
        """The object that ``repro claims --json`` prints."""
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
            "print": {"state": self.published.state, "why": self.published.why},
            "ours": {"state": self.ours.state, "why": self.ours.why, "test": self.ours.test},
            "scale": self.scale,
            "says_of_print": self.scale == "full",
        }


def judged(sources: list[Paper], ours: Values, *, scale: str) -> list[Judged]:
    """Every statement of the papers, judged by their own numbers and by ours."""
    return [
        Judged(statement, statement.judge(Published(), places), statement.judge(ours, places), scale)
        for places in map(Places, sources)
        for statement in statements(places.paper)
    ]


def judged_at(sources: list[Paper], scale: Scale, workspace: Workspace) -> list[Judged]:
    """Every statement of the papers, judged in the paper and on what was measured at a scale.

    Nothing is run. Papers that a claim names beside its own are compared, too.
    """
    text = " ".join(claim.expect for source in sources for claim in source.claims.values())
    named = set(re.findall(r"[\"']([\w-]+):", text)) & set(papers())
    wanted = tuple(sorted({source.name for source in sources} | named))
    planned = plan(select(wanted, tables=(), rows=(), cells=()), scale=scale, machine=workspace.machine)
    ours = Measured(judged_cells(planned, workspace.results, workspace.store))
    return judged(sources, ours, scale=scale.name)
