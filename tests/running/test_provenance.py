"""What made an artefact is recorded with it, and compared with the code and the libraries that are here."""

import pytest

from repro.errors import BlockedError, StoreError
from repro.graph import Node
from repro.machine import versions
from repro.progress import Progress
from repro.running import provenance
from repro.running.engines import inline
from repro.running.engines.inline import run_node
from repro.running.plan import Plan
from repro.running.provenance import Origins, differences, discard, made_by, made_otherwise, origins
from repro.running.requirements import Machine, Obstacle
from repro.stages import qrels
from repro.store import Store
from repro.store.underway import announce

OLDER = {"code": "0" * 64, "modules": {"repro.stages.qrels": "0" * 16}}


def test_an_artefact_says_which_code_and_libraries_made_it(tmp_path):
    store, node = Store(tmp_path), Machine().resolve(Node("qrels", {"dataset": "tiny/wiki/test"}))
    run_node(node, store, Progress())
    facts = store.record(node)["facts"]
    assert "repro.stages.qrels" in facts["modules"] and len(facts["code"]) == 64
    assert facts["libraries"]["datasets"] == versions.version("datasets")
    assert "torch" not in facts["libraries"]
    assert differences(facts) == []


def test_the_objectives_module_is_part_of_what_made_a_model():
    objective = {"name": "mlm", "version": 1, "path": "papers.baselines.weak_decoder:WeakDecoder"}
    made = made_by(Node("pretrain", {"objective": objective, "options": {}}))
    assert "papers.baselines.weak_decoder" in made["modules"]
    assert {"torch", "transformers", "tokenizers"} <= made["libraries"].keys()


def test_a_lucene_index_rests_on_java_and_pyserini():
    assert {"java", "pyserini"} <= made_by(Node("lucene_index"))["libraries"].keys()


def test_the_java_is_the_one_that_is_named_now(monkeypatch, tmp_path):
    facts = made_by(Node("lucene_index"))
    monkeypatch.setenv("REPRO_JAVA_HOME", str(tmp_path))  # there is none
    assert differences(facts) == ["java"]
    monkeypatch.delenv("REPRO_JAVA_HOME")
    assert differences(facts) == []


def test_what_differs_is_named_and_what_is_not_recorded_is_unknown():
    facts = made_by(Node("search", {"depth": 10}))
    older = facts | {"modules": facts["modules"] | {"repro.stages.search": "0" * 16, "repro.gone": "1" * 16}}
    newer = facts | {"libraries": facts["libraries"] | {"numpy": "1.0"}}
    assert differences(older) == ["repro.stages.search", "repro.gone"]
    assert differences(newer) == ["numpy"]
    for unknown in ({}, {"modules": [1], "libraries": {}}, {"modules": None, "libraries": None}):
        assert differences(unknown) is None
    made = Origins()
    for name, one in (("a", facts), ("b", older), ("c", {})):
        made.add(name, one, {})
    assert made.sentence == (
        "1 of 3 artefacts were made by other code or libraries, 1 by unknown code; "
        "`repro run --rebuild-other-code` with a selection makes them again"
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
            facts["modules"] |= {f"repro.stages.{node.stage}": "0" * 16}
        store.build(node, lambda out, facts=facts: facts, waiting=lambda: None)
    plan = Plan(None, [], [], Machine())
    monkeypatch.setattr(Plan, "ends", [run, theirs])
    plan.look(store)
    return plan, store, index, run


def test_what_was_made_from_an_artefact_of_other_code_goes_with_it_but_no_imported_run(chain):
    plan, store, index, run = chain
    assert made_otherwise(plan, store) == [index, run]


def test_what_was_made_from_an_input_that_came_out_otherwise_since_is_counted_and_goes(chain):
    plan, store, index, run = chain
    for node in (index, run):
        store.discard(node)
        facts = made_by(node) | {"inputs": store.contents(node.parents())}
        store.build(node, lambda out, facts=facts: facts, waiting=lambda: None)
    assert made_otherwise(plan, store) == [] and origins(plan, store).from_others == set()
    store.discard(index)
    store.build(index, lambda out: (out / "new").touch() or made_by(index), waiting=lambda: None)
    assert made_otherwise(plan, store) == [run]
    assert "1 from inputs that were made again and came out otherwise; " in origins(plan, store).sentence


@pytest.mark.parametrize("way", ["announced", "queued"])
def test_nothing_goes_while_another_run_is_to_read_some_of_it(chain, monkeypatch, way):
    _, store, index, run = chain
    reads, queue = Node("bm25", {"depth": 5}, dict(run.inputs)), set()
    monkeypatch.setattr("repro.running.engines.slurm_jobs.waiting_fingerprints", lambda store: set(queue))
    with announce(store.root, [reads] if way == "announced" else []):
        if way == "queued":
            store.remember([reads])
            queue.add(reads.fingerprint)
        with pytest.raises(StoreError, match=f"another run reads, or is to read, {index}; wait until"):
            discard([index, run], store)
        assert store.state(run) == "stored"
    queue.clear()
    discard([index, run], store)
    assert {store.state(node) for node in (index, run)} == {"missing"}


def test_nothing_goes_that_cannot_be_made_again_here(chain):
    plan, store, index, _ = chain
    plan.machine.obstacles[index.fingerprint] = Obstacle("there is no Java", "install one")
    with pytest.raises(
        BlockedError, match=r"lucene_index/.* cannot be made again here: there is no Java; install"
    ):
        made_otherwise(plan, store)


def test_versions_and_digests_are_looked_up_once(monkeypatch):
    provenance._version("numpy")
    monkeypatch.setattr(versions, "version", None)
    assert provenance._version("numpy")


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
        patch.setattr(inline, "made_by", lambda node: {**made_by(node), **OLDER})
        run_node(node, store, Progress())
    monkeypatch.setattr(qrels, "run", resumed)
    run_node(node, store, Progress())
    facts = store.record(node)["facts"]
    assert differences(facts) == (["repro.stages.qrels"] if other else [])
    assert (
        facts["code"].startswith(f"{OLDER['code']} and ") is other
        and not (store.path(node) / "blocks").exists()
    )
