"""The part of the page on parties that report different values of one released system or of an index."""

from collections.abc import Sequence

from repro.judging.reported import HOW
from repro.judging.reproduction.disagreements import ANOTHER, Disagreement, by_reason, words
from repro.judging.reproduction.quantities import label_of
from repro.report.reproduction.blocks import Fold, Grid, Link, Section, Words
from repro.report.reproduction.pictures import format_percent


def apart_section(found: Sequence[Disagreement]) -> Section:
    """How many disagreements there are, what is said to differ, and every value."""
    released = [one for one in found if one.of != "an index of the same texts"]
    another = sum(ANOTHER in one.reasons for one in released)
    told = (
        f"{len(found)} times parties report values that rounding does not explain: {len(released)} times of "
        f"a released model or run of one name, in {another} of which an entry states another training or "
        f"checkpoint, and {len(found) - len(released)} times of an index of the same texts. The reasons are "
        "what the entries say of their making, where they do not all say the same; a reason that is stated "
        "need not be the cause."
    )
    reasons = [[reason, str(count), f"{spread:.2f}"] for reason, count, spread in by_reason(found)]
    heads = [
        "system",
        "set and measure",
        "published",
        "least",
        "by",
        "greatest",
        "by",
        "points",
        "what is said to differ",
    ]
    blocks = [
        Words(told),
        Grid(["what is said to differ", "disagreements", "median spread, points"], reasons, numbers=1),
        Fold("Released models and runs", [Grid(heads, list(map(_difference, released)))]),
        Fold("Indexes of terms", [Grid(heads, [_difference(one) for one in found if one not in released])]),
        Fold(
            "Every value, and what is said of it",
            [Grid(_HEAD, [row for one in found for row in _values(one)])],
        ),
    ]
    return Section("disagreements", "Where toolkits disagree", blocks)


_HEAD = ["system", "set and measure", "reported", "by", "made how", "what is said of it"]


def _difference(one: Disagreement) -> list:
    least, most = one.entries[0], one.entries[-1]
    row = [
        label_of(one.quantity.system),
        one.quantity.name,
        ", ".join(map(format_percent, one.quantity.published)),
    ]
    for entry in (least, most):
        row += [format_percent(entry.value), Link(entry.made.source.name, entry.made.source.address)]
    return [*row, f"{one.spread:.2f}", "; ".join(one.reasons)]


def _values(one: Disagreement) -> list[list]:
    label, name = label_of(one.quantity.system), one.quantity.name
    silent = "nothing"
    return [
        [
            label,
            name,
            format_percent(e.value),
            Link(e.made.source.name, e.made.source.address),
            HOW[e.start],
            words(e) or silent,
        ]
        for e in one.entries
    ]
