"""The part of the page on parties that report different values of one released system or of an index."""

from collections.abc import Sequence

from repro.judging.others import HOW
from repro.judging.reproduction.disagreements import ANOTHER, Disagreement, by_reason, words
from repro.judging.reproduction.quantities import label_of
from repro.report.reproduction.blocks import Fold, Grid, Link, Section, Words
from repro.report.reproduction.pictures import format_percent


def apart_section(found: Sequence[Disagreement]) -> Section:
    """How many disagreements there are, what is said to differ, and every value."""
    models = [case for case in found if case.of != "an index of the same texts"]
    retrained = sum(ANOTHER in case.reasons for case in models)
    text = (
        f"{len(found)} times parties state values that rounding does not explain: {len(models)} times of "
        f"a released model or run of one name, in {retrained} of which an entry states another training or "
        f"checkpoint, and {len(found) - len(models)} times of an index of the same texts. The reasons are "
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
        Words(text),
        Grid(["what is said to differ", "disagreements", "median spread, points"], reasons, numbers=1),
        Fold("Released models and runs", [Grid(heads, list(map(_difference, models)))]),
        Fold("Indexes of terms", [Grid(heads, [_difference(case) for case in found if case not in models])]),
        Fold(
            "Every value, and what is said of it",
            [Grid(_HEAD, [row for case in found for row in _values(case)])],
        ),
    ]
    return Section("disagreements", "Where toolkits disagree", blocks)


_HEAD = ["system", "set and measure", "stated", "by", "made how", "what is said of it"]


def _difference(case: Disagreement) -> list:
    lowest, highest = case.entries[0], case.entries[-1]
    row = [
        label_of(case.quantity.system),
        case.quantity.name,
        ", ".join(map(format_percent, case.quantity.published)),
    ]
    for entry in (lowest, highest):
        row += [format_percent(entry.value), Link(entry.made.source.name, entry.made.source.address)]
    return [*row, f"{case.spread:.2f}", "; ".join(case.reasons)]


def _values(case: Disagreement) -> list[list]:
    label, name = label_of(case.quantity.system), case.quantity.name
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
        for e in case.entries
    ]
