"""Reports on a released model or an index that differ among themselves, with the reasons that they state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from repro.manifest.decimals import decimals_of, half_unit
from repro.plugins.reports.quantities import RELEASED, Entry, Quantity

SAME = {"a released model or run": RELEASED, "an index of the same texts": ("index",)}
ANOTHER = "another training or checkpoint of the model"
# A reason by the words of an entry that state it; the first that fits counts.
REASONS = {
    "the question among its own results": ("own rankings",),
    "fields of the index: titles and more": ("in one field", "several fields", "scores of title"),
    "titles of the passages": ("with titles", "without titles"),
    "similarity: cosine or dot product": ("cosine", "dot product"),
    "numerical precision": ("fp16", "half precision", "rounded to integers"),
    "length of texts": ("passages cut", "documents cut", "cut length"),
    "search: approximate, or of another depth": (
        "approximat",
        "compressed index",
        "hnsw",
        "fewer probes",
        "depth",
    ),
    "re-ranking in place of retrieval": ("re-rank",),
    "another copy of the weights": ("weights converted", "copy of the weights", "encoded by"),
    "which checkpoint it is, is not said": (
        "of the released checkpoints is not",
        "which checkpoint",
        "checkpoint is not told",
    ),
    ANOTHER: ("trained", "of several sets", "batches of 256", "another submitted run", "checkpoint"),
    "engine, parameters or texts of the index": (
        "k1 ",
        "parameters",
        "engine",
        "implementation",
        "toolkit",
        "stop words",
        "predicted queries",
        "in place of the bm25",
        "topics",
        "index",
    ),
}
OTHER, SILENT = "another reason, as stated", "no reason stated"


@dataclass(frozen=True)
class Disagreement:
    """Reports on one quantity that rounding does not explain, by at least two parties.

    The parties take a released model or run of one name, or index the same texts; an entry may state that
    it is of another training or checkpoint.

    Attributes:
        entries: the reports that are compared, from the least to the greatest.
    """

    quantity: Quantity
    of: str
    entries: tuple[Entry, ...]

    @property
    def spread(self) -> Decimal:
        """The greatest report less the least, in points."""
        return self.entries[-1].value - self.entries[0].value

    @property
    def reasons(self) -> list[str]:
        """Every reason that entries state and that tells them apart, those of most entries first."""
        counts = Counter(reason for entry in self.entries for reason in reasons(entry))
        names = [name for name, _ in counts.most_common() if self._differ_in(name)]
        return names or [SILENT]

    def _differ_in(self, reason: str) -> bool:
        return len({reasons(entry).get(reason) for entry in self.entries}) > 1


def disagreements(quantities: Iterable[Quantity]) -> list[Disagreement]:
    """Every disagreement, the widest first."""
    items = []
    for quantity in quantities:
        for kind, starts in SAME.items():
            entries = [e for e in quantity.entries if e.counted and e.start in starts]
            if len({e.made.source.name for e in entries}) > 1 and _differ(quantity, entries):
                items.append(Disagreement(quantity, kind, tuple(sorted(entries, key=lambda e: e.value))))
    return sorted(items, key=lambda d: (-d.spread, d.quantity.system, d.quantity.name))


def _differ(quantity: Quantity, entries: Sequence[Entry]) -> bool:
    """Whether they differ by more than the rounding of the coarsest of them and of the published number."""
    values = [entry.value for entry in entries]
    published = map(decimals_of, quantity.published)
    coarsest = min(*(entry.decimals for entry in entries), *published, 1)
    return max(values) - min(values) > half_unit(coarsest)


def reasons(entry: Entry) -> dict[str, tuple[str, ...]]:
    """Reason -> the words with which an entry states it; none where nothing is said to differ."""
    kinds: dict[str, tuple[str, ...]] = {}
    for difference in _stated_differences(entry):
        text = difference.lower()
        kind = next((kind for kind, signs in REASONS.items() if any(sign in text for sign in signs)), OTHER)
        kinds[kind] = (*kinds.get(kind, ()), difference)
    return kinds


def _stated_differences(entry: Entry) -> tuple[str, ...]:
    """All that is stated to differ, and the parameters that stand with the software of an index."""
    how = entry.made.report.how
    parameters = how.software.partition(", k1 ")[2]
    return (*how.differs, *([f"k1 {parameters}"] if parameters else []))


def words(entry: Entry) -> str:
    """The words of an entry on its making: what differs, and its note; empty where it says nothing."""
    report = entry.made.report
    parts = [*dict.fromkeys(_stated_differences(entry)), *([report.note] if report.note else [])]
    return "; ".join(parts)


def by_reason(items: Sequence[Disagreement]) -> list[tuple[str, int, float]]:
    """Reason, the number of disagreements of which an entry states it, and their median spread in points."""
    spreads: dict[str, list[Decimal]] = {}
    for item in items:
        for reason in item.reasons:
            spreads.setdefault(reason, []).append(item.spread)
    rows = [(reason, len(values), float(median(values))) for reason, values in spreads.items()]
    return sorted(rows, key=lambda row: (-row[1], row[0]))
