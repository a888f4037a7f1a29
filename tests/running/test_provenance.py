import platform

import pytest

from repro.errors import BlockedError, StoreError
from repro.graph import Node
from repro.locations import CHECKOUT
from repro.machine import versions
from repro.progress import Progress
from repro.retrieval.stages import qrels
from repro.running import provenance
from repro.running.engines import inline
from repro.running.engines.inline import run_node
from repro.running.plan import Plan
from repro.running.provenance import (
    Makers,
    Origins,
    damaged,
    differences,
    discard,
    join_codes,
    made_by,
    made_otherwise,
    origins,
    planned_code,
)
from repro.running.requirements import Machine, Obstacle
from repro.store import Store
from repro.store.underway import announce

OBJECTIVE = {"name": "mlm", "version": 1, "path": "papers.baselines.weak_decoder:WeakDecoder"}


def older(facts: dict, **modules: str) -> dict:
    """The facts of an artefact that an earlier version made, in which these modules had other contents."""
    return facts | {"code": "0" * 64, "modules": facts["modules"] | modules}


def test_an_artefact_says_which_code_and_libraries_made_it(tmp_path):
    store, node = Store(tmp_path), Machine().resolve(Node("qrels", {"dataset": "tiny/wiki/test"}))
    run_node(node, store, Progress())
    facts = store.record(node)["facts"]
    assert {"repro.retrieval.stages.qrels", "words.yaml"} <= facts["modules"].keys()
    assert len(facts["code"]) == 64
    assert facts.get("commit") == versions.commit(CHECKOUT)
    assert facts["libraries"] == {"python": platform.python_version()}  # a reader of data uses no other
    assert differences(facts) == []


def test_the_objective_is_part_of_what_made_a_model():
    made = made_by(Node("pretrain", {"objective": OBJECTIVE, "options": {}}))
    objective = "papers.baselines.weak_decoder"
    assert {objective, "repro.retrieval.training.loop"} <= made["modules"].keys()
    assert objective not in made_by(Node("pretrain", {"options": {}}))["modules"]
    assert {"torch", "transformers", "tokenizers"} <= made["libraries"].keys()


def test_the_objective_is_looked_up_where_the_plan_has_it_now():
    node = Node("pretrain", {"objective": OBJECTIVE, "options": {}})
    facts = made_by(node)
    moved = facts | {"entries": ["repro.retrieval.stages.pretrain", "papers.of_old.decoders:WeakDecoder"]}
    assert differences(moved, node) == []
    assert "papers.baselines.weak_decoder" in differences(moved)


def test_equal_code_differs_in_nothing_and_is_recorded_under_one_digest(monkeypatch):
    facts = made_by(Node("search", {"depth": 10}))
    before = older(facts, **{"repro.errors": "0" * 8})
    assert differences(before) == ["repro.errors"]
    planned = planned_code([Node("search", {"depth": 10})])
    equal = {"0" * 64: "f" * 64, facts["code"]: "f" * 64}
    monkeypatch.setattr(provenance, "_recorded_by_digest", lambda: equal)
    provenance._code_of_all.cache_clear()
    assert differences(before) == []
    assert planned_code([Node("search", {"depth": 10})]) == join_codes(["f" * 64]) != planned
    provenance._code_of_all.cache_clear()


def test_a_lucene_index_rests_on_java_and_pyserini():
    assert {"java", "pyserini"} <= made_by(Node("lucene_index"))["libraries"].keys()


def test_the_java_is_the_one_that_is_named_now(monkeypatch, tmp_path):
    facts = made_by(Node("lucene_index"))
    monkeypatch.setenv("REPRO_JAVA_HOME", str(tmp_path))
    assert differences(facts) == [] and "java" not in made_by(Node("lucene_index"))["libraries"]
    (tmp_path / "release").write_text('JAVA_VERSION="22.0.1"')
    monkeypatch.setenv("REPRO_JAVA_HOME", f"{tmp_path}/.")
    assert differences(facts) == ["java"]
    monkeypatch.delenv("REPRO_JAVA_HOME")
    assert differences(facts) == []


