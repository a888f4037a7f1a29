"""The printed numbers of Tables 1, 3, 4 and 6 equal those of scipy.stats, from results/scores."""

import gzip
import json
import re
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t

from repro import select
from repro.manifest.cells import table_of
from repro.manifest.papers import paper
from repro.plugins.studies.contrasts import analysis_of
from repro.writers.grid import label_in_full

RESULTS = Path(__file__).resolve().parents[3] / "results"
SOURCE = paper("head_to_head")
RANDOM = "random weights"


def _scores(name: str) -> dict[tuple[str, str], np.ndarray]:
    """(label of a row, label of a column) -> scores, a row per query and a column per seed."""
    path = RESULTS / f"scores/small-cpu/head_to_head-table{name}.json.gz"
    evaluations = json.loads(gzip.decompress(path.read_bytes()))["evaluations"]
    seeds = analysis_of(SOURCE).seeds
    by_seed: dict[tuple[str, str], dict] = {}
    for m in select(f"head_to_head/{name}", scale="small-cpu", seeds=seeds).plan().measurements:
        content = evaluations[m.parts[0].fingerprint]
        place = label_in_full(m.cell.table, m.cell.row), m.cell.column.label
        by_seed.setdefault(place, {})[m.seed] = content["measures"][m.measure]
    assert all(len(of_seeds) == len(seeds) for of_seeds in by_seed.values())
    return {place: np.array([of_seeds[s] for s in seeds]).T for place, of_seeds in by_seed.items()}


def _student(x: np.ndarray) -> tuple[float, float, float]:
    """Return mean, standard error and Satterthwaite's degrees of freedom, from sums of squares."""
    q, s = x.shape
    total = ((x - x.mean()) ** 2).sum()
    of_queries, of_seeds = s * q * x.mean(axis=1).var(), q * s * x.mean(axis=0).var()
    degrees = q - 1, s - 1, (q - 1) * (s - 1)
    a, b, c = (
        square / n
        for square, n in zip((of_queries, of_seeds, total - of_queries - of_seeds), degrees, strict=True)
    )
    whole = max(a + b - c, a, b)
    return (
        x.mean(),
        np.sqrt(whole / x.size),
        whole**2 / (a**2 / degrees[0] + b**2 / degrees[1] + c**2 / degrees[2]),
    )


def _p(x: np.ndarray) -> float:
    mean, error, freedom = _student(x)
    return 2 * t.sf(abs(mean) / error, freedom)


def _holm(values: list[float]) -> list[float]:
    corrected, largest = dict.fromkeys(range(len(values)), 0.0), 0.0
    for rank, place in enumerate(sorted(corrected, key=values.__getitem__)):
        largest = corrected[place] = max(largest, min(1.0, values[place] * (len(values) - rank)))
    return list(corrected.values())


def _printed(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def _verdict(mean: float, p: float, within: float, margin: float) -> str:
    if p > 0.05:
        return f"within ±{margin:g} points" if within <= 0.05 else "inconclusive"
    return ("slightly " if within <= 0.05 else "") + ("above" if mean > 0 else "below")


@pytest.mark.parametrize("name", list("1346"))
def test_every_printed_mean_difference_p_and_verdict_is_that_of_scipy(name):
    scores = _scores(name)
    table = table_of(SOURCE, name)
    margins = {c.label: analysis_of(SOURCE).of(table).matters[c.id] for c in table.columns}
    page = (RESULTS / f"tables/small-cpu/head_to_head-table{name}.md").read_text(encoding="utf-8")
    for row in table.rows:
        label = label_in_full(table, row)
        [line] = re.findall(rf"^\| {re.escape(label)} \| (.*) \|$", page, re.MULTILINE)
        for column, entry in zip(margins, line.split(" | "), strict=False):
            mean, error, freedom = _student(scores[label, column])
            assert (
                entry.split(" ")[:3]
                == f"{100 * mean:.1f} ± {100 * error * t.ppf(0.975, freedom):.1f}".split()
            )
    compared = 0
    for section in page.partition("## Variances")[0].split("\n### ")[1:]:
        lines = re.findall(r"^\| (.+) – (.+) \| (.+) \| 5 \| (.+) \|$", section, re.MULTILINE)
        for column, group in groupby(sorted(lines, key=lambda line: line[2]), key=lambda line: line[2]):
            pairs, margin = list(group), margins[column]
            found = [scores[row, column] - scores[other, column] for row, other, *_ in pairs]
            estimates = [_student(x) for x in found]
            raw, room = [_p(x) for x in found], [margin / 100 - abs(mean) for mean, *_ in estimates]
            within = _holm([t.cdf(-r / e, f) for r, (_, e, f) in zip(room, estimates, strict=True)])
            for (row, other, _, printed), (mean, error, freedom), p, q, holm in zip(
                pairs, estimates, raw, within, _holm(raw), strict=True
            ):
                low, high = t.interval(0.95, freedom, mean, error)
                verdict = _verdict(mean, holm, q, margin)
                if name != "6" and RANDOM not in (row, other):
                    lead = scores[row if mean > 0 else other, column] - scores[RANDOM, column]
                    verdict += "" if lead.mean() > 0 and _p(lead) <= 0.05 else ", at the floor"
                assert printed.split(" | ") == [
                    f"{100 * mean:+.2f}",
                    f"{100 * low:+.2f} to {100 * high:+.2f}",
                    _printed(p),
                    _printed(holm),
                    verdict,
                ]
                compared += 1
    assert compared == (12 if name == "6" else 16) * len(margins)
