"""Cells with what was measured for them, and the tests between the rows of their tables."""

from collections import Counter
from dataclasses import dataclass, field

from repro.judging.verdict import Verdict
from repro.manifest.cells import Cell
from repro.manifest.schema import Reading
from repro.running.requirements import Obstacle
from repro.store.results import Record

# of significance.json, for a pair of rows
PAIRS = ("difference", "interval", "effect_size", "p", "holm_student_p", "permutation_p", "holm_p")
PAIRS += ("wins", "ties", "losses")


@dataclass(frozen=True)
class Compared:
    """One published cell with what was measured for it.

    Attributes:
        records: one per distinct measurement (seeds that change nothing count once).
        verdict: the name, and why.
        obstacles: what stands in the way, for a cell that is blocked.
        outdated: why the records are not of the graph and the manifest as they are now; empty where they are.
        contradicted: which record the stored scores, shown in its place, contradict; empty where none.
    """

    cell: Cell
    scale: str
    records: tuple[Record, ...]
    verdict: Verdict
    obstacles: tuple[Obstacle, ...] = ()
    outdated: str = ""
    contradicted: str = ""

    @property
    def current(self) -> bool:
        """Whether the records are of the graph and the manifest as they are; older ones stay, and say so."""
        return not self.outdated

    @property
    def measured(self) -> float | None:
        """The mean over seeds in the paper's unit; None when nothing was measured."""
        if not self.records:
            return None
        return sum(r.measured for r in self.records) / len(self.records)

    def as_json(self) -> dict:
        """The object that ``run``, ``compare`` and ``status`` print with ``--json``."""

        def of_first(name: str, otherwise: object = None) -> object:
            return getattr(self.records[0], name) if self.records else otherwise

        return {
            "id": self.cell.id,
            "printed": self.cell.text,
            "measured": self.measured,
            "verdict": self.verdict.name,
            "why": self.verdict.why,
            "scale": self.scale,
            "unit": self.cell.unit,
            "measure": of_first("measure"),
            "seeds": [r.seed for r in self.records],
            "fingerprint": of_first("fingerprint"),
            "fingerprints": [r.fingerprint for r in self.records],
            "current": self.current,
            "queries": of_first("queries"),
            "missing": of_first("missing"),
            "readings": of_first("readings", {}),
            "substitutes": of_first("substitutes", {}),
            "origin": of_first("origin", {}),
            "blocked": [{"cause": o.cause, "remedy": o.remedy} for o in self.obstacles],
        }


@dataclass
class Comparison:
    """The cells of a plan, compared, with the tests between their rows.

    Attributes:
        cells: in the order of the selection.
        tests: (paper, table, dataset) -> content of significance.json.
        untested: why tests that were due could not be computed.
        readings: cell -> the readings that its number rests on, by id; filled for a report.
    """

    cells: list[Compared]
    tests: dict[tuple[str, str, str], dict] = field(default_factory=dict)
    untested: list[str] = field(default_factory=list)
    readings: dict[str, dict[str, Reading]] = field(default_factory=dict)

    def counts(self) -> Counter:
        """How often each verdict was given."""
        return Counter(c.verdict.name for c in self.cells)

    def by_table(self) -> dict[tuple[str, str], list[Compared]]:
        """The cells of every table or figure, under the paper's name and its id."""
        tables: dict[tuple[str, str], list[Compared]] = {}
        for c in self.cells:
            tables.setdefault((c.cell.paper.name, c.cell.table.id), []).append(c)
        return tables

    def betters(self, compared: Compared) -> list[str]:
        """Ids of the rows that this cell's row beats significantly, by the test of its table."""
        test, max_p = self._test(compared)
        if not test:
            return []
        mine = test["names"].index(compared.cell.row.id)
        return [
            name
            for other, name in enumerate(test["names"])
            if other != mine
            and test["p"][mine][other] is not None
            and test["p"][mine][other] <= max_p
            and test["means"][mine] > test["means"][other]
        ]

    def pairs(self, compared: Compared) -> list[dict]:
        """The tests of this cell's row against every other row of its table with a stored run.

        Differences are fractions, this row's less the other's; Holm's family is the tests of this cell.
        """
        test, _ = self._test(compared)
        if not test:
            return []
        mine = test["names"].index(compared.cell.row.id)
        others = [other for other in range(len(test["names"])) if other != mine]
        return [{"over": test["names"][o]} | {key: test[key][mine][o] for key in PAIRS} for o in others]

    def _test(self, compared: Compared) -> tuple[dict, float]:
        """The test of a cell's column and its level; empty where the number shown has no part in one.

        Tests are by the measures, and of the runs, of the graph as it is now.
        """
        cell = compared.cell
        tests = self.tests.get((cell.paper.name, cell.table.id, cell.column.dataset or ""), {})
        measure = compared.records[0].measure if compared.records else cell.column.measure
        test = tests.get("measures", {}).get(measure, {})
        has_part = cell.row.id in test.get("names", ()) and not compared.outdated
        return (test, tests["max_p"]) if has_part else ({}, 0.0)
