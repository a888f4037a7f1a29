"""A plan as an Argo workflow: read back as YAML, and carried out in the order that its DAG demands."""

from __future__ import annotations

import re

import pytest
import yaml

from repro.errors import UsageError
from repro.running.engines.argo import _quantity, workflow
from repro.running.engines.shards import DIVISIBLE
from repro.running.engines.site import Resources, Site
from repro.running.engines.torchrun import SHARED
from repro.store import Store

# Of https://argo-workflows.readthedocs.io/en/latest/fields/: what a workflow written here may hold.
FIELDS = {
    "Workflow": {"apiVersion", "kind", "metadata", "spec"},
    "WorkflowSpec": {"entrypoint", "volumes", "templates"},
    "Template": {"name", "inputs", "dag", "container", "retryStrategy"},
    "DAGTemplate": {"failFast", "tasks"},
    "DAGTask": {"name", "template", "depends", "arguments", "withSequence"},
    "Container": {"image", "command", "env", "volumeMounts", "resources"},
}
NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
GPUS = {"pretrain": Resources(gpus=8), "search": Resources(gpus=1)}
SITE = Site(default=Resources(cpus=4, memory="16G"), stages=GPUS)


def written(plan, store, **options) -> dict:
    plan.look(store)
    stated = {"image": "registry/repro:1", "volume": "claim", "site": SITE, **options}
    return yaml.safe_load(workflow(plan, ["costa", "--table", "1"], **stated))


def carried_out(made: dict) -> list[list[str]]:
    """The commands of all tasks in an order that the DAG allows, as Argo fills them in."""
    templates = {template["name"]: template for template in made["spec"]["templates"]}
    left, done, commands = list(templates[made["spec"]["entrypoint"]]["dag"]["tasks"]), set(), []
    while left:
        ready = [task for task in left if set(filter(None, task.get("depends", "").split(" && "))) <= done]
        assert ready, "tasks wait for each other"
        for task in ready:
            commands += _commands(task, templates[task["template"]])
            left.remove(task)
        done |= {task["name"] for task in ready}
    return commands


def _commands(task: dict, template: dict) -> list[list[str]]:
    """The command of each pod of a task."""
    given = {p["name"]: p["value"] for p in task.get("arguments", {}).get("parameters", ())}
    assert set(given) == {p["name"] for p in template.get("inputs", {}).get("parameters", ())}
    numbers, commands = task.get("withSequence", {"start": "1", "end": "1"}), []
    for item in range(int(numbers["start"]), int(numbers["end"]) + 1):
        words = template["container"]["command"]
        for name, value in given.items():
            words = [word.replace(f"{{{{inputs.parameters.{name}}}}}", value) for word in words]
        commands.append([word.replace("{{item}}", str(item)) for word in words])
        assert not any("{{" in word for word in commands[-1])
    return commands


@pytest.mark.parametrize("shards", [1, 4])
def test_each_node_is_a_task_after_its_inputs(make, store, monkeypatch, shards):
    monkeypatch.setitem(DIVISIBLE, "encode", 10)
    plan = make(("hardneg.costa",))
    first, *commands = carried_out(written(plan, store, shards=shards))
    assert first == ["repro", "plan", "costa", "--table", "1", "--remember"]
    nodes, done = {node.fingerprint: node for node in plan.nodes}, []
    for command in commands:
        place = command.index("stage")
        node = nodes[command[place + 1]]
        assert {parent.fingerprint for parent in node.parents()} <= set(done)
        done.append(node.fingerprint)
    parted = [node for node in nodes.values() if done.count(node.fingerprint) > 1]
    assert set(done) == set(nodes)
    assert {node.stage for node in parted} == (set() if shards == 1 else {"encode"})
    for node in parted:
        said = [command[-2:] for command in commands if node.fingerprint in command]
        assert said == [["--shard", f"{number}/{shards}"] for number in range(1, shards + 1)]


