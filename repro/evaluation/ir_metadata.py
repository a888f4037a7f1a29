"""ir_metadata 0.1: what is known of a run, in a file beside it or as a header inside it."""

from __future__ import annotations

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
    """What a file beside a run says; raises StoreError when it cannot be read."""
    import yaml

    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        reason = str(error).splitlines()[0]
        raise StoreError(f"{path}: damaged ({reason}); `repro verify` names what is") from None
    return found if isinstance(found, dict) else {}


def completed(
    metadata: Mapping[str, Any],
    *,
    collection: Mapping[str, str],
    measures: list[str],
    environment: Mapping[str, Any],
) -> dict[str, Any]:
    """The metadata with what the suite knows besides: topics, measures, and the machine that measured.

    Args:
        collection: what is known of the judged topics; empty when nothing is.
        measures: names as in ir_measures; none are left out.
        environment: of a record: commit, hardware, software.
    """
    found = dict(metadata)
    if collection:
        found["data"] = {**(found.get("data") or {}), "test collection": dict(collection)}
    if measures:
        found["research goal"] = {"evaluation": {"reported measures": measures}}
    if environment:
        found["platform"] = _platform(environment)
        if environment.get("commit"):
            found["implementation"] = {"source": {"lang": "python", "commit": environment["commit"]}}
    return found


def _platform(environment: Mapping[str, Any]) -> dict[str, Any]:
    machine, software = environment.get("hardware", {}), environment.get("software", {})
    cpu = {
        "model": machine.get("cpu"),
        "architecture": machine.get("architecture"),
        "number of cores": machine.get("cores"),
    }
    hardware: dict[str, Any] = {"cpu": {k: v for k, v in cpu.items() if v is not None}}
    if machine.get("gpu"):
        hardware["gpu"] = {"model": machine["gpu"]}
    if machine.get("memory_gib"):
        hardware["ram"] = f"{machine['memory_gib']} GiB"
    found: dict[str, Any] = {"hardware": hardware}
    if machine.get("system"):
        found["operating system"] = {"kernel": machine["system"]}
    if software:
        found["software"] = {"libraries": [f"{name} {version}" for name, version in software.items()]}
    return found


def _yaml(metadata: Mapping[str, Any]) -> str:
    import yaml

    content = {"schema-version": VERSION, **metadata}
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10_000)
