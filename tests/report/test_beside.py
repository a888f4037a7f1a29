import io
from decimal import Decimal
from types import SimpleNamespace

from rich.console import Console

from repro.judging.effects import Effect
from repro.report import beside


def shown(group) -> str:
    out = io.StringIO()
    Console(width=120, file=out).print(group)
    return out.getvalue()


def compared(row: str, role: str, printed: str, measured: float):
    cell = SimpleNamespace(
        row=SimpleNamespace(id=row, group=None),
        column=SimpleNamespace(id="dev"),
        role=role,
        is_numeric=True,
        printed=SimpleNamespace(value=Decimal(printed)),
    )
    return SimpleNamespace(cell=cell, measured=measured, verdict=SimpleNamespace(name="lower"))


ROWS = [SimpleNamespace(id=i, label=i.upper()) for i in ("bert", "ict", "mine")]
COLUMNS = [SimpleNamespace(id="dev", head=("Dev", "MRR@10"))]


def test_order_and_gains_stand_beneath_a_table():
    cells = [
        compared("bert", "rerun", "0.30", 0.28),
        compared("ict", "rerun", "0.32", 0.31),
        compared("mine", "ours", "0.36", 0.34),
    ]
    lines = [line.split() for line in shown(beside._against_print(cells, ROWS, COLUMNS)).splitlines()]
    assert ["order", "of", "rows,", "tau", "1.00", "(3", "rows)"] in lines
    assert ["MINE", "over", "BERT", "1.00,", "-0.014"] in lines  # 0.06/0.30 - 0.06/0.28
    assert ["MINE", "over", "ICT", "0.75,", "+0.028"] in lines  # 0.03/0.04


def test_nothing_measured_adds_nothing():
    assert beside._against_print([], ROWS, COLUMNS) is None


def test_a_gain_of_nothing_in_print_is_a_dash():
    assert beside._gain(Effect("a", "b", "dev", None, 0.1)) == "–, +0.100"
