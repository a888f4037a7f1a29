"""Reads and writes a run's ir_metadata, in a file beside it or as a header inside it.

Version 0.1 is that of ir-metadata.org. Version 0.2 is the one that the TIREx tracker proposes and writes: it
spells the version's key with a space, and adds ``resources``, what the run took to make.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from repro.errors import StoreError
from repro.machine.bounded_reading import whole_file

LARGEST = 2**20  # bytes of a run's metadata, which are some hundreds
START, END = "# ir_metadata.start", "# ir_metadata.end"
VERSIONS = {"0.1": "schema-version", "0.2": "schema version"}  # version -> the key that states it


def header(metadata: Mapping[str, Any], *, version: str = "0.1") -> str:
    """The metadata as comment lines between START and END, each ended."""
    body = "".join(f"# {line}\n" for line in _yaml(metadata, version).splitlines())
    return f"{START}\n{body}{END}\n"


def write_metadata(path: Path, metadata: Mapping[str, Any]) -> None:
    """Write the metadata as YAML of version 0.1, which stands first."""
    path.write_text(_yaml(metadata, "0.1"), encoding="utf-8")


def read_metadata(path: Path) -> dict[str, Any]:
    """Read a run's metadata of either version from its YAML file, with or without START and END.

    Raises:
        StoreError: the file cannot be read, or states another version.
    """
    import yaml

    marks = {mark.removeprefix(comment) for mark in (START, END) for comment in ("", "# ")}
    try:
        lines = whole_file(path, LARGEST).decode("utf-8").splitlines(keepends=True)
        metadata = yaml.safe_load("".join(line for line in lines if line.strip() not in marks))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        reason = str(error).splitlines()[0]
        raise StoreError(f"{path}: damaged ({reason}); `repro store verify` names what is") from None
    metadata = metadata if isinstance(metadata, dict) else {}
    stated_versions = {key: str(metadata[key]) for key in VERSIONS.values() if key in metadata}
    if not set(stated_versions.values()) <= set(VERSIONS):
        versions = " and ".join(VERSIONS)
        raise StoreError(
            f"{path}: ir_metadata {', '.join(stated_versions.values())} is not known here, {versions} are"
        )
    return metadata


def resources(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The "resources" of a run in version 0.2 of the format, from the facts of its artefact.

    The peak of memory (KiB) is that of the whole process, which may have made other artefacts before.
    """
    entries: dict[str, Any] = {}
    if "finished" in facts and "seconds" in facts:
        stop = datetime.fromisoformat(facts["finished"])
        start = stop - timedelta(seconds=facts["seconds"])
        times = {"start time": start.isoformat(timespec="milliseconds"), "stop time": stop.isoformat()}
        entries["runtime"] = times | {"wallclock": f"{round(1000 * facts['seconds'])} ms"}
    if "peak_memory_kib" in facts:
        entries["ram"] = {"used process": {"max": facts["peak_memory_kib"]}}
    return entries


def complete_metadata(
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
    full_metadata = dict(metadata)
    if collection:
        full_metadata["data"] = {**(full_metadata.get("data") or {}), "test collection": dict(collection)}
    if measures:
        full_metadata["research goal"] = {"evaluation": {"reported measures": measures}}
    if environment:
        full_metadata["platform"] = _platform(environment)
        if environment.get("commit"):
            full_metadata["implementation"] = {
                "source": {"lang": ["Python"], "commit": environment["commit"]}
            }
    return full_metadata


def _platform(environment: Mapping[str, Any]) -> dict[str, Any]:
    machine, software = environment.get("hardware", {}), environment.get("software", {})
    facts = {"model": "cpu", "architecture": "architecture", "number of cores": "cores"}
    cpu = {name: machine[key] for name, key in facts.items() if machine.get(key) is not None}
    hardware: dict[str, Any] = {"cpu": cpu}
    if machine.get("gpu"):
        hardware["gpu"] = {"model": "; ".join(machine["gpu"])}
    if machine.get("memory_gib"):
        hardware["ram"] = f"{machine['memory_gib']} GiB"
    platform: dict[str, Any] = {"hardware": hardware}
    if machine.get("system"):
        platform["operating system"] = {"kernel": machine["system"]}
    if software:
        platform["software"] = {"libraries": [f"{name}=={version}" for name, version in software.items()]}
    return platform


def _yaml(metadata: Mapping[str, Any], version: str) -> str:
    import yaml

    other_fields = {key: value for key, value in metadata.items() if key not in VERSIONS.values()}
    content = {VERSIONS[version]: float(version), **other_fields}
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10_000)