def test_what_differs_is_named_and_what_is_not_recorded_is_unknown():
    facts = made_by(Node("search", {"depth": 10}))
    before = older(facts, **{"repro.errors": "0" * 8, "gone": "1" * 8})
    newer = facts | {"libraries": {"numpy": "1.0", "pyarrow": "0"}}
    assert differences(before) == ["gone", "repro.errors"]
    without = {name: value for name, value in facts.items() if name != "modules"}
    assert differences(without | {"code": "0" * 64}) == ["all modules of an earlier version"]
    assert differences(newer) == ["numpy"]
    nothing, modules = (
        dict.fromkeys(facts),
        {"modules": {"repro.retrieval.stages.search": "0" * 16}, "libraries": {}},
    )
    for unknown in ({}, facts | {"modules": [1]}, facts | {"entries": 1}, nothing, modules):
        assert differences(unknown) is None
    made = Origins()
    for name, one in (("a", facts), ("b", before), ("c", {})):
        made.add(name, one, {})
    assert made.sentence == (
        "1 of 3 artefacts were made by other code or libraries, 1 by unknown code ("
        "`repro run --rebuild other-code` with a selection makes them again)"
    )


@pytest.fixture
def chain(tmp_path, monkeypatch):
    """A plan of corpus → index → run, and a run of somebody else, stored; the index is by other code."""
    corpus, queries = Node("corpus", {"dataset": "x"}), Node("queries", {"dataset": "x"})
    index = Node("lucene_index", {}, {"corpus": corpus})
    run = Node("bm25", {"depth": 10}, {"index": index, "queries": queries})
    theirs = Node("imported_run", {"sha256": "0"})
    store = Store(tmp_path)
    for node in (corpus, queries, index, run, theirs):
        facts = made_by(node)
        if node in (index, theirs):
            facts = older(facts, run="0" * 8)
        store.build(node, lambda out, facts=facts: facts)
    plan = Plan(None, [], [], Machine())
    monkeypatch.setattr(Plan, "ends", [run, theirs])
    plan.look(store)
    return plan, store, index, run


def test_what_was_made_from_an_artefact_of_other_code_goes_with_it_but_no_imported_run(chain):
    plan, store, index, run = chain
    assert made_otherwise(plan, store) == [index, run]


def test_what_was_made_from_an_artefact_of_other_code_is_counted_beside_it(chain, monkeypatch):
    plan, store, index, run = chain
    origin = origins(plan, store)
    assert origin.behind_other == {run.fingerprint} and index.fingerprint in origin.other
    assert (
        "2 of 5 artefacts were made by other code or libraries, 1 from those artefacts (" in origin.sentence
    )
    scores = Node("evaluate", {"measures": []}, {"run": run, "qrels": Node("qrels", {"dataset": "x"})})
    facts = made_by(scores)
    store.build(scores, lambda out: facts)
    store.discard(run)
    monkeypatch.setattr(Plan, "ends", [scores])
    plan = Plan(None, [], [], Machine())
    plan.look(store)
    assert origins(plan, store).behind_other == {scores.fingerprint}


def test_records_say_the_code_and_the_commits_of_all_that_is_behind_them(chain):
    _, store, index, run = chain
    assert Makers(store).behind([run])["code"] not in ("", planned_code([run]))
    for node in (index, run):
        store.discard(node)
        facts = made_by(node) | {"commit": {index: "a and b", run: "c-dirty"}[node]}
        store.build(node, lambda out, facts=facts: facts)
    behind = Makers(store).behind([run])
    assert behind["code"] == planned_code([run]) != planned_code([index])
    assert {"a", "b", "c-dirty"} <= set(behind["commits"])
    store.discard(index)
    assert Makers(store).behind([run])["code"] == ""
    store.build(index, lambda out: {"modules": {}})
    assert Makers(store).behind([run])["code"] == ""


