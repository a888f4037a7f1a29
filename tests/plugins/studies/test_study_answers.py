import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest
import yaml

from repro.errors import ManifestError, UsageError
from repro.manifest import yaml_file
from repro.manifest.cells import cell, select, table_of
from repro.manifest.papers import paper, papers
from repro.manifest.reading_schema import StudyPointer, study_pointer
from repro.plugins.statements.claims import claims_of
from repro.plugins.studies.study_answers import (
    FILE,
    Answer,
    PublishedPair,
    answers,
    answers_by_pointer,
    check_pointer,
    published_effects,
)
from repro.running.plan import plan
from repro.running.records import record
from repro.running.requirements import Machine
from repro.running.scale import scale
from repro.store import Store, make_writable
from repro.store.results import Results
from tests.made_up_scores import build

AGAINST, BELOW = (f"head_to_head/6/costa.sums {word} costa.paper" for word in ("against", "below"))
UNMEASURED = "head_to_head/6/costa.temperature-1 below costa.paper"
SEEDS = {1: (0.50, 0.45), 2: (0.60, 0.53)}  # of costa.paper and costa.sums


def pointers(source):
    return [text for item in (*source.readings.values(), *claims_of(source).values()) for text in item.study]


@pytest.fixture
def measured(tmp_path):
    found = SimpleNamespace(
        results=Results(tmp_path / "results"), store=Store(tmp_path / "store"), machine=Machine()
    )
    make_writable(found.store.root)

    def at(name: str) -> SimpleNamespace:
        cells = select(("head_to_head",), tables=("6",), rows=("costa.paper", "costa.sums"), cells=())
        planned = plan(cells, scale=scale(name), machine=found.machine, seeds=tuple(SEEDS))
        for m in planned.measurements:
            build(m.parts[0], found.store, SEEDS[m.seed][m.cell.row.id == "costa.sums"])
        planned.look(found.store)
        record(planned, found.store, found.results)
        return found

    return at


def test_the_difference_is_the_mean_over_common_seeds_at_the_scale_of_the_records(measured):
    found = measured("small-cpu")
    made = answers([AGAINST, BELOW, UNMEASURED], found)
    told = answers_by_pointer([BELOW, UNMEASURED], found)
    assert made[UNMEASURED] == []
    assert told[UNMEASURED].words == "no current measurement"
    [answer] = made[BELOW]
    assert (answer.scale, answer.column, answer.seeds) == ("small-cpu", "MS MARCO MRR@10", 2)
    assert answer.difference == pytest.approx(100 * ((0.45 - 0.50) + (0.53 - 0.60)) / 2)
    assert answer.low < answer.difference < answer.high and answer.verdict == "inconclusive"
    assert answer.as_stated is None and told[BELOW].words.startswith("small-cpu: -6.00 (")
    [the_same] = made[AGAINST]
    assert the_same == answer
    [measured_difference] = told[BELOW].measured
    assert measured_difference["difference"] == answer.difference


def test_an_order_that_is_found_is_held_against_the_stated_one(monkeypatch, measured):
    monkeypatch.setitem(SEEDS, 2, (0.60, 0.5500001))  # seeds agree, so that five points are told apart
    above, found = BELOW.replace("below", "above"), measured("small-cpu")
    made = answers([AGAINST, BELOW, above], found)
    assert {a.verdict for told_of in made.values() for a in told_of} == {"below"}
    assert [made[text][0].as_stated for text in (AGAINST, BELOW, above)] == [None, True, False]
    words = "2 seeds: preliminary: 2 of 5 planned seeds: below, as in the text. In doubt: unknown code"
    told = answers_by_pointer([BELOW], found)[BELOW].words
    assert words in told  # scores that no stage made say nothing of code


def test_the_embedded_collection_answers_nothing(measured):
    assert answers([AGAINST], measured("tiny"))[AGAINST] == []


UNSEEN = " (this study detects 2.3 points with a power of 80 %)"


