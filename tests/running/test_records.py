from dataclasses import replace
from types import SimpleNamespace

import pytest

from repro.running.records import Recurrence, distances, equal_in_words, known_records, recorded_before
from repro.store.results import Record, Results

EARLIER, LATER = "2026-01-01T00:00:00+00:00", "2026-02-01T00:00:00+00:00"


def record(paper, measured, recorded):
    """A record of one evaluation, which several papers print."""
    identity = {"fingerprint": "f" * 64, "measure": "RR@10", "unit": "fraction"}
    return Record(
        f"{paper}/1/bm25/dev", "tiny", measured, None, queries=9, missing=0, recorded=recorded, **identity
    )


@pytest.mark.parametrize("papers", [("one", "other"), ("other", "one")])
def test_of_two_papers_records_of_one_evaluation_the_newer_counts_for_both(papers):
    by_paper = {"one": [record("one", 0.3, EARLIER)], "other": [record("other", 0.4, LATER)]}
    measurements = [
        SimpleNamespace(
            identity=by_paper[name][0].identity,
            cell=SimpleNamespace(id=f"{name}/1/bm25/dev"),
            seed=None,
            departures={},
        )
        for name in papers
    ]
    plan = SimpleNamespace(measurements=measurements, cells=[])
    known = known_records(plan, [r for name in papers for r in by_paper[name]])
    assert {(r.cell, r.measured) for r in known} == {("one/1/bm25/dev", 0.4), ("other/1/bm25/dev", 0.4)}


HARDWARE = {"cpu": "AMD EPYC", "instructions": "AVX2", "gpu": None}
OTHER_CPU = {"cpu": "Xeon", "instructions": "AVX-512", "gpu": None}
PINS = {"MKL_CBWR": "COMPATIBLE"}
ENVIRONMENT = {
    "commit": "a" * 40,
    "software": {"torch": "2.13.0", "repro-bench": "0.2.0"},
    "hardware": HARDWARE,
    "kernels": {"cpu": "AMD EPYC", "pins": PINS},
}
ONE = Record(
    cell="toy/1/a/dev", scale="tiny", measured=0.5, seed=1, fingerprint="f" * 64, queries=10, missing=0,
    measure="RR@10", unit="fraction", environment=ENVIRONMENT, code="c0de",
)  # fmt: skip


def said(*others: Record) -> list[str]:
    made = [Recurrence(other, ONE) for other in others]
    return [*equal_in_words(made), *distances(made)]


def changed(**environment) -> Record:
    return replace(ONE, measured=0.51, environment=ENVIRONMENT | environment)


def test_nothing_is_said_of_what_is_on_no_record():
    assert said() == []


def test_all_that_came_back_are_counted():
    assert said(ONE, replace(ONE, environment={}, code="")) == ["2 of 2 equal the record."]


def test_those_that_did_not_are_named_with_how_far_the_farthest_first_and_a_cause_once():
    values = (0.5, 0.51, 0.49, 0.6, 0.4999999999)
    others = [replace(ONE, cell=f"toy/1/{v}/dev", measured=v, code="other") for v in values]
    count, names, cause = said(*others)
    assert count == "1 of 5 equal the record."
    assert names.startswith(
        "Differs from the record: toy/1/0.6/dev 0.6 (0.5 on record, +0.1), toy/1/0.51/dev 0.51 ("
    )
    assert names.endswith("-0.01) and 1 more.")
    assert cause == "Likely cause: other code, aaaaaaaaaa (aaaaaaaaaa on record)."


def test_as_many_queries_belong_to_a_number_that_came_back():
    assert said(replace(ONE, queries=9))[0] == "0 of 1 equal the record."


@pytest.mark.parametrize(
    ("other", "cause"),
    [
        (changed(), "none in the records"),
        (replace(changed(), code=""), "perhaps other code, aaaaaaaaaa (aaaaaaaaaa on record)"),
        (changed(software={"torch": "2.12.0", "repro-bench": "9"}), "torch 2.12.0 (2.13.0 on record)"),
        (changed(kernels={"pins": {}}), "kernels not pinned (pinned on record)"),
        (changed(kernels={}), "kernels not pinned (pinned on record)"),
        (changed(kernels={"pins": {"MKL_CBWR": "AVX2"}}), "MKL_CBWR AVX2 (COMPATIBLE on record)"),
        (changed(kernels={"pins": PINS | {"NPY_DISABLE_CPU_FEATURES": "X86_V4"}}), "none in the records"),
        (changed(kernels={"pins": [{}, PINS]}), "kernels of several kinds (not said on record), MKL_CBWR no"),
        (changed(hardware=OTHER_CPU), "none in the records"),  # whose kernels are pinned alike
        (
            changed(hardware=OTHER_CPU, kernels={}),
            "kernels not pinned (pinned on record), cpu Xeon (AMD EPYC on record)",
        ),
        (changed(hardware=HARDWARE | {"gpu": ["H100"]}), "gpu ['H100'] (not said on record)"),
    ],
)
def test_the_likely_cause_is_what_differs_between_the_circumstances_of_both(other, cause):
    assert said(other)[2].startswith(f"Likely cause: {cause}")


def test_of_records_with_one_key_the_newest_is_on_record_and_others_of_the_cell_are_not(tmp_path):
    results = Results(tmp_path)
    newer = replace(ONE, measured=0.6, recorded="2026-01-02")
    results.append([replace(ONE, recorded="2026-01-01"), newer, replace(ONE, seed=2)])
    assert recorded_before([ONE], results)[ONE.key] == newer
    assert replace(ONE, fingerprint="e" * 64).key not in recorded_before([ONE], results)
    assert recorded_before([ONE], None) == {}
