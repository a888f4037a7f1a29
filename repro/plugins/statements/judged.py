"""Statements of papers, each judged by the paper's own numbers, by ours and by what others state."""

import re
from dataclasses import dataclass, field

from repro.manifest.cells import exhibits, select
from repro.manifest.papers import Paper, papers
from repro.plugins.statements.by_others import OthersJudgement, by_others
from repro.plugins.statements.claims_schema import claims_of
from repro.plugins.statements.measures import FAILS
from repro.plugins.statements.places import Places
from repro.plugins.statements.statements import Judgement, Statement, statements
from repro.plugins.statements.values import MeasuredValues, PublishedValues, Values, facts_of_exhibits
from repro.running.plan import plan
from repro.running.scale import Scale
from repro.running.workspace import Workspace
from repro.verdicts.comparison import judged_cells
from repro.verdicts.doubts import KINDS


@dataclass(frozen=True)
class JudgedStatement:
    """A statement judged by three sources of numbers.

    Attributes:
        published, ours: by the paper's own numbers, and by our measurements.
        scale: of our measurements.
        others: by what others state, which changes nothing of the other two.
        doubts: kinds of doubts about our numbers behind it.
    """

    statement: Statement
    published: Judgement
    ours: Judgement
    scale: str
    others: OthersJudgement = field(default_factory=OthersJudgement)
    doubts: tuple[str, ...] = ()

    @property
    def fails(self) -> bool:
        """Whether the paper's own numbers, our measurements or others' values contradict it."""
        return FAILS in (self.published.state, self.ours.state, self.others.state)

    def as_json(self) -> dict:
        """The object that ``repro audit claims --format json`` prints."""
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
            "published": {
                "state": self.published.state,
                "why": self.published.why,
                "measures": dict(self.published.measures),
            },
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
        }


@dataclass(frozen=True)
class PublishedJudgement:
    """A statement judged by what is printed and stated by others, which is the same whatever was measured."""

    statement: Statement
    places: Places
    published: Judgement
    others: OthersJudgement

    def judged(self, ours: Values, scale: str) -> JudgedStatement:
        """The statement judged by our numbers, too."""
        ours.doubted.clear()
        judgement = self.statement.judge(ours, self.places)
        doubts = tuple(kind for kind in KINDS if kind in ours.doubted)
        return JudgedStatement(self.statement, self.published, judgement, scale, self.others, doubts)


def published_judgements(source: Paper) -> list[PublishedJudgement]:
    """Every statement of a paper, judged by the paper's own numbers and by what others state."""
    places, judgements = Places(source), []
    for statement in statements(source):
        published = statement.judge(PublishedValues(), places)
        reported = by_others(statement, places, published=published)
        judgements.append(PublishedJudgement(statement, places, published, reported))
    return judgements


def judged(sources: list[Paper], ours: Values, *, scale: str) -> list[JudgedStatement]:
    """Every statement of the papers, judged by their own numbers, by ours and by what others state."""
    return [judgement.judged(ours, scale) for source in sources for judgement in published_judgements(source)]


def judged_at(sources: list[Paper], scale: Scale, workspace: Workspace) -> list[JudgedStatement]:
    """Every statement of the papers, judged in the paper and on what was measured at a scale.

    Nothing is run. Papers that a claim names beside its own are compared, too.
    """
    mentions = set().union(
        *(named_papers(c.expect) for source in sources for c in claims_of(source).values())
    )
    names = tuple(sorted({source.name for source in sources} | mentions))
    cells, drawings = select(names, tables=(), rows=(), cells=()), exhibits(names, ())
    joint_plan = plan(cells, scale=scale, machine=workspace.machine, exhibits=drawings)
    comparison = judged_cells(joint_plan, workspace.results, workspace.store)
    ours = MeasuredValues(comparison, facts_of_exhibits(joint_plan, workspace.store))
    return judged(sources, ours, scale=scale.name)


def named_papers(expect: str) -> set[str]:
    """The papers whose cells an expression names beside its own paper's."""
    return set(re.findall(r"[\"']([\w-]+):", expect)) & set(papers())