@pytest.mark.parametrize(
    ("verdict", "published", "said"),
    [
        ("within ±2 points", -0.6, f"{UNSEEN}, inside the interval with 0"),
        ("inconclusive", 2.2, f"{UNSEEN}, outside the interval"),
        ("inconclusive", -2.5, ", outside the interval"),
        ("below", 0.6, ", outside the interval"),
    ],
)
def test_a_published_effect_is_given_with_the_effect_that_has_a_power_of_80_percent(verdict, published, said):
    answer = Answer("s", "c", 5, -0.2, -1.0, 0.5, verdict, 2.3, published)
    assert answer.beside_published == f". The paper's difference: {published:+.1f}{said}"
    assert answer.beside_published in str(answer)
    assert (
        replace(answer, published=None).beside_published == replace(answer, low=None).beside_published == ""
    )


def test_every_published_pair_is_of_rows_that_a_study_compares_and_of_one_measure():
    source = paper("head_to_head")
    pairs = yaml_file.read(source.folder / FILE, tuple[PublishedPair, ...])
    for pair in pairs:
        check_pointer(StudyPointer("head_to_head", pair.table, pair.row, "against", pair.other))
        assert {cell(name).column.measure for name in pair.cells} == {"RR@10"}
    effects = published_effects(source)
    rows = "costa.temperature-1", "costa.paper"
    assert effects["6", *rows] == -0.6 == -effects["6", *rows[::-1]]
    assert len(effects) == 2 * len(pairs)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("table", "head_to_head has no table none"),
        ("row", "'none' is not a known row of head_to_head/6"),
        ("other", "'none' is not a known row of head_to_head/6"),
        ("cells", "costa/7 has no row tau-none"),
    ],
)
def test_a_published_pair_of_what_there_is_not_is_refused_with_its_line(broken, said, tmp_path):
    source, cells = paper("head_to_head"), ["costa/7/tau-1/dev.rr10", "costa/7/tau-0_1/dev.rr10"]
    pair = {"table": "6", "row": "costa.sums", "other": "costa.paper", "cells": cells}
    wrong = pair | {broken: ["costa/7/tau-none/dev.rr10", cells[1]] if broken == "cells" else "none"}
    shutil.copy(source.folder / "cells.yaml", tmp_path)
    (tmp_path / FILE).write_text(yaml.safe_dump([pair, wrong], default_flow_style=None))
    with pytest.raises(ManifestError, match=rf"{FILE}:\d+: 1: {said}"):
        published_effects(replace(source, folder=tmp_path))


@pytest.mark.parametrize("name", [name for name, source in papers().items() if pointers(source)])
def test_every_pointer_of_a_paper_is_at_two_rows_of_a_study(name):
    for text in pointers(paper(name)):
        check_pointer(study_pointer(text))


UNASKED = {
    "cotmae_v2.sparse",
    "simlm.masks",
}


def test_every_ablation_is_pointed_at_with_the_row_that_it_is_compared_with():
    table = table_of(paper("head_to_head"), "6")
    pointed = {study_pointer(text) for source in papers().values() for text in pointers(source)}
    pairs = {(p.row, p.other) for p in pointed if p.table == "6"}
    bases = {row.id: table.base_of(row) for row in table.rows if table.base_of(row)}
    assert pairs == {(row, base) for row, base in bases.items() if row not in UNASKED}


def test_readings_state_no_order_and_claims_do():
    for source in papers().values():
        assert all(study_pointer(t).stated == "against" for r in source.readings.values() for t in r.study)
        assert all(study_pointer(t).stated != "against" for c in claims_of(source).values() for t in c.study)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("head_to_head/6/costa.sum against costa.paper", "costa.sum"),
        ("head_to_head/6/costa.sums against nobody", "nobody"),
        ("costa/1/sparse.bm25 against sparse.deepct", "sparse.bm25"),
        ("head_to_tail/6/a against b", "head_to_tail"),
    ],
)
def test_a_pointer_at_what_there_is_not_is_refused_by_name(text, reason, tmp_path):
    with pytest.raises(UsageError, match=reason):
        answers([text], SimpleNamespace(results=Results(tmp_path)))
