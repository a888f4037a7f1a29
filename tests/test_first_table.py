"""``docs/first_table.py``: every row with the span of five seeds."""

from pathlib import Path

import pytest

from repro.api import select
from repro.store.results import Record, Results
from tests.ci_commands import module

SCRIPT = module(Path(__file__).resolve().parents[1] / "docs/first_table.py")
# row -> what each seed gives in the first column, beside what one run gives in all columns
VALUES = {
    "bm25neg.bert": (0.5, [0.45, 0.5, 0.55, 0.5, 0.5]),
    "bm25neg.costa": (0.53, [0.52, 0.53, 0.6, 0.53, 0.53]),
    "hardneg.costa": (0.7, [0.65, 0.7, 0.8, 0.7, 0.7]),
    "hardneg.prop": (0.7, [0.6, 0.7, 0.8, 0.7]),
    "reference.no-pre-training": (0.4, [0.3, 0.44, 0.4, 0.4, 0.4]),
}


@pytest.fixture(scope="module")
def block(tmp_path_factory) -> list[str]:
    folder = tmp_path_factory.mktemp("results")
    records = []
    for seeds in ((), SCRIPT.SEEDS):
        for m in select("costa/1", scale="tiny", seeds=seeds).plan().measurements:
            one, several = VALUES.get(m.cell.row.id, (0.1, []))
            values = {None: one, **dict(enumerate(several, 1))}
            if m.seed in values:
                facts = {"fingerprint": m.fingerprint, "measure": m.measure, "unit": m.cell.unit}
                sizes = {"measured": values[m.seed], "queries": 10, "missing": 0, "seed": m.seed}
                records.append(Record(cell=m.cell.id, scale="tiny", **facts, **sizes))
    Results(folder).append(records)
    return SCRIPT.block(folder).splitlines()


def test_every_row_is_there_and_a_span_where_all_five_seeds_were_measured(block):
    rows = [line.split(" | ")[0].strip("| *") for line in block if line.startswith("|")]
    assert len([row for row in rows if row]) == 1 + 4 + 18
    assert "| BERT | 0.500, 0.450–0.550 |" in "\n".join(block)
    assert "| COSTA | 0.700, 0.650–0.800 |" in "\n".join(block)
    assert "| PROP | 0.700 | 0.700 |" in "\n".join(block)
    assert "| DeepCT[6] | – | – | – | – |" in block
    assert "| BM25 | 0.100 | 0.100 | 0.100 | 0.100 |" in block


def test_what_the_recipes_as_they_are_did_not_measure_is_missing(tmp_path):
    [m] = select("costa/1/sparse.bm25/dev.rr10", scale="tiny").plan().measurements
    facts = {"cell": m.cell.id, "scale": "tiny", "seed": None, "queries": 10, "missing": 0}
    older = Record(**facts, measured=0.4, fingerprint="f" * 64, measure=m.measure, unit=m.cell.unit)
    Results(tmp_path).append([older])
    assert "| BM25 | – | – | – | – |" in SCRIPT.block(tmp_path).splitlines()


def test_the_width_of_the_ranges_and_the_overlapping_pairs_are_counted(block):
    assert "MRR@10 these ranges are 0.110 wide on average and 0.150 at most." in block[-1]
    assert "In 1 of 3 pairs of pre-trained rows they overlap" in block[-1]
    below = block[-1].partition("Rows below all ranges: ")[2]
    assert below.startswith("BM25, ") and below.endswith("random weights, random weights with fine-tuning.")
