"""The encoder behind a measured cell, or behind a run."""

from __future__ import annotations

from dataclasses import dataclass

from repro.errors import UsageError
from repro.graph import Node
from repro.manifest.cells import cell
from repro.retrieval.recipe.released import Conventions
from repro.running.measurement import Measurement
from repro.running.plan import plan
from repro.running.scale import Scale
from repro.running.workspace import Workspace
from repro.stage_table import MODULES


@dataclass(frozen=True)
class MeasuredEncoder:
    """The two encodings behind a run, and the one model of both.

    Raises UsageError, saying why, for a run that no single dense encoder made.
    """

    model: Node
    passages: Node
    queries: Node

    @classmethod
    def of(cls, run: Node) -> MeasuredEncoder:
        if run.stage not in ("search", "search_views"):
            raise UsageError(f"{run} is not an encoder's: it was made by {run.stage}, not by search")
        passages, queries = run.inputs["passages"], run.inputs["queries"]
        model = passages.inputs["model"]
        if model.fingerprint != queries.inputs["model"].fingerprint:
            raise UsageError(f"{run} has an encoder for passages and another for queries; one is exported")
        if model.stage == "released":
            name = model.params["name"]
            raise UsageError(f"{model} is a released checkpoint; take it from {name!r} itself")
        views = passages.params.get("views", ["dense"])
        if list(views) != ["dense"]:
            vectors = f"{' and '.join(views)} vectors, which sentence-transformers has no directory for"
            raise UsageError(f"{run} searches by {vectors}; choose a row with a dense vector alone")
        return cls(model, passages, queries)

    @property
    def conventions(self) -> Conventions:
        """The way its texts were read, as ``repro.json`` says it; heads and cosine are in the modules."""
        passages, queries = self.passages.params, self.queries.params
        return Conventions(
            pooling=MODULES,
            similarity="cosine" if passages["normalize"] else "dot",
            query_length=queries["length"],
            passage_length=passages["length"],
            separator=passages["separator"],
            query_prefix=queries.get("prefix", ""),
            passage_prefix=passages.get("prefix", ""),
            precision=passages["precision"],
        )


@dataclass(frozen=True)
class Export:
    """An encoder that a user named, and the measurement of the cell, where a cell was named."""

    name: str
    source: MeasuredEncoder
    measurement: Measurement | None = None


def encoder_of(name: str, workspace: Workspace, *, scale: Scale, seed: int | None) -> Export:
    """The encoder behind a cell (``paper/table/row/column``), or behind a fingerprint (or its first digits).

    Raises:
        UsageError: nothing is measured for the cell, none or several encoders are behind it, or the
            fingerprint is neither of a run nor of its scores.
    """
    if "/" not in name:
        return Export(name, MeasuredEncoder.of(_run(workspace.store.remembered(name))))
    seeds = () if seed is None else (seed,)
    cell_plan = plan([cell(name)], scale=scale, machine=workspace.machine, seeds=seeds)
    if not cell_plan.measurements:
        problem = f"nothing is measured for this cell at scale {scale.name}"
        raise UsageError(f"{name}: {problem}, so there is no model of it")
    measurement = cell_plan.measurements[0]
    return Export(name, only_source(name, [MeasuredEncoder.of(run) for run in measurement.runs]), measurement)


def only_source(cell_id: str, sources: list[MeasuredEncoder]) -> MeasuredEncoder:
    """The one encoder behind a cell. Raises UsageError where there is none, or are several."""
    models = {source.model.fingerprint for source in sources}
    if len(models) != 1:
        fingerprints = ", ".join(sorted(fingerprint[:12] for fingerprint in models))
        problem = (
            f"it is a mean over {len(models)} models ({fingerprints}); name a run of one by its fingerprint"
        )
        raise UsageError(f"{cell_id}: {problem if models else 'no encoder is behind this cell'}")
    return sources[0]


def _run(node: Node) -> Node:
    """The run that a remembered node is, or scores."""
    if "run" in node.inputs and node.stage == "evaluate":
        return node.inputs["run"]
    if node.stage not in ("search", "search_views"):
        remedy = "give the fingerprint of one of these, since only a run tells how texts are read"
        raise UsageError(f"{node} is neither a run nor its scores; {remedy}")
    return node
