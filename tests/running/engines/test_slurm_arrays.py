"""Siblings and shards as job arrays of `slurm`: how few submissions, and what each task waits for."""

from __future__ import annotations

import re

import pytest

from repro.graph import Node, walk
from repro.manifest.cells import select
from repro.running.engines.slurm import LONGEST, shard_array, siblings
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import scale

MODEL = Node("initialise", {"seed": 1})


def corpus(number: int) -> Node:
    return Node("corpus", {"dataset": f"c{number}"})


def encoding(number: int, **params) -> Node:
    return Node("encode", params, {"model": MODEL, "texts": corpus(number)})


def submitted(nodes: list[Node], stored: tuple[Node, ...] = ()) -> tuple[list, dict[str, tuple[str, ...]]]:
    """Batches of all nodes by jobs 1, 2, …, inputs first, as the engine submits them; and the ids."""
    ids: dict[str, tuple[str, ...]] = {}
    todo, batches = [node for node in nodes if node not in stored], []
    while todo:
        left = {node.fingerprint for node in todo}
        ready = [node for node in todo if not any(p.fingerprint in left for p in node.parents())]
        for batch in siblings(ready, ids):
            batches.append(batch)
            for number, node in batch.tasks.items():
                job = str(len(batches))
                ids[node.fingerprint] = (f"{job}_{number}" if batch.array else job,)
        todo = [node for node in todo if node.fingerprint not in ids]
    return batches, ids


def awaited(batch, number: int) -> set[str]:
    """The jobs and tasks that the task of a number starts after, by Slurm's rules."""
    [*words] = batch.dependency()
    if not words:
        return set()
    assert words[1] == "--kill-on-invalid-dep=yes"
    kinds = dict(part.split(":", 1) for part in words[0].removeprefix("--dependency=").split(","))
    same = {f"{id}_{number}" for id in kinds.get("aftercorr", "").split(":") if id}
    return same | {id for id in kinds.get("afterok", "").split(":") if id}


def check_dependencies(batches: list, ids: dict[str, tuple[str, ...]]) -> None:
    """Every task waits for exactly the jobs of its node's inputs."""
    for batch in batches:
        for number, node in batch.tasks.items():
            inputs = {id for parent in node.parents() for id in ids.get(parent.fingerprint, ())}
            assert awaited(batch, number) == inputs, node


def test_siblings_are_one_array_and_wait_for_the_task_of_their_own_number():
    encodings = [encoding(number) for number in range(5)]
    searches = [Node("search", {}, {"passages": one, "queries": one}) for one in encodings]
    batches, ids = submitted(walk(searches))
    assert [(batch.nodes[0].stage, len(batch.tasks)) for batch in batches] == [
        ("corpus", 5),
        ("initialise", 1),
        ("encode", 5),
        ("search", 5),
    ]
    assert batches[2].dependency()[0] == "--dependency=afterok:2,aftercorr:1"
    check_dependencies(batches, ids)


def test_two_children_of_one_task_are_in_two_arrays():
    encodings = [encoding(number, length=length) for number in range(3) for length in (32, 64)]
    batches, ids = submitted(walk(encodings))
    assert sorted(len(batch.tasks) for batch in batches if batch.nodes[0].stage == "encode") == [3, 3]
    check_dependencies(batches, ids)


def test_what_waits_for_tasks_of_several_numbers_names_them():
    pairs = [(encoding(number), encoding(number + 1)) for number in (0, 2)]
    searches = [Node("search", {}, {"passages": one, "queries": other}) for one, other in pairs]
    batches, ids = submitted(walk(searches))
    check_dependencies(batches, ids)
    assert all(not batch.array for batch in batches if batch.nodes[0].stage == "search")


def test_what_has_one_input_in_common_is_one_array():
    encodings = [encoding(number) for number in range(4)]
    searches = [Node("search", {}, {"passages": encodings[0], "queries": one}) for one in encodings[1:]]
    batches, ids = submitted(walk(searches))
    check_dependencies(batches, ids)
    assert [len(batch.tasks) for batch in batches if batch.nodes[0].stage == "search"] == [3]


def test_inputs_that_are_stored_are_not_waited_for():
    encodings = [encoding(number) for number in range(4)]
    nodes = walk(encodings)
    batches, ids = submitted(nodes, stored=tuple(node for node in nodes if node.stage == "corpus"))
    assert [len(batch.tasks) for batch in batches] == [1, 4]
    check_dependencies(batches, ids)


def test_no_number_is_greater_than_a_cluster_takes():
    batches, ids = submitted([corpus(number) for number in range(2 * LONGEST + 1)])
    assert [len(batch.tasks) for batch in batches] == [LONGEST, LONGEST, 1]
    assert max(max(batch.tasks) for batch in batches) == LONGEST
    assert len(ids) == 2 * LONGEST + 1


def test_shards_are_an_array_of_one_node_that_waits_for_its_inputs():
    node = encoding(0)
    batch = shard_array(node, {3, 1}, 4, {MODEL.fingerprint: ("7",), corpus(0).fingerprint: ("8_2",)})
    assert list(batch.tasks) == [1, 3] and batch.nodes == [node] and batch.array and batch.shards == 4
    assert batch.dependency()[0] == "--dependency=afterok:7:8_2"


@pytest.mark.parametrize("paper, table, at_most", [("costa", "1", 0.7), ("cotmae_v2", "3", 0.1)])
def test_a_table_takes_a_fraction_of_submissions_and_keeps_every_dependency(paper, table, at_most):
    cells = select((paper,), tables=(table,), rows=(), cells=())
    nodes = plan(cells, scale=scale("full"), machine=Machine()).nodes
    batches, ids = submitted(nodes)
    check_dependencies(batches, ids)
    assert len(ids) == len(nodes) and all(re.fullmatch(r"\d+(_\d+)?", id) for [id] in ids.values())
    assert len(batches) < at_most * len(nodes), (len(batches), len(nodes))
