"""The rules of verdicts, e.g. "exact".

The first of ``RULES`` that holds gives the verdict. All ``DOUBTS`` that hold are listed. A number belongs to
another experiment if one of ``CHANGES`` holds. ``docs/explained/verdicts.md`` shows these tables.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple

from repro.errors import shortened
from repro.locations import CHECKOUT
from repro.machine import versions
from repro.manifest.printed import PublishedCell
from repro.retrieval.datasets.catalog import differing
from repro.store.results import Record, is_future
from repro.verdicts.evidence import Circumstances, Evidence, circumstances, other_kernels, other_libraries
from repro.verdicts.verdict import PASSES, Case, CodeCounts, Doubt, Verdict, equal_after_rounding
from repro.version import DIRTY

SIDE = "lower or higher"


class Rule(NamedTuple):
    """A verdict with its condition in words and as a function.

    ``said`` is its reason, formatted with the case ``c``. ``width`` returns the half width.
    """

    verdict: str
    when: str
    holds: Callable[[Case], object]
    said: str
    width: Callable[[Case], Decimal | None] = lambda case: None


_OBEYS = "the paper states a bound, {c.printed.bound} {c.printed.number}"

WORD, MEAN, COMPARED = "a word instead of a number", "our number", "our number and its difference"
RULES: dict[str, tuple[Rule, ...]] = {
    WORD: (
        Rule("failed", "a stage failed in the run just made", lambda c: c.failure, "{c.failure}"),
        Rule("blocked", "nothing measured, something is missing", lambda c: c.obstacle, "{c.obstacle}"),
        Rule("not run", "nothing measured or tried", lambda c: not c.values, "{c.idle}"),
    ),
    MEAN: (
        Rule(
            "scaled",
            "another scale than `full`",
            lambda c: c.scale != "full",
            "measured at scale {c.scale}, which is not compared with the published numbers",
        ),
        Rule(
            "not comparable",
            "another experiment than the published one, by the table below",
            lambda c: c.changed,
            "a choice or parameter differs from the default",
        ),
        Rule(
            "inconclusive",
            "a dash or words in the paper",
            lambda c: c.printed.value is None,
            "the paper states no number: {c.printed.text!r}",
        ),
    ),
    COMPARED: (
        Rule("consistent", "a published bound, obeyed", lambda c: c.is_bounded and c.obeys_bound, _OBEYS),
        Rule(SIDE, "a published bound, not obeyed", lambda c: c.is_bounded, _OBEYS),
        Rule(
            "uninformative",
            "a pass by the rules below, but more than half of the other rows of the column would pass too",
            lambda c: _is_uninformative(c),
            "as for the pass",
        ),
        Rule(
            "exact",
            "equal to the published number after rounding to its decimals",
            lambda c: equal_after_rounding(c.mean, c.printed),
            "equal to the published number at {c.decimals}",
        ),
        Rule(
            "inconclusive",
            "no tolerance for this measure or unit",
            lambda c: c.tolerance is None,
            "not equal to the published number, and no stated tolerance",
        ),
        Rule(
            "within tolerance",
            "the interval of the difference is inside the tolerance",
            lambda c: c.is_inside,
            "{c.interval} is inside {c.tolerance_in_words}",
            lambda c: c.shown_width,
        ),
        Rule(
            SIDE,
            "the interval of the difference is outside the tolerance",
            lambda c: c.is_outside,
            "{c.interval} is outside {c.tolerance_in_words}",
            lambda c: c.shown_width,
        ),
        Rule(
            "inconclusive",
            "the interval contains an end of the tolerance",
            lambda c: True,
            "{c.interval} is neither inside nor outside {c.tolerance_in_words}",
            lambda c: c.shown_width,
        ),
    ),
}


def decide(case: Case) -> Verdict:
    """Return the verdict of the first rule that holds."""
    shown, rule = _first_rule(case)
    is_uninformative = rule.verdict == "uninformative"
    _, basis = _first_rule(replace(case, rivals=())) if is_uninformative else (shown, rule)
    why = basis.said.format(c=case)
    if shown == WORD:
        return Verdict(rule.verdict, why)
    if shown == MEAN:
        return Verdict(rule.verdict, why, float(case.mean))
    side = "higher" if case.mean > case.printed.number else "lower"
    name, width = (side if rule.verdict == SIDE else rule.verdict), basis.width(case)
    if discrimination := _discrimination(case):
        why += f"; {discrimination[0]} of {discrimination[1]} other rows of this column would pass too"
    half_width = None if width is None else float(width)
    difference = float(case.mean - case.printed.number)
    return Verdict(name, why, float(case.mean), difference, half_width, discrimination)


def _first_rule(case: Case) -> tuple[str, Rule]:
    return next((shown, rule) for shown, rules in RULES.items() for rule in rules if rule.holds(case))


def _discrimination(case: Case) -> tuple[int, int] | None:
    if not case.rivals or case.is_bounded or not _passes(case, case.printed):
        return None
    return sum(_passes(case, rival) for rival in case.rivals), len(case.rivals)


def _passes(case: Case, printed: PublishedCell) -> bool:
    return _first_rule(replace(case, printed=printed, rivals=()))[1].verdict in PASSES


def _is_uninformative(case: Case) -> bool:
    passing, rivals = _discrimination(case) or (0, 0)
    return 2 * passing > rivals


@dataclass(frozen=True)
class Basis:
    """The evidence for doubts: one record per seed, and ``evidence`` unless run by others."""

    records: Sequence[Record]
    counts: CodeCounts = field(default_factory=CodeCounts)
    evidence: Evidence | None = None

    @cached_property
    def circumstances(self) -> list[Circumstances]:
        return list(circumstances(self.evidence, self.records))


def _contradicted(b: Basis) -> str:
    pairs = [
        f"{r.measured:.10g}, {'by a newer record' if result.recorded else 'stored'} {result.measured:.10g}"
        for r, result in (b.evidence.current if b.evidence else ())
        if result
    ]
    return f"recorded {'; '.join(pairs)}: the latter counts, and `repro run` records it" if pairs else ""


def _outdated(b: Basis) -> str:
    if b.evidence is None or b.evidence.current:
        return ""
    parts = b.evidence.measured_by
    seeds = {r.seed for r in b.evidence.older} - {m.seed for m in parts}
    if parts and seeds:
        names = ",".join(map(str, sorted(seed for seed in seeds if seed is not None)))
        of_seed = f"--seeds {names}" if names else "its own seed"
        return f"measured with {of_seed}, which this selection does not include"
    if any(not obstacle.of_machine for obstacle in b.evidence.obstacles):
        return "its inputs are not all here, so it may be outdated"
    return "the recipe has changed since this was measured"


def _code_doubt(b: Basis, kind: str) -> str:
    other, unknown = b.counts.other_code, b.counts.unknown_code
    if b.evidence is None or not b.evidence.current:
        return ""
    doubts = {}
    if other:
        doubts = {"other code": f"{_artefacts(other)} behind it made by other code"}
    elif unknown:
        doubts = {"unknown code": f"the code of {_artefacts(unknown)} behind it is unknown"}
    elif other is None and all(r.code for r in b.records):
        doubts = {"other code": "its record is of other code than the current code"}
    elif other is None:
        doubts = {"unknown code": "its record names no code, and its artefacts are not all here"}
    return doubts.get(kind, "")


def _other_data(b: Basis) -> str:
    return ", ".join(dict.fromkeys(s for r in b.records for s in differing(r.rows)))


def _absent_data(b: Basis) -> str:
    if b.evidence is None or not b.evidence.current:
        return ""
    return _fill_in("the files of {} were not there to be checked", b.evidence.absent_data)


def _dirty_tree(b: Basis) -> str:
    dirty = (c.removesuffix(DIRTY)[:12] for c in _commits(b) if c.endswith(DIRTY))
    return _fill_in("made at commit {} with uncommitted changes", dirty)


def _unknown_commit(b: Basis) -> str:
    commits = (c for c in _commits(b) if not c.endswith(DIRTY))
    absent = (c[:12] for c in commits if versions.is_in_history(CHECKOUT, c) is False)
    return _fill_in("made at {}, which is not in this history", absent)


def _from_the_future(b: Basis) -> str:
    return _fill_in("recorded {}, which is in the future", (r.recorded for r in b.records if is_future(r)))


def _commits(b: Basis) -> list[str]:
    return sorted({c for r in b.records for c in r.every_commit})


def _fill_in(sentence: str, names: Iterable[str]) -> str:
    names = dict.fromkeys(map(shortened, names))
    return sentence.format(", ".join(names)) if names else ""


def _artefacts(number: int) -> str:
    return f"{number} artefact{'s' * (number > 1)}"


class DoubtRule(NamedTuple):
    """A kind of doubt. ``said`` returns a sentence, or "". ``meaning`` is for captions."""

    kind: str
    when: str
    said: Callable[[Basis], str]
    meaning: str


DOUBTS = (
    DoubtRule(
        "contradicted",
        "stored scores, or a newer record of the same evaluation (of whichever paper), give another number: "
        "that one is shown",
        _contradicted,
        "contradicted by another result of the same fingerprint",
    ),
    DoubtRule(
        "other result",
        "an older record of the same evaluation, or one that came with the suite, gives another number",
        lambda b: _fill_in("also on record: {}", b.evidence.rivals(b.records) if b.evidence else ()),
        "different from another record of the same fingerprint",
    ),
    DoubtRule(
        "outdated",
        "measured by another recipe, manifest or seed than the selected ones, or by unknown ones",
        _outdated,
        "possibly measured with another recipe, manifest or seed",
    ),
    DoubtRule(
        "other code",
        "artefacts behind it, or its record, are of other code than here, and `repro doctor same-code` did "
        "not show that both give the same bits",
        lambda b: _code_doubt(b, "other code"),
        "made by other code than the current code",
    ),
    DoubtRule(
        "unknown code",
        "the code is unknown: an older record without its artefacts",
        lambda b: _code_doubt(b, "unknown code"),
        "whose record names no code",
    ),
    DoubtRule(
        "other libraries",
        "artefacts behind it, or its record, name versions of libraries that change numbers "
        "(`repro/machine/versions.py`) other than those here. Absent libraries are not compared",
        lambda b: _fill_in("made with {}", other_libraries(b.circumstances)),
        "made with other versions of libraries",
    ),
    DoubtRule(
        "other kernels",
        "artefacts behind it, or its record, were made with kernels that differ from those its scale pins",
        lambda b: _fill_in("made with {}", other_kernels(b.evidence, b.circumstances)),
        "made with other kernels than the pinned ones",
    ),
    DoubtRule(
        "other data",
        "documents, queries or judgements differ from the published ones. At full scale it is "
        "*not comparable*",
        _other_data,
        "measured on other data than the published data",
    ),
    DoubtRule(
        "absent data",
        "the files that it was measured on are not here, and it was found by their recorded digests",
        _absent_data,
        "measured on files that were not there to be checked",
    ),
    DoubtRule(
        "dirty tree",
        "made with changes that were not committed",
        _dirty_tree,
        "made with changes that were not committed",
    ),
    DoubtRule(
        "unknown commit",
        "made at a commit that the history of this checkout does not have",
        _unknown_commit,
        "made at a commit that is not in this history",
    ),
    DoubtRule(
        "from the future",
        "its time is in the future, so any other record of the cell is preferred",
        _from_the_future,
        "recorded at a future time",
    ),
)
KINDS = {rule.kind: rule.meaning for rule in DOUBTS}


def doubts(basis: Basis) -> tuple[Doubt, ...]:
    return tuple(Doubt(rule.kind, why) for rule in DOUBTS if (why := rule.said(basis)))


def code_counts(evidence: Evidence, records: Sequence[Record]) -> CodeCounts:
    nodes = evidence.nodes.keys()
    if origins := evidence.origins:
        other, unknown = nodes & origins.of_other_code, nodes & origins.unknown
        if other or unknown or (nodes and nodes <= origins.parents.keys()):
            return CodeCounts(len(other), len(unknown))
    if records and all(r.code and r.code == evidence.planned_code(r) for r in records):
        return CodeCounts(0, 0)
    return CodeCounts()


class Change(NamedTuple):
    when: str
    holds: Callable[[Basis], object]


CHANGES = (
    Change(
        "a choice other than the default, except the released model of the row's own authors",
        lambda b: (
            b.evidence.departures and not b.evidence.authors_model if b.evidence else b.records[0].readings
        ),
    ),
    Change(
        "substitutes for the paper's data or models (`substitutes`)",
        lambda b: b.evidence and b.records[0].substitutes,
    ),
    Change("*other data* than the published data, as below", _other_data),
)


def is_changed(basis: Basis) -> bool:
    """Return whether a number belongs to another experiment than the published one."""
    return any(change.holds(basis) for change in CHANGES)
