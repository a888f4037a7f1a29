"""Fingerprints that a manifest, a record or a test between rows still needs: what `repro store gc` keeps."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from repro.errors import UsageError
from repro.graph import Node, canonical
from repro.manifest.cells import exhibits, numeric_cells, select
from repro.manifest.papers import Paper
from repro.progress import Progress
from repro.running.discarding import DISCARDABLE
from repro.running.plan import Plan, plan
from repro.running.scale import Scale
from repro.running.workspace import Workspace
from repro.stage_table import STAGES
from repro.store import Store, notes
from repro.store.notes import Lineage
from repro.store.results import Record


@dataclass(frozen=True)
class KeptArtefacts:
    """The artefacts that papers need at some scales.

    Attributes:
        fingerprints: to be kept.
        notices: sentences about what could not be told.
        plans: of all cells and exhibits, and of what lies behind records otherwise.
    """

    fingerprints: set[str]
    notices: list[str]
    plans: list[Plan]


def kept_artefacts(
    papers: list[Paper],
    scales: list[Scale],
    workspace: Workspace,
    progress: Progress,
    *,
    undescribed: Iterable[str] = (),
) -> KeptArtefacts:
    """Return the fingerprints to keep for these papers at these scales.

    Kept are the nodes of every cell and exhibit with the readings' defaults and the data at hand; what
    lies behind a record, with its own seed and readings; what was made from data or checkpoints that a
    manifest names and that are not at hand now, since their fingerprints cannot be computed without
    them; and the significance tests between any of those. Of scales that are ``undescribed``, users' whose
    files are not at hand, it is what lies behind their records alone.
    """
    plans: list[Plan] = []
    recorded_ids, notices = _recorded_fingerprints(papers, undescribed, workspace)
    with progress.task("what the papers need", total=len(papers) * len(scales)) as advance:
        for paper, scale in product(papers, scales):
            cells, shown, machine = list(numeric_cells(paper)), exhibits((paper.name,), ()), workspace.machine
            plans.append(plan(cells, exhibits=shown, scale=scale, machine=machine))
            records = workspace.results.read(scale.name, paper.name)
            recorded_ids |= {record.fingerprint for record in records}
            for (seed, readings), ids in _variants(records).items():
                try:
                    cells = select((), tables=(), rows=(), cells=tuple(sorted(ids)))
                    seeds = () if seed is None else (seed,)
                    plans.append(
                        plan(cells, seeds=seeds, overrides=dict(readings), scale=scale, machine=machine)
                    )
                except UsageError as error:  # a cell or choice that the manifest no longer has
                    notices.append(f"records of {paper.name} at {scale.name} are not counted: {error}")
            advance()
    lineage = Lineage(workspace.store.root)
    needed = {node.fingerprint for each in plans for node in each.nodes} | lineage.below(recorded_ids)
    unidentified = _unidentified_artefacts(lineage, plans) - needed
    if unidentified:
        notices.append(f"{len(unidentified)} artefacts stay: what they were made from is not at hand")
    needed |= unidentified
    return KeptArtefacts(needed | lineage.tests_between(needed), notices, plans)


def finished_vectors(plans: Iterable[Plan], store: Store, *, keep_days: float) -> list[Node]:
    """Return stored vectors that nothing is made from which plans still have to run, or asked for lately.

    Asked for is what a run noted within ``keep_days`` and has not stored.
    """
    lineage, read_fingerprints = Lineage(store.root), set[str]()
    vectors: dict[str, Node] = {}
    for each in plans:
        each.look(store)
        read_fingerprints |= {parent.fingerprint for node in each.needed() for parent in node.parents()}
        vectors |= {node.fingerprint: node for node in _stored_vectors(each)}
        read_fingerprints |= {end.fingerprint for end in each.ends}
    stored_ids = lineage.stored()
    for note in notes.asked_since(store.root, days=keep_days):
        read_fingerprints.update(() if note in stored_ids else lineage.inputs(note))
    return [node for fingerprint, node in vectors.items() if fingerprint not in read_fingerprints]


def _stored_vectors(plan: Plan) -> list[Node]:
    """Return the stored vectors of a plan that has looked at a store."""
    stored_nodes = (node for node in plan.nodes if plan.states[node.fingerprint] == "stored")
    return [node for node in stored_nodes if node.stage in DISCARDABLE["vectors"]]


def _recorded_fingerprints(papers, names: Iterable[str], workspace: Workspace) -> tuple[set[str], list[str]]:
    """Return fingerprints of records of scales whose files are not at hand, with a sentence on each scale."""
    fingerprints, notices = set(), []
    for name, paper in product(sorted(names), papers):
        fingerprints |= {record.fingerprint for record in workspace.results.read(name, paper.name)}
    for name in sorted(names):
        reason = f"of the scale {name}, whose file was not given, only what lies behind records is kept"
        notices.append(f"{reason}; --scale with its file keeps all that it needs")
    return fingerprints, notices


def _variants(records: Iterable[Record]) -> dict[tuple, set[str]]:
    """Return, by (seed, readings), the cells that the suite measured otherwise than by default."""
    variants: dict[tuple, set[str]] = {}
    for record in records:
        readings = tuple(sorted((k, v) for k, v in record.readings.items() if k not in record.substitutes))
        if (record.seed is not None or readings) and not record.origin:
            variants.setdefault((record.seed, readings), set()).add(record.cell)
    return variants


def _unidentified_artefacts(lineage: Lineage, plans: list[Plan]) -> set[str]:
    """Return stored artefacts made from a source that a plan names and that is not at hand."""
    absent_sources = {_source(node.stage, node.params) for each in plans for node in _absent_nodes(each)}
    unidentified: set[str] = set()
    for fingerprint in lineage.stored() if absent_sources else ():
        records = {one: record for one in lineage.below([fingerprint]) if (record := lineage.describe(one))}
        if not absent_sources.isdisjoint(
            _source(record["stage"], record["params"]) for record in records.values()
        ):
            unidentified.update(records)
    return unidentified


def _absent_nodes(each: Plan) -> Iterator:
    """Return nodes whose data or checkpoint is missing, and with it their fingerprint's identity."""
    obstacles = each.machine.obstacles
    return (n for n in each.nodes if n.fingerprint in obstacles and not obstacles[n.fingerprint].of_machine)


def _source(stage: str, params: Mapping[str, Any]) -> str:
    """Return a stage and its parameters without those that follow from the source's bytes or place."""
    ignored_names = {"identity", *STAGES[stage].ignored}
    return canonical([stage, {name: value for name, value in params.items() if name not in ignored_names}])