def test_its_fields_are_those_of_the_schema_and_names_are_fit_for_pods(make, store):
    made = written(make(("hardneg.costa",)), store, shards=2)
    assert (made["apiVersion"], made["kind"]) == ("argoproj.io/v1alpha1", "Workflow")
    assert set(made) <= FIELDS["Workflow"] and set(made["spec"]) <= FIELDS["WorkflowSpec"]
    [volume] = made["spec"]["volumes"]
    names = [template["name"] for template in made["spec"]["templates"]]
    for template in made["spec"]["templates"]:
        assert set(template) <= FIELDS["Template"]
        if "dag" in template:
            assert set(template["dag"]) <= FIELDS["DAGTemplate"] and template["dag"]["failFast"] is False
            names += [task["name"] for task in template["dag"]["tasks"]]
            assert all(set(task) <= FIELDS["DAGTask"] for task in template["dag"]["tasks"])
            assert all(
                len(task.get("withSequence", {"": 1, " ": 2})) == 2 for task in template["dag"]["tasks"]
            )
        else:
            assert set(template["container"]) <= FIELDS["Container"]
            assert template["container"]["volumeMounts"] == [{"name": volume["name"], "mountPath": "/work"}]
            assert {"name": "REPRO_STORE", "value": "/work/store"} in template["container"]["env"]
            assert template["container"]["image"] == "registry/repro:1"
    assert volume["persistentVolumeClaim"] == {"claimName": "claim"}
    assert all(NAME.fullmatch(name) for name in names)


def test_a_container_asks_for_what_the_site_file_says_and_several_gpus_are_torchrun(make, store):
    templates = {t["name"]: t for t in written(make(("hardneg.costa",)), store)["spec"]["templates"]}
    training = templates["pretrain"]["container"]
    assert training["resources"] == {
        "requests": {"cpu": "4", "memory": "16Gi"},
        "limits": {"nvidia.com/gpu": "8"},
    }
    launched = ["python", "-P", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=8", "-m"]
    assert training["command"] == [*launched, "repro", "stage", "{{inputs.parameters.fingerprint}}"]
    assert "search" not in SHARED and templates["search"]["container"]["command"][:2] == ["repro", "stage"]
    assert templates["corpus"]["container"]["resources"] == {"requests": {"cpu": "4", "memory": "16Gi"}}


def test_what_is_stored_or_blocked_has_no_task(make, store):
    from repro.running.requirements import Obstacle

    plan = make(("bm25",))
    nodes = {node.stage: node for node in plan.nodes}
    store.build(nodes["corpus"], lambda folder: None, waiting=lambda: None)
    plan.machine.obstacles[nodes["queries"].fingerprint] = Obstacle("no data", "get it")
    commands = carried_out(written(plan, store))
    built = {command[2] for command in commands if command[1] == "stage"}
    assert built == {nodes["qrels"].fingerprint, nodes["lucene_index"].fingerprint}


def test_the_verb_writes_it_and_its_first_task_notes_the_nodes_in_the_store(store, monkeypatch, capsys):
    import sys

    from repro.cli import main

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["repro", *words])
        with pytest.raises(SystemExit) as left:
            main()
        return left.value.code, capsys.readouterr()

    line = ["--cell", "costa/1/sparse.bm25/dev.rr10", "--scale", "tiny"]
    place = ["--store", str(store.root)]
    status, said = call("plan", *line, "--to", "argo", *place)
    assert status == 2 and "--to argo needs the containers' --image and the --volume" in said.err
    status, said = call("plan", *line, "--to", "argo", "--image", "i", "--volume", "v", *place)
    assert not status, said.err
    first, *stages = carried_out(yaml.safe_load(said.out))
    assert first == ["repro", "plan", *line, "--remember"] and not store.root.exists()
    status, _ = call(*first[1:], *place)
    assert not status
    opened = Store(store.root)
    assert {opened.remembered(command[2]).stage for command in stages} >= {"corpus", "bm25", "evaluate"}


def test_memory_is_written_as_kubernetes_has_it_or_refused():
    assert [_quantity(stated) for stated in ("16G", "512", "16Gi")] == ["16Gi", "512Mi", "16Gi"]
    with pytest.raises(UsageError, match=r"the site file says memory '32GB'.*write it like 16G"):
        _quantity("32GB")
