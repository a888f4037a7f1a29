"""What records and store hold for a plan, to be printed; nothing is run."""

from __future__ import annotations

from dataclasses import replace

from repro.comparison import Comparison, compare, tests
from repro.plan import Plan
from repro.results import Results
from repro.store import Store, read_json


def judged_cells(plan: Plan, results: Results, store: Store) -> Comparison:
    """The cells beside print, with the tests between rows that are stored."""
    plan.look(store)
    comparison = compare(plan, results)
    for key, node in tests(plan, store).items():
        if store.state(node) == "stored":
            comparison.tests[key] = read_json(store.path(node) / "significance.json")
    return comparison


def only(plan: Plan, paper: str, table: str) -> Plan:
    """The plan of one table: a study compares what it measures itself."""
    own = [m for m in plan.measurements if (m.cell.paper.name, m.cell.table.id) == (paper, table)]
    return replace(plan, measurements=own)
