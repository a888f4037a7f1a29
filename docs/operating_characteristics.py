"""Write the error rates of verdicts into their page: ``python docs/operating_characteristics.py``.

A published number is one seed of a system, printed with three decimals. Another training has the same
expected value or a lower one, e.g. by .005, and k seeds. The tables contain the shares of draws that
pass and that fail.
"""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from repro.manifest.printed import parse  # noqa: E402
from repro.verdicts.decision import decide  # noqa: E402
from repro.verdicts.verdict import (  # noqa: E402
    FAILS,
    PASSES,
    Case,
    Tolerance,
    equal_after_rounding,
    exact_decimal,
    gap,
    prediction_half_width,
    tolerance,
)

PAGE = ROOT / "docs/explained/verdicts.md"
BEGIN, END = "<!-- operating characteristics: begin -->", "<!-- operating characteristics: end -->"
MEANS = {"RR@10": 0.342, "nDCG@10": 0.635, "R@1000": 0.96}
SEEDS, OFF, SPREADS, DRAWS = (1, 2, 3, 5, 10), (0.0, 0.002, 0.005, 0.01), (0.5, 1.0, 1.5, 2.0), 2000
Rule = Callable[[Case, str], str]


def after(case: Case, measure: str) -> str:
    """Return "pass", "fail" or "" by the rules of the suite."""
    name = decide(case).name
    return "pass" if name in PASSES else "fail" if name in FAILS else ""


def before(case: Case, measure: str) -> str:
    """Return the same by the former rules: a tolerance below three seeds, else a prediction interval."""
    miss = (1 - case.printed.number) / 10
    former = {"RR@10": Decimal("0.005"), "nDCG@10": Decimal("0.02"), "R@1000": min(Decimal("0.01"), miss)}
    if equal_after_rounding(case.mean, case.printed):
        return "pass"
    width = former[measure]
    if len(case.values) > 2:
        interval = prediction_half_width(case.values)
        if interval > width and gap(case.mean, case.printed) <= interval:
            return ""
        width = interval
    return "pass" if gap(case.mean, case.printed) <= width else "fail"


def shares(rule: Rule, measure: str, off: float, seeds: int, draws: int, spread: float = 1.0) -> dict:
    """Return the shares of "pass" and "fail". The seeds deviate ``spread`` times as much as assumed."""
    drawn, mean = random.Random(f"{measure} {off} {seeds} {spread}"), MEANS[measure]
    sd = spread * float(retrained(measure, mean).seed_sd)
    verdicts = []
    for _ in range(draws):
        printed = parse(f"{drawn.gauss(mean, sd):.3f}")
        values = [exact_decimal(drawn.gauss(mean - off, sd)) for _ in range(seeds)]
        margin = retrained(measure, printed.number)
        verdicts.append(rule(Case(printed, values, tolerance=margin), measure))
    return {name: statistics.fmean(v == name for v in verdicts) for name in ("pass", "fail")}


def retrained(measure: str, published: float | Decimal) -> Tolerance:
    """Return the tolerance of a training for a published number."""
    found = tolerance(None, measure, "fraction", published=Decimal(str(published)))
    assert found
    return found


def lines(draws: int = DRAWS) -> Iterator[str]:
    """Yield the lines of the tables, e.g. ``| RR@10 | 0 | .43, .00 | …``."""
    for title, rule in (("before", before), ("now", after)):
        yield from _head(f"{title}: passes, fails", "lower by")
        for measure in MEANS:
            for off in OFF:
                found = (shares(rule, measure, off, seeds, draws) for seeds in SEEDS)
                yield _row(measure, f"{off:g}", [f"{_short(s['pass'])}, {_short(s['fail'])}" for s in found])
        yield ""
    yield from _head("now: equal passes, lower by the tolerance passes", "deviation of seeds")
    for measure, mean in MEANS.items():
        margin = float(retrained(measure, mean).half_width)
        for spread in SPREADS:
            equal, lower = (
                [shares(after, measure, off, seeds, draws, spread)["pass"] for seeds in SEEDS]
                for off in (0.0, margin)
            )
            cells = [f"{_short(a)}, {_short(b)}" for a, b in zip(equal, lower, strict=True)]
            yield _row(measure, f"{spread:g} × assumed", cells)


def _head(first: str, second: str) -> Iterator[str]:
    names = [first, second, *(f"{k} seed{'s' * (k > 1)}" for k in SEEDS)]
    yield f"| {' | '.join(names)} |"
    yield f"|{' --- |' * len(names)}"


def _row(measure: str, second: str, cells: list[str]) -> str:
    return f"| {' | '.join([measure, second, *cells])} |"


def _short(share: float) -> str:
    return f"{share:.2f}".removeprefix("0")


def write(page: Path = PAGE) -> None:
    """Replace the tables of a page."""
    text = page.read_text(encoding="utf-8")
    head, tail = text.partition(BEGIN)[0], text.partition(END)[2]
    page.write_text("\n".join([head + BEGIN, *lines(), END + tail]), encoding="utf-8")


if __name__ == "__main__":
    write()
