"""A plan as a workflow of Argo, which schedules for Kubernetes: a task a node, each after its inputs' tasks.

Names of fields are those of the schema of ``argoproj.io/v1alpha1``.
"""

import re
from collections.abc import Sequence
from typing import Any

import yaml

from repro.errors import UsageError
from repro.graph import Node
from repro.running.engines import shards as of_blocks
from repro.running.engines.child import launcher
from repro.running.engines.site import Resources, Site
from repro.running.engines.torchrun import SHARED
from repro.running.plan import Plan

PLACE = "/work"  # where the volume is mounted; the image of this repository keeps everything there
PLACES = {"REPRO_STORE": f"{PLACE}/store", "REPRO_RESULTS": f"{PLACE}/results", "XDG_DATA_HOME": PLACE}
REMEMBER = "remember"
RETRIES = {"limit": "2", "retryPolicy": "OnError"}  # of what went with its machine; no stage that failed


class _Plain(yaml.SafeDumper):
    """Writes what is used twice twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def workflow(
    plan: Plan, selection: Sequence[str], *, image: str, volume: str, site: Site, shards: int = 1
) -> str:
    """The plan's missing nodes as YAML, without those that something stands in the way of.

    The first task notes the nodes in the store that all tasks share, from data and checkpoints that lie
    there; each other is ``repro stage`` of one node, or, of an encoding in shards, of one of them. The same
    workflow submitted again goes on: what is stored takes a moment.

    Args:
        plan: has looked at a store.
        selection: the words that select its cells on the command line.
        image: of all containers.
        volume: the name of a persistent volume claim.
        site: GPUs, cores and memory of stages; the rest of it is Slurm's.
    """
    nodes = [node for node in plan.needed() if not plan.obstacles(node)]
    stages = list(dict.fromkeys((node.stage, of_blocks.count_of(node, shards) > 1) for node in nodes))
    tasks = [_task(node, {n.fingerprint for n in nodes}, of_blocks.count_of(node, shards)) for node in nodes]
    settings = {"image": image, "env": [{"name": name, "value": value} for name, value in PLACES.items()]}
    settings["volumeMounts"] = [{"name": "work", "mountPath": PLACE}]
    note_container = {"command": ["repro", "plan", *selection, "--remember"], **settings}
    templates = [
        {"name": "plan", "dag": {"failFast": False, "tasks": [_remember_task(), *tasks]}},
        {"name": REMEMBER, "retryStrategy": RETRIES, "container": note_container},
        *(_template(stage, has_shards, site, settings) for stage, has_shards in stages),
    ]
    spec = {
        "entrypoint": "plan",
        "volumes": [{"name": "work", "persistentVolumeClaim": {"claimName": volume}}],
        "templates": templates,
    }
    kind = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"generateName": "repro-"}}
    return yaml.dump({**kind, "spec": spec}, Dumper=_Plain, sort_keys=False, width=110)


def _remember_task() -> dict[str, Any]:
    return {"name": REMEMBER, "template": REMEMBER}


def _name(node: Node) -> str:
    """A name that a pod may have: letters, digits and hyphens."""
    return f"{node.stage.replace('_', '-')}-{node.fingerprint[:12]}"


def _task(node: Node, planned_fingerprints: set[str], shards: int) -> dict[str, Any]:
    inputs = dict.fromkeys(
        _name(parent) for parent in node.parents() if parent.fingerprint in planned_fingerprints
    )
    values = {"fingerprint": node.fingerprint}
    if shards > 1:
        values["shard"] = f"{{{{item}}}}/{shards}"
    task = {
        "name": _name(node),
        "template": _template_name(node.stage, shards > 1),
        "depends": " && ".join(inputs or [REMEMBER]),
        "arguments": {"parameters": [{"name": name, "value": value} for name, value in values.items()]},
    }
    return task | ({"withSequence": {"start": "1", "end": str(shards)}} if shards > 1 else {})


def _template_name(stage: str, has_shards: bool) -> str:
    return f"{stage.replace('_', '-')}{'-shard' if has_shards else ''}"


def _template(stage: str, has_shards: bool, site: Site, settings: dict[str, Any]) -> dict[str, Any]:
    """The container of a stage, with what the site file says of it."""
    resources = site.of(stage)
    processes = (resources.gpus or 1) if stage in SHARED else 1
    torchrun = [site.python or "python", "-P", *launcher(processes), "-m"] if processes > 1 else []
    names = ["fingerprint", *(["shard"] if has_shards else [])]
    command = [*torchrun, "repro", "stage", "{{inputs.parameters.fingerprint}}"]
    command += ["--shard", "{{inputs.parameters.shard}}"] if has_shards else []
    container = {"command": command, **settings}
    if claims := _resources(resources):
        container["resources"] = claims
    return {
        "name": _template_name(stage, has_shards),
        "inputs": {"parameters": [{"name": name} for name in names]},
        "retryStrategy": RETRIES,
        "container": container,
    }


def _resources(resources: Resources) -> dict[str, dict[str, str]]:
    requests = {"cpu": str(resources.cpus)} if resources.cpus else {}
    if resources.memory:
        requests["memory"] = _quantity(resources.memory)
    limits = {"nvidia.com/gpu": str(resources.gpus)} if resources.gpus else {}
    return {name: values for name, values in (("requests", requests), ("limits", limits)) if values}


def _quantity(memory: str) -> str:
    """Slurm's ``16G`` as Kubernetes writes it, ``16Gi``; a number alone is MiB. UsageError for others."""
    size = re.fullmatch(r"(\d+)([KMGT]?)i?", memory)
    if size is None:
        raise UsageError(f"the site file says memory {memory!r}, which Kubernetes has not; write it like 16G")
    return f"{size[1]}{size[2] or 'M'}i"
