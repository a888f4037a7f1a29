"""Reads and writes a run's ir_metadata 0.1, in a file beside it or as a header inside it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from repro.errors import StoreError

START, END = "# ir_metadata.start", "# ir_metadata.end"
VERSION = 0.1


def header(metadata: Mapping[str, Any]) -> str:
    """The metadata as comment lines between START and END, each ended."""
    body = "".join(f"# {line}\n" for line in _yaml(metadata).splitlines())
    return f"{START}\n{body}{END}\n"


def write_metadata(path: Path, metadata: Mapping[str, Any]) -> None:
    """Write the metadata as YAML, the schema's version first."""
    path.write_text(_yaml(metadata), encoding="utf-8")


def read_metadata(path: Path) -> dict[str, Any]:
    """Read a run's metadata from its YAML file. Raises StoreError when the file cannot be read."""
    import yaml

    try:
        metadata = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        reason = str(error).splitlines()[0]
        raise StoreError(f"{path}: damaged ({reason}); `repro verify` names what is") from None
    return metadata if isinstance(metadata, dict) else {}


def completed(
    metadata: Mapping[str, Any],
    *,
    collection: Mapping[str, str],
    measures: list[str],
    environment: Mapping[str, Any],
) -> dict[str, Any]:
    """Add the topics, the measures and the machine that measured to a run's metadata.

    Args:
        collection: what is known of the judged topics; empty when nothing is.
        measures: names as in ir_measures; none are left out.
        environment: a record's commit, hardware and software.
    """
    complete = dict(metadata)
    if collection:
        complete["data"] = {**(complete.get("data") or {}), "test collection": dict(collection)}
    if measures:
        complete["research goal"] = {"evaluation": {"reported measures": measures}}
    if environment:
        complete["platform"] = _platform(environment)
        if environment.get("commit"):
            complete["implementation"] = {"source": {"lang": "python", "commit": environment["commit"]}}
    return complete


def _platform(environment: Mapping[str, Any]) -> dict[str, Any]:
    machine, software = environment.get("hardware", {}), environment.get("software", {})
    facts = {"model": "cpu", "architecture": "architecture", "number of cores": "cores"}
    cpu = {name: machine[key] for name, key in facts.items() if machine.get(key) is not None}
    hardware: dict[str, Any] = {"cpu": cpu}
    if machine.get("gpu"):
        hardware["gpu"] = {"model": machine["gpu"]}
    if machine.get("memory_gib"):
        hardware["ram"] = f"{machine['memory_gib']} GiB"
    platform: dict[str, Any] = {"hardware": hardware}
    if machine.get("system"):
        platform["operating system"] = {"kernel": machine["system"]}
    if software:
        platform["software"] = {"libraries": [f"{name} {version}" for name, version in software.items()]}
    return platform


def _yaml(metadata: Mapping[str, Any]) -> str:
    import yaml

    content = {"schema-version": VERSION, **metadata}
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10_000)
