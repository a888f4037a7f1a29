import json
import shutil
from dataclasses import replace

import pytest

from repro.errors import BlockedError, StageError, StoreError, UsageError
from repro.graph import Node
from repro.manifest.cells import select
from repro.progress import Progress
from repro.running.engines.inline import ensure
from repro.running.plan import plan
from repro.running.records import measured_record, record
from repro.running.requirements import PIECES, Machine, Obstacle
from repro.running.scale import scale
from repro.store import Store
from repro.store.results import Results
from repro.verdicts.comparison import compare
from repro.verdicts.plain_values import cell_as_json

SCORES = {"queries": ["1", "2"], "missing": ["2"]}


@pytest.fixture
def make(tmp_path):
    def build(names=("costa",), rows=("bm25", "bert"), **options):
        cells = select(names, tables=("1",), rows=rows, cells=())
        return plan(cells, scale=scale("tiny"), machine=Machine(), **options)

    return build, Store(tmp_path / "store"), Results(tmp_path / "results")


def execute(plan, store, run, progress, **options):
    return ensure(plan.ends, store, progress, machine=plan.machine, run=run, **options)


def _engine(value=0.5, *, fail=(), block=()):
    ran = []

    def engine(node, store, progress):
        if node.stage in fail:
            raise StageError(f"{node.stage} failed on purpose")
        if node.stage in block:
            raise BlockedError("nothing here", "get it")

        def work(directory):
            if node.stage in PIECES:
                return {"rows": f"{node.stage} of {node.params['dataset']}"}
            if node.stage == "evaluate":
                measures = {m: [value, value] for m in node.params["measures"]}
                (directory / "scores.json").write_text(json.dumps({**SCORES, "measures": measures}))

        ran.append(node)
        return store.build(node, work)

    return engine, ran


def test_inputs_run_first_everything_once_and_what_is_stored_needs_none_of_its_inputs(make):
    build, store, _ = make
    (engine, ran), whole, seen = _engine(), build(), set()
    execute(whole, store, engine, Progress())
    for node in ran:
        assert {p.fingerprint for p in node.parents()} <= seen
        assert node.fingerprint not in seen
        seen.add(node.fingerprint)
    assert whole.asked > len(whole.nodes) == len(seen), "rows share work"
    shutil.rmtree(store.root / "corpus")
    engine, ran = _engine()
    assert execute(whole, store, engine, Progress()).run == ran == []


def test_a_failure_holds_back_only_what_is_below_it(make):
    build, store, results = make
    whole = build()
    outcome = execute(whole, store, _engine(fail=("finetune",))[0], Progress())
    record(whole, store, results)
    verdicts = {c.cell.row.system: c.verdict for c in compare(whole, results, outcome=outcome).cells}
    assert verdicts["bm25"].name == "scaled"
    assert verdicts["bert"].name == "failed"
    assert "failed on purpose" in verdicts["bert"].why


def test_an_obstacle_holds_back_only_what_is_below_it_and_says_what_to_do(make):
    build, store, results = make
    whole = build()
    for node in whole.nodes:
        if node.stage == "vocabulary":
            whole.machine.obstacles[node.fingerprint] = Obstacle("no words", "find some")
    outcome = execute(whole, store, _engine()[0], Progress())
    record(whole, store, results)
    cells = {c.cell.row.system: c for c in compare(whole, results, outcome=outcome).cells}
    assert cells["bm25"].measured == 0.5
    assert cells["bert"].verdict.name == "blocked"
    assert cell_as_json(cells["bert"])["blocked"] == [{"cause": "no words", "remedy": "find some"}]


def test_what_a_stage_finds_missing_while_it_runs_blocks_too(make):
    build, store, _ = make
    outcome = execute(build(), store, _engine(block=("bm25",))[0], Progress())
    assert not outcome.failed
    assert any(o.remedy == "get it" for found in outcome.blocked.values() for o in found)


def test_a_damaged_artefact_is_named_with_what_builds_it_again(make):
    build, store, _ = make
    execute(build(rows=("bm25",)), store, _engine()[0], Progress())
    victim = next((store.root / "evaluate").iterdir()) / "scores.json"
    victim.write_text(victim.read_text()[:20])
    with pytest.raises(StoreError, match=r"evaluate/.* is damaged: scores\.json has 20 bytes.*--rebuild"):
        execute(build(rows=("bm25",)), store, _engine()[0], Progress())


@pytest.mark.parametrize(("paper", "measured"), [("costa", 0.25), ("cotmae_v2", 25.0)])
def test_a_measured_cell_is_the_mean_over_queries_in_prints_unit(make, paper, measured):
    build, store, results = make
    whole = build((paper,), rows=("bm25",))
    execute(whole, store, _engine(0.25)[0], Progress())
    record(whole, store, results)
    found = results.read("tiny", paper)
    assert {(r.measured, r.queries, r.missing) for r in found} == {(measured, 2, 1)}


