"""The claims of papers, judged by what is recorded and stored in a workspace."""

from __future__ import annotations

import re

from repro.judging.claims.judged import Judged, judged
from repro.judging.claims.values import Measured
from repro.judging.comparison import judged_cells
from repro.manifest.cells import select
from repro.manifest.papers import Paper, papers
from repro.running.plan import plan
from repro.running.scale import Scale
from repro.running.workspace import Workspace


def judged_at(sources: list[Paper], scale: Scale, workspace: Workspace) -> list[Judged]:
    """Every statement of the papers, judged in the paper and on what was measured at a scale.

    Nothing is run. Papers that a claim names beside its own are compared, too.
    """
    text = " ".join(claim.expect for source in sources for claim in source.claims.values())
    named = set(re.findall(r"[\"']([\w-]+):", text)) & set(papers())
    wanted = tuple(sorted({source.name for source in sources} | named))
    planned = plan(select(wanted, tables=(), rows=(), cells=()), scale=scale, machine=workspace.machine)
    ours = Measured(judged_cells(planned, workspace.results, workspace.store))
    return judged(sources, ours, scale=scale.name)
