"""The score of an encoder in a column, as plain values and as the line of a table."""

from dataclasses import replace
from decimal import Decimal

from repro.exchange.user_encoder_scores import ColumnScore
from repro.judging.among_others import placed
from repro.manifest.cells import cell
from repro.manifest.reports import CellReport, Report, Source

CELL = cell("simlm/2/dense.ance/dev.rr10")
SCORE = ColumnScore("dev.rr10", "MRR@10", "dev", "RR@10", 1000, False, 33.4, 6980, 0, CELL)
SOURCE = Source(who="toolkit", name="A toolkit", repository="a/b", issue=5, date="2024-01-01")


def test_a_table_has_the_sentence_where_json_has_the_object():
    stated = {"cells": (CELL.id,), "value": "33.0", "measure": "MRR@10", "dataset": "dev", "source": "a"}
    made = CellReport(CELL, Report(how={"start": "checkpoint"}, **stated), SOURCE)
    among = placed(CELL, Decimal("33.4"), [made])
    score = replace(SCORE, among_others=among)
    assert score.as_json()["among_others"] == among.as_json()
    assert score.as_line() == score.as_json() | {"among_others": str(among)}
    assert SCORE.as_line() == SCORE.as_json() and SCORE.as_line()["among_others"] is None