@pytest.mark.parametrize("complete", [True, False])
def test_an_average_is_recorded_only_when_all_its_parts_are(make, complete):
    _, store, results = make
    cells = select(("cotmae_v2",), tables=("3",), rows=("bm25",), cells=())
    whole = plan(cells, scale=scale("tiny"), machine=Machine())
    if not complete:
        forum = next(n for n in whole.nodes if n.params.get("dataset") == "tiny/cqadupstack/travel")
        whole.machine.obstacles[forum.fingerprint] = Obstacle("no forum", "find one")
    execute(whole, store, _engine(0.5)[0], Progress())
    record(whole, store, results)
    found = {r.cell: r.measured for r in results.read("tiny", "cotmae_v2")}
    assert found["cotmae_v2/3/bm25/scifact"] == 50.0
    assert found.get("cotmae_v2/3/bm25/average") == (50.0 if complete else None)


def test_another_choice_of_a_reading_changes_the_fingerprints_and_is_labelled(make):
    build, store, results = make
    default, other = (
        build(rows=("bm25",)),
        build(rows=("bm25",), overrides={"bm25-parameters": "anserini-default"}),
    )
    ours = {m.fingerprint for m in default.measurements}
    assert not ours & {m.fingerprint for m in other.measurements}
    for whole in (default, other):
        execute(whole, store, _engine()[0], Progress())
        record(whole, store, results)
    assert all(len(c.records) == 1 for c in compare(other, results).cells)
    assert compare(other, results).cells[0].records[0].readings == {"bm25-parameters": "anserini-default"}
    assert compare(default, results).cells[0].records[0].readings == {}


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"span-resampling": "every-epoch"}, "changes nothing"),
        (
            {"bm25-parameter": "x"},
            "'bm25-parameter' is not a known reading of the selected papers. Did you mean bm25",
        ),
        ({"bm25-parameters": "x"}, "anserini-default"),
    ],
)
def test_readings_without_effect_and_unknown_ones_and_choices_are_refused(make, overrides, words):
    with pytest.raises(UsageError, match=words):
        make[0](rows=("bm25",), overrides=overrides)


@pytest.mark.parametrize(("row", "seeds"), [("bert", [1, 2]), ("bm25", [2])])
def test_seeds_of_the_user_make_measurements_of_their_own_where_they_change_something(make, row, seeds):
    build, store, results = make
    whole = build(rows=(row,), seeds=(1, 2))
    execute(whole, store, _engine()[0], Progress())
    record(whole, store, results)
    assert [r.seed for r in compare(whole, results).cells[0].records] == seeds


def test_a_cell_of_several_runs_is_the_largest_mean_of_a_group(make):
    """Two groups of two runs: 0.1 and 0.3, 0.5 and 0.1; the cell is 0.3."""
    build, store, _ = make
    whole = build(rows=("bm25",))
    first = whole.measurements[0]
    evaluation = first.parts[0]
    values = (0.1, 0.3, 0.5, 0.1)
    parts = [Node("evaluate", {**evaluation.params, "try": n}, evaluation.inputs) for n in range(4)]
    for value, part in zip(values, parts, strict=True):
        _engine(value)[0](part, store, Progress())
    several = replace(first, groups=(tuple(parts[:2]), tuple(parts[2:])))
    found = measured_record(several, "tiny", store)
    assert found.measured == pytest.approx(0.3)
    assert found.queries == 2  # of one set of queries, however many runs answer it
    assert found.fingerprint not in {part.fingerprint for part in parts}


def test_copies_of_one_run_are_that_run_to_the_last_bit(make):
    """As samples and settings are at small scales; 18 times 0.1, added up and divided, is another number."""
    build, store, _ = make
    first = build(rows=("bm25",)).measurements[0]
    _engine(0.1)[0](first.parts[0], store, Progress())
    several = replace(first, groups=(first.parts * 18,))
    assert measured_record(several, "tiny", store).measured == measured_record(first, "tiny", store).measured


def test_a_reading_may_say_what_a_column_is_measured_by(make):
    build, _, _ = make
    usual = {m.cell.id: m for m in build(rows=("bert",)).measurements}
    other = {m.cell.id: m for m in build(rows=("bert",), overrides={"dev-recall": "success"}).measurements}
    cell = "costa/1/hardneg.bert/dev.r1000"
    assert (usual[cell].measure, other[cell].measure) == ("R@1000", "Success@1000")
    assert other[cell].departures["dev-recall"] == "success"


def test_a_record_names_the_rows_of_every_piece_behind_it(make):
    build, store, _ = make
    made = build(rows=("bm25",))
    execute(made, store, _engine()[0], Progress())
    m = made.measurements[0]
    rows = {
        "tiny/passage documents": "corpus of tiny/passage",
        "tiny/passage/dev queries": "queries of tiny/passage/dev",
        "tiny/passage/dev qrels": "qrels of tiny/passage/dev",
    }
    bare = measured_record(m, "tiny", store)
    assert bare.rows == rows
    [corpus] = [n for n in made.nodes if n.stage == "corpus"]
    store.discard(corpus)
    less = measured_record(m, "tiny", store)
    assert less.rows == rows | {"tiny/passage documents": ""}
    assert bare.is_better_documented_than(less) and not less.is_better_documented_than(bare)
