"""What papers say, in sentences and in the orders of tables, beside what a study measured."""

from types import SimpleNamespace

import pytest

from repro.evaluation.crossed import Estimate, Variances
from repro.judging.contrasts import Contrast
from repro.judging.studies import Study
from repro.judging.study_answers import pointers_of
from repro.manifest.analysis_schema import Analysis
from repro.manifest.cells import table_of
from repro.manifest.papers import paper, papers
from repro.report.article.answers import answers

SOURCE = paper("head_to_head")
BELOW, ABOVE = ("simlm", "cotmae_v2", "above"), ("costa.temperature-1", "costa.paper", "above")


def _results(*found, records=(), seeds=(1,)):
    """Results in which pairs of rows differ by five points, and nothing else is known."""
    estimate = Estimate(0.05, 0.01, 1e9, 400, 5, Variances(0.04, 0.0001, 0.01))
    contrasts = [Contrast("f", "dev.rr10", row, of, estimate, verdict=verdict) for row, of, verdict in found]

    def study(table):
        entries = {(row, "dev.rr10"): SimpleNamespace(seeds=dict.fromkeys(seeds)) for row, *_ in found}
        of_table = table_of(SOURCE, table), SOURCE.analysis.of(table_of(SOURCE, table))
        return Study(*of_table, entries, contrasts, plan=Analysis(seeds=(1, 2)))

    def cell(name):
        return SimpleNamespace(records=records)

    places = {"study": study, "table": lambda table: table_of(SOURCE, table), "cell": cell}
    return SimpleNamespace(source=SOURCE, scale="small-cpu", **places)


def _lines(results):
    return [line for line in answers(results)["answers"]().splitlines() if line.startswith("| ")][2:]


def test_every_pointer_of_a_paper_has_a_line_that_says_what_is_not_measured():
    lines = _lines(_results())
    assert len(lines) == sum(len(pointers_of(source)) for source in papers().values())
    assert all(line.endswith("| *not measured yet* |") for line in lines)


@pytest.mark.parametrize(
    ("seeds", "why"),
    [((1,), "1 seed: not tested"), ((1, 2), "2 seeds: not tested without the scores of queries")],
)
def test_means_of_records_stand_where_nothing_is_tested(seeds, why):
    records = [SimpleNamespace(seed=seed, measured=20.0) for seed in seeds]
    assert all(line.endswith(f"| +0.0, {why} |") for line in _lines(_results(records=records)))


def test_an_answer_has_its_interval_and_is_held_against_the_order_of_the_paper():
    [claim, reading] = [line for line in _lines(_results(ABOVE)) if "+5.0" in line]
    said = "+5.0 (+3.0 to +7.0): above"
    assert claim.endswith(f"COSTA, temperature 1 *below* COSTA | {said}, contrary to the paper |")
    assert reading.endswith(f"COSTA, temperature 1 *against* COSTA | {said} |")


@pytest.mark.parametrize(("seeds", "few"), [((1,), True), ((1, 2), False)])
def test_what_is_preliminary_is_said_above_the_lines(seeds, few):
    told = answers(_results(ABOVE, seeds=seeds))["answers"]().partition("\n")[0]
    assert ("Table 6 is preliminary: 1 of 2 planned seeds." in told) is few


def test_orders_of_tables_that_print_both_rows_stand_beside_what_was_measured():
    told = answers(_results(BELOW))["orders"]("1").splitlines()
    printed = "41.4 and 39.1 in Table 1 of cotmae_v2, 43.1 and 41.1 in Table 2 of cotmae_v2"
    measured = "-5.0 (-7.0 to -3.0): below, contrary to the paper"
    assert told[0] == f"* CoT-MAE v2 *above* SimLM: {printed}. Measured here, Table 1: {measured}."
    assert "COSTA and CPDAE" in told[-1] and "CoT-MAE v2 and SimLM" not in told[-1]
