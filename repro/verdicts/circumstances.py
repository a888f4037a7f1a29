"""The libraries and kernels behind a number, named by its artefacts, or by its record if some are absent."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from repro.machine import kernels, libraries
from repro.store.results import Record
from repro.verdicts.evidence import Evidence


class Circumstances(NamedTuple):
    """The versions and kernels that one artefact or record names, and whether its sums depend on kernels."""

    software: Mapping[str, str]
    kernels: Mapping[str, Any]
    sums: bool


def circumstances(evidence: Evidence | None, records: Sequence[Record]) -> Iterator[Circumstances]:
    """Yield those of the stored artefacts behind a number, and of its records unless all artefacts are
    here."""
    nodes = evidence.nodes if evidence and evidence.current else {}
    stored = evidence.origins.environments if evidence and evidence.origins else {}
    for name in nodes.keys() & stored.keys():
        yield _of_environment(stored[name], libraries.LIBRARIES, {nodes[name].stage})
    if not nodes or not nodes.keys() <= stored.keys():
        stages = _stages(evidence)
        for record in records:
            yield _of_environment(record.environment, libraries.used_by(stages), stages)


def other_libraries(evidence: Evidence | None, records: Sequence[Record]) -> list[str]:
    """Return the libraries of other versions than here, e.g. ["torch 1.0.0 (here 2.13.0)"]."""
    named = (libraries.differing(one.software).values() for one in circumstances(evidence, records))
    return sorted({sentence for sentences in named for sentence in sentences})


def libraries_not_compared(evidence: Evidence, records: Sequence[Record]) -> tuple[str, ...]:
    """Return the libraries of a number's stages that are absent here or that nothing behind it names."""
    software = [one.software for one in circumstances(evidence, records)]
    compared = {name for one in software for name in libraries.comparable(one)}
    return tuple(
        name
        for name in libraries.used_by(_stages(evidence))
        if name not in compared and (libraries.installed(name) or any(name in one for one in software))
    )


def other_kernels(evidence: Evidence | None, records: Sequence[Record]) -> list[str]:
    """Return the kernels that differ from the pinned ones, e.g. ["MKL_CBWR AVX2 (pinned: COMPATIBLE)"]."""
    if evidence is None or not evidence.plan.scale.pins_kernels:
        return []
    made = circumstances(evidence, records)
    return sorted({s for one in made for s in kernels.unlike_pinned(one.kernels, needed=one.sums)})


def _stages(evidence: Evidence | None) -> set[str]:
    return {node.stage for node in evidence.nodes.values()} if evidence else {"evaluate"}


def _of_environment(environment: Mapping, names: Iterable[str], stages: set[str]) -> Circumstances:
    software = environment.get("software") or {}
    has_gpu = (environment.get("hardware") or {}).get("gpu")  # which has no kernels of the processor to pin
    return Circumstances(
        {name: software[name] for name in names if name in software},
        environment.get("kernels") or {},
        bool(stages & libraries.SUMMING) and not has_gpu,
    )
