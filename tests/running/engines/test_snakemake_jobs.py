import pytest

from repro.graph import Node, walk
from repro.running.cost.estimate import Estimate, assumed_throughput
from repro.running.cost.work import work
from repro.running.engines.snakemake import BASE, GROUP, LEAST, MARGIN, UNKNOWN, arrange, inputs

MODEL, QRELS = Node("backbone", {"name": "m", "revision": "main"}), Node("qrels", {"dataset": "a"})
CORPUS = Node("corpus", {"dataset": "msmarco-passage"})
HOW = {"length": 8, "precision": "fp32"}
PASSAGES = Node("encode", HOW | {"kind": "passages"}, {"model": MODEL, "texts": CORPUS})
MEASURES = {"measures": ["RR@10"], "judgements": "qrels", "ignore_identical_ids": False}


def _search(topics: str) -> Node:
    texts = Node("queries", {"dataset": topics})
    queries = Node("encode", HOW | {"kind": "queries"}, {"model": MODEL, "texts": texts})
    return Node("search", {"depth": 5}, {"passages": PASSAGES, "queries": queries})


def _score(run: Node) -> Node:
    return Node("evaluate", MEASURES, {"run": run, "qrels": QRELS})


@pytest.fixture
def ends():
    """A search that is mined, and two that are only scored, one of them twice."""
    mined = Node("mine", {"per_query": 1}, {"run": _search("train"), "qrels": QRELS})
    return [
        mined,
        _score(_search("q1")),
        _score(_search("q2")),
        Node("index_size", {}, {"passages": PASSAGES}),
    ]


def _arranged(ends, *, gpu="h100", **options):
    nodes = walk(ends)
    rates = assumed_throughput(gpu) if gpu else None
    cost = Estimate(None, nodes, {n.fingerprint: work(n) for n in nodes}, rates)  # type: ignore[arg-type]
    return nodes, arrange(nodes, cost, **options)


def test_short_stages_on_the_vectors_of_a_model_are_one_job_and_what_is_read_on_is_none_of_them(ends):
    nodes, made = _arranged(ends)
    assert sorted(n.fingerprint for job in made for n in job.nodes) == sorted(n.fingerprint for n in nodes)
    [group] = [job for job in made if len(job.nodes) > 1]
    assert group.kind == GROUP
    stages = sorted(node.stage for node in group.nodes)
    assert stages == ["encode", "encode", "evaluate", "evaluate", "index_size", "search", "search"]
    alone = [job.kind for job in made if job is not group]
    assert alone.count("search") == 1 and alone.count("encode") == 2 and "mine" in alone


def test_a_job_waits_for_the_jobs_of_its_inputs_alone(ends):
    _, made = _arranged(ends)
    waits, seen = inputs(made), set[str]()
    for job in made:  # in the order in which they were arranged there is no circle
        parents = {p.fingerprint for node in job.nodes for p in node.parents()}
        assert {n.fingerprint for other in waits[job.name] for n in other.nodes} >= parents - {
            n.fingerprint for n in job.nodes
        }
        assert all(parents & {n.fingerprint for n in other.nodes} for other in waits[job.name])
    while len(seen) < len(made):
        ready = {j.name for j in made if j.name not in seen and {o.name for o in waits[j.name]} <= seen}
        assert ready, "jobs wait for one another"
        seen |= ready


def test_shards_are_jobs_and_readers_wait_for_all_of_them(ends):
    _, made = _arranged(ends, shards=3)
    waits = inputs(made)
    shards = [job for job in made if job.nodes == (PASSAGES,)]
    assert [job.name for job in shards] == [f"{PASSAGES.fingerprint}.{n}-of-3" for n in (1, 2, 3)]
    assert all(waits[job.name] == waits[shards[0].name] for job in shards)
    group = next(job for job in made if job.kind == GROUP)
    assert set(shards) <= set(waits[group.name])


def test_time_follows_from_the_estimate_and_is_an_hour_where_nothing_tells(ends):
    _, made = _arranged(ends)
    rates = assumed_throughput("h100")
    [whole] = [job for job in made if job.nodes == (PASSAGES,)]
    hours, cores = rates.hours(work(PASSAGES)), (work(PASSAGES).core_seconds or 0) / 3600
    assert LEAST < whole.minutes == pytest.approx(LEAST + MARGIN * 60 * (hours + cores), abs=1)
    assert whole.mem_mb >= BASE
    parts = [job for job in _arranged(ends, shards=3)[1] if job.nodes == (PASSAGES,)]
    assert [job.minutes for job in parts] == 3 * [pytest.approx(LEAST + (whole.minutes - LEAST) / 3, abs=1)]
    untold = [job for job in _arranged(ends, gpu=None)[1] if len(job.nodes) == 1]
    assert {job.minutes for job in untold} == {LEAST + UNKNOWN}
