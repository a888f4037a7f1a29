"""Tests between rows, and between our runs and those of others, that are computed now and then stored."""

import time

from repro.errors import ReproError
from repro.graph import Node
from repro.progress import Progress, span
from repro.running.engines.inline import ensure
from repro.running.plan import Plan
from repro.running.run_progress import collections
from repro.store import Store, read_json
from repro.verdicts.compared import Comparison
from repro.verdicts.row_tests import corrected_tests, is_stored, pairs_with_others, tests


def add_tests(comparison: Comparison, plan: Plan, store: Store, progress: Progress | None = None) -> None:
    """Add every test to ``comparison``, computing those not stored yet; without progress nothing is said."""
    for compute in (run_tests, run_paired_tests):
        compute(comparison, plan, store, progress or Progress())


def run_tests(comparison: Comparison, plan: Plan, store: Store, progress: Progress) -> None:
    """Add the tests between rows to ``comparison``, computing those not stored yet; what fails is noted."""
    for key, node in tests(plan, store).items():
        try:
            comparison.tests[key] = compute_test(node, plan, store, progress, about=_test_in_words(node, key))
        except ReproError as error:
            comparison.untested.append(str(error))


def compute_test(node: Node, plan: Plan, store: Store, progress: Progress, *, about: str) -> dict:
    """The content of a test, which is made (and told in words) where it is not stored or of older scores."""
    if not is_stored(node, store):
        if store.state(node) == "stored":
            store.discard(node)
        start = time.monotonic()
        with progress.showing():
            progress.begins(about)
            outcome = ensure([node], store, progress, machine=plan.machine, quiet=True)
            progress.ends(about, span(time.monotonic() - start) if outcome.run else "failed")
        outcome.raise_first()
    return read_json(store.path(node) / "significance.json")


def _test_in_words(node: Node, key: tuple[str, str, str]) -> str:
    """A test in words, with the data that its rows are judged on, a stand-in by its own name."""
    data = ", ".join(collections(node))
    return f"{key[0]}/{key[1]}: comparing {len(node.params['names'])} rows on {data}"


def run_paired_tests(comparison: Comparison, plan: Plan, store: Store, progress: Progress) -> None:
    """Add the tests to ``comparison``, computing those not stored yet; what fails is noted."""
    contents = []
    for c, run, node in pairs_with_others(comparison, plan, store):
        try:
            about = f"{c.cell.id}: comparing our run with {run.file}"
            contents.append((c, run, compute_test(node, plan, store, progress, about=about)))
        except ReproError as error:
            comparison.untested.append(str(error))
    comparison.paired.update(corrected_tests(contents))
