"""Decides once, for every place that shows it, what is doubtful about a measured number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repro.graph import walk
from repro.locations import CHECKOUT
from repro.machine.versions import DIRTY, is_in_history
from repro.retrieval.datasets.published_rows import differing
from repro.store.results import Record, is_future
from repro.verdicts.evidence import Evidence

if TYPE_CHECKING:
    from repro.verdicts.compared import ComparedCell

# kind -> what it says of numbers that stand in brackets
KINDS = {
    "contradicted": "contradicted by another result of the same fingerprint",
    "outdated": "not known to be measured as the manifest is now",
    "other code": "made by other code or libraries than are here",
    "unknown code": "made by code that nothing here tells",
    "other data": "measured on other data than the published",
    "from a peer": "resting on what came from a peer and was not checked here",
    "dirty tree": "made by a working tree that differed from its commit",
    "unknown commit": "made at a commit that this history does not have",
    "from the future": "recorded at a time that is still to come",
}


@dataclass(frozen=True)
class Doubt:
    """A reason not to take a measured number for what would be measured here and now.

    Attributes:
        kind: a key of ``KINDS``.
        why: a sentence without its full stop.
    """

    kind: str
    why: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.why}"


@dataclass(frozen=True)
class CodeCounts:
    """How many artefacts behind a number are of other or of unknown code; None where nothing tells."""

    other_code: int | None = None
    unknown_code: int | None = None


def doubts(case: Evidence, records: Sequence[Record], counts: CodeCounts) -> tuple[Doubt, ...]:
    """The doubts about the number that these records of a cell give, in the order of ``KINDS``."""
    outdated = "" if case.current else _why_outdated(case)
    reasons = {
        "contradicted": contradiction(case),
        "outdated": outdated,
        **({} if outdated else _of_code(counts, records)),  # code of another graph is not what is here
        **_of_records(records),
    }
    return _in_order(reasons)


def doubts_about_run(record: Record) -> tuple[Doubt, ...]:
    """The doubts about the number of a run that others made, by the record of its scoring."""
    return _in_order(_of_records([record]))


def _in_order(reasons: Mapping[str, str]) -> tuple[Doubt, ...]:
    return tuple(Doubt(kind, reasons[kind]) for kind in KINDS if reasons.get(kind))


def _of_records(records: Sequence[Record]) -> dict[str, str]:
    """Sentences on what records say of the data, the peers, the commits and the time behind a number."""
    times = (r.recorded for r in records if is_future(r))
    return {
        "other data": _listed("{}", (s for r in records for s in differing(r.rows))),
        "from a peer": _listed("{} from a peer, not checked here", (s for r in records for s in r.unchecked)),
        **_of_commits({c for r in records for c in r.every_commit}),
        "from the future": _listed("recorded {}, which is still to come", times),
    }


def _of_commits(commits: Iterable[str]) -> dict[str, str]:
    """Sentences on commits that name no source that could be had."""
    dirty = sorted(c for c in commits if c.endswith(DIRTY))
    absent = sorted(c for c in set(commits) - set(dirty) if is_in_history(CHECKOUT, c) is False)
    return {
        "dirty tree": _listed("made at {}, by a working tree that differed from it", map(_short, dirty)),
        "unknown commit": _listed("made at {}, which this history does not have", map(_short, absent)),
    }


def _short(commit: str) -> str:
    return commit.removesuffix(DIRTY)[:12]


def _listed(sentence: str, names: Iterable[str]) -> str:
    """The sentence with the names, each once; empty without one."""
    names = dict.fromkeys(names)
    return sentence.format(", ".join(names)) if names else ""


def code_counts(case: Evidence, records: Sequence[Record]) -> CodeCounts:
    """Return what is known of the code behind a number, by stored artefacts or else by what records hold."""
    nodes = {node.fingerprint for m in case.parts for node in walk(m.parts)}
    if origins := case.origins:
        of_others = origins.other.keys() | origins.behind_other | origins.from_others
        other, unknown = nodes & of_others, nodes & origins.unknown
        if other or unknown or (nodes and nodes <= origins.parents.keys()):
            return CodeCounts(len(other), len(unknown))
    if records and all(r.code and r.code == case.planned_code(r) for r in records):
        return CodeCounts(0, 0)
    return CodeCounts()


def _of_code(counts: CodeCounts, records: Sequence[Record]) -> dict[str, str]:
    """A sentence on the code behind a number, where it is not that which is here."""
    if counts.other_code:
        return {"other code": f"{_artefacts(counts.other_code)} behind it made by other code or libraries"}
    if counts.unknown_code:
        return {"unknown code": f"{_artefacts(counts.unknown_code)} behind it do not say by which code"}
    if counts.other_code is None and all(r.code for r in records):
        return {"other code": "its record is of other code than is here"}
    if counts.other_code is None:
        return {"unknown code": "its record does not say by which code, and its artefacts are not all here"}
    return {}


def _artefacts(number: int) -> str:
    return f"{number} artefact{'s' * (number > 1)}"


def contradiction(case: Evidence) -> str:
    """Tell both values where current records are contradicted, and whose the other is; else empty."""
    pairs = [
        f"{r.measured:.10g}, {'by a newer record' if result.recorded else 'stored'} {result.measured:.10g}"
        for r, result in case.current
        if result
    ]
    if not pairs:
        return ""
    return f"recorded {'; '.join(pairs)}: the latter counts, and `repro run` records it"


def _why_outdated(case: Evidence) -> str:
    """Why the records of a cell, of its measure and unit, are not what would be measured now."""
    if sentence := _other_seeds(case):
        return sentence
    if any(not obstacle.of_machine for obstacle in case.obstacles):
        return "what this was measured from is not all here, so that nothing says whether it is current"
    return "the recipe has changed since this was measured"


def _other_seeds(case: Evidence) -> str:
    """A sentence that names the seeds of records where these were not asked for; empty where they were."""
    seeds = {r.seed for r in case.older} - {m.seed for m in case.parts}
    if not (case.parts and seeds):
        return ""
    names = ",".join(str(seed) for seed in sorted(seeds - {None}))
    return f"measured with {f'--seeds {names}' if names else 'its own seed'}, which was not asked for here"


def doubt_kinds(cells: Iterable[ComparedCell]) -> str:
    """The kinds of doubt about the numbers of cells, for a column beside them; empty without any."""
    found = {doubt.kind for c in cells for doubt in c.doubts}
    return "; ".join(kind for kind in KINDS if kind in found)


IN_BRACKETS = "in brackets, as something about them is doubtful"


def doubts_in_brief(cells: Iterable[ComparedCell], *, lead: str = IN_BRACKETS) -> str:
    """Say how many numbers are in doubt, and of which kind each is; empty without any."""
    kinds = Counter(kind for c in cells for kind in {doubt.kind for doubt in c.doubts_shown})
    if not kinds:
        return ""
    reasons = "; ".join(f"{kinds[kind]} {meaning}" for kind, meaning in KINDS.items() if kinds[kind])
    return f"{lead}: {reasons}"