def test_the_code_of_several_is_unknown_where_one_of_them_is():
    assert join_codes(["a", "b", "a"]) == join_codes(["b", "a"]) != join_codes(["a"])
    assert join_codes(["a", ""]) == ""


def test_what_was_made_from_an_input_that_came_out_otherwise_since_is_counted_and_goes(chain):
    plan, store, index, run = chain
    for node in (index, run):
        store.discard(node)
        facts = made_by(node) | {"inputs": store.contents(node.parents())}
        store.build(node, lambda out, facts=facts: facts)
    assert made_otherwise(plan, store) == [] and origins(plan, store).from_others == set()
    store.discard(index)
    store.build(index, lambda out: (out / "new").touch() or made_by(index))
    assert made_otherwise(plan, store) == [run]
    assert "1 from inputs that were rebuilt with other content (" in origins(plan, store).sentence


@pytest.mark.parametrize("file, content", [("a", "xx"), ("a", "y"), ("artefact.json", "{")])
def test_what_is_damaged_goes_with_all_that_was_made_from_it(tmp_path, monkeypatch, file, content):
    corpus = Node("corpus", {"dataset": "x"})
    index = Node("lucene_index", {}, {"corpus": corpus})
    other = Node("queries", {"dataset": "x"})
    store, plan = Store(tmp_path), Plan(None, [], [], Machine())
    monkeypatch.setattr(Plan, "ends", [index, other])
    for node in (corpus, index, other):
        store.build(node, lambda out: (out / "a").write_text("x") and None)
    plan.look(store)
    assert damaged(plan, store) == []
    (store.path(corpus) / file).write_text(content)
    plan.look(store)
    assert damaged(plan, store) == [corpus, index]


def test_nothing_goes_while_another_run_is_to_read_some_of_it(chain):
    _, store, index, run = chain
    reads = Node("bm25", {"depth": 5}, dict(run.inputs))
    with announce(store.root, [reads]):
        with pytest.raises(StoreError, match=f"another run needs {index}. Wait until"):
            discard([index, run], store)
        assert store.state(run) == "stored"
    discard([index, run], store)
    assert {store.state(n) for n in (index, run)} == {"missing"}


def test_nothing_goes_that_cannot_be_made_again_here(chain):
    plan, store, index, _ = chain
    plan.machine.obstacles[index.fingerprint] = Obstacle("there is no Java", "install one")
    with pytest.raises(
        BlockedError, match=r"lucene_index/.* cannot be made again here: there is no Java; install"
    ):
        made_otherwise(plan, store)


@pytest.mark.parametrize(
    ("left", "said", "other"),
    [(False, {}, False), (True, {}, True), (True, {"resumed_at": 1}, True), (True, {"resumed_at": 0}, False)],
)
def test_what_went_on_from_blocks_of_other_code_is_told_as_made_by_other_code(
    tmp_path, monkeypatch, left, said, other
):
    store, node = Store(tmp_path), Machine().resolve(Node("qrels", {"dataset": "tiny/wiki/test"}))
    whole = qrels.run

    def interrupted(params, inputs, out, progress):
        if left:
            (out / "blocks/0").write_text("half of it")
        raise KeyboardInterrupt

    def resumed(*given):
        return {**(whole(*given) or {}), **said}

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(qrels, "run", interrupted)
        patch.setattr(inline, "made_by", lambda node: older(made_by(node), run="0" * 8))
        run_node(node, store, Progress())
    monkeypatch.setattr(qrels, "run", resumed)
    run_node(node, store, Progress())
    facts = store.record(node)["facts"]
    assert differences(facts) == (["run"] if other else [])
    assert facts["code"].startswith(f"{'0' * 64} and ") is other
    assert not (store.path(node) / "blocks").exists()
