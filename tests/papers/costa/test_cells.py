"""COSTA's manifest against its own arithmetic and, where the paper's texts lie near, against them.

Read with plain PyYAML: a mistake of the loader must not hide one of the manifest.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from itertools import groupby
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "papers" / "costa"
TEXTS = ("costa.txt", "costa-second-copy.txt")
NUMERIC_CELLS = {"1": 58, "2": 55, "3": 10, "4": 10, "5": 8, "6": 12, "7": 4}
NO_BOLD = {("1", "sparse"), ("2", "sparse")}
# A cell in bold that is not the best, by the reading which says so.
WRONG_BOLD = {("4", "base", "dev.r1000"): "table-4-bold"}
DATASETS = {
    "MARCO Dev Passage": "msmarco-passage/dev/small",
    "TREC2019 Passage": "msmarco-passage/trec-dl-2019/judged",
    "MARCO Dev Doc": "msmarco-document/dev",
    "TREC2019 Doc": "msmarco-document/trec-dl-2019/judged",
}
GRADED = {"TREC2019 Passage, R@1000": "R(rel=2)@1000"}  # reading trec-recall-grade
NUMBER = re.compile(r"0\.\d{3}")
CELL = re.compile(r"(?P<bold>\*\*)?(?P<number>0\.\d{3})(?P<marks>\*?†?‡?)(?(bold)\*\*)|-")


def manifest() -> dict:
    return yaml.safe_load((FOLDER / "cells.yaml").read_text(encoding="utf-8"))


def readings() -> dict[str, dict]:
    listed = yaml.safe_load((FOLDER / "readings.yaml").read_text(encoding="utf-8"))
    return {reading["id"]: reading for reading in listed}


def tables() -> dict[str, dict]:
    """The published tables: rows of reference are the suite's own."""
    found = {table["id"]: table for table in manifest()["tables"]}
    return {
        name: table | {"rows": [row for row in table["rows"] if row["role"] != "reference"]}
        for name, table in found.items()
    }


def number(text: str) -> str | None:
    found = NUMBER.search(text)
    return found.group() if found else None


def printed(table: dict) -> list[str]:
    """The numbers of a table's cells, row by row."""
    return [number(text) for row in table["rows"] for text in row["cells"] if number(text)]


def lines(table: dict) -> list[str]:
    """A table as the first text prints it, from its heads on: tabs between cells, tags around bold."""
    heads = [column["head"] for column in table["columns"]]
    if table.get("transposed"):
        columns = zip(*(row["cells"] for row in table["rows"]), strict=True)
        shown = [(head[-1], *cells) for head, cells in zip(heads, columns, strict=True)]
        return [_line("", *(row["label"] for row in table["rows"])), *(_line(*row) for row in shown)]
    above = [head[0] for head in heads if len(head) > 1]
    once = ["" if place and above[place - 1] == name else name for place, name in enumerate(above)]
    shown = [_line("", *once)] if above else []
    shown.append(_line("", *(head[-1] for head in heads)))
    labels = {group["id"]: group["label"] for group in table.get("groups", ())}
    for group, rows in groupby(table["rows"], key=lambda row: row.get("group")):
        shown += [_line(f"<i>{labels[group]}</i>", *[""] * len(heads))] if group else []
        shown += [_line(row["label"], *row["cells"]) for row in rows]
    return shown


def _line(*cells: str) -> str:
    return "\t".join(re.sub(r"^\*\*(.*)\*\*$", r"<b>\1</b>", cell) for cell in cells)


def texts() -> dict[str, str]:
    folder = Path(os.environ.get("REPRO_TEST_PAPERS", ROOT.parent / "shared" / "papers"))
    found = {name: (folder / name).read_text("utf-8") for name in TEXTS if (folder / name).exists()}
    if not found:
        pytest.skip(f"none of {', '.join(TEXTS)} is in {folder}; REPRO_TEST_PAPERS may name another folder")
    return found


def test_each_table_has_the_numeric_cells_of_print():
    assert {name: len(printed(table)) for name, table in tables().items()} == NUMERIC_CELLS
    assert sum(NUMERIC_CELLS.values()) == 157


def test_every_row_has_as_many_cells_as_there_are_columns():
    for table in tables().values():
        for row in table["rows"]:
            assert len(row["cells"]) == len(table["columns"]), (table["id"], row["id"])


def test_every_cell_is_a_dash_or_a_number_of_three_decimals_with_known_marks():
    for table in tables().values():
        for row in table["rows"]:
            for text in row["cells"]:
                match = CELL.fullmatch(text)
                assert match, (table["id"], row["id"], text)
                assert set(match["marks"] or "") <= set(table.get("marks", {}))


def test_row_ids_are_distinct_and_begin_with_their_group():
    for table in tables().values():
        ids = [row["id"] for row in table["rows"]]
        assert len(ids) == len(set(ids))
        assert all(row["id"].startswith(row["group"] + ".") for row in table["rows"] if "group" in row)


def test_bold_is_the_best_of_its_scope_except_where_a_reading_says_the_print_is_wrong():
    wrong = set()
    for table in tables().values():
        if table["bold"] == "unknown":
            assert not any("**" in text for row in table["rows"] for text in row["cells"])
            continue
        blocks = groupby(table["rows"], key=lambda row: row.get("group"))
        for group, rows in ((group, list(rows)) for group, rows in blocks):
            for at, column in enumerate(table["columns"]):
                shown = {row["id"]: row["cells"][at] for row in rows if number(row["cells"][at])}
                bold = {row for row, text in shown.items() if text.startswith("**")}
                highest = max(map(number, shown.values()), default=None)
                best = {row for row, text in shown.items() if number(text) == highest}
                if (table["id"], group) in NO_BOLD:
                    assert not bold
                elif bold != best:
                    wrong |= {(table["id"], row, column["id"]) for row in bold}
    assert wrong == set(WRONG_BOLD)


def test_wrong_bold_is_a_misprint_among_the_readings():
    for (table, row, column), name in WRONG_BOLD.items():
        assert readings()[name]["kind"] == "misprint"
        assert f"costa/{table}/{row}/{column}" in readings()[name]["cells"]


def test_a_mark_of_significance_stands_only_where_the_number_is_higher():
    for table in tables().values():
        for row in table["rows"]:
            group = {
                other["id"].rpartition(".")[2]: other
                for other in table["rows"]
                if other.get("group") == row.get("group")
            }
            for at, text in enumerate(row["cells"]):
                match = CELL.fullmatch(text)
                for beaten in (b for mark in match["marks"] or "" for b in table["marks"][mark]["over"]):
                    assert match["number"] > number(group[beaten]["cells"][at]), (row["id"], at, beaten)


def test_numbers_that_print_repeats_are_equal():
    row = {(t["id"], r["id"]): list(map(number, r["cells"])) for t in tables().values() for r in t["rows"]}
    base = row["4", "base"]
    assert row["3", "costa"] == row["1", "hardneg.costa"][:2]
    assert row["5", "spans-3"] == base
    assert row["6", "nonlinear"][:2] == row["6", "none"][2:] == base
    assert row["7", "tau-0_1"] == base[:1]  # hence the ablations' temperature is 0.1, not 1


def test_readings_name_their_default_and_cells_that_exist():
    ids = [
        f"costa/{t['id']}/{r['id']}/{c['id']}"
        for t in tables().values()
        for r in t["rows"]
        for c in t["columns"]
    ]
    ids += [f"costa/figure-{figure['id']}" for figure in manifest()["figures"]]
    for name, reading in readings().items():
        assert reading["default"] in reading["choices"], name
        for prefix in reading.get("cells", ()):
            assert any(f"{i}/".startswith(f"{prefix}/") for i in ids), (name, prefix)


def test_every_printed_number_stands_in_the_papers_text_as_often_as_in_the_manifest():
    for name, text in texts().items():
        there = Counter(NUMBER.findall(text))
        here = Counter(n for table in tables().values() for n in printed(table))
        assert not here - there, name


def test_both_texts_of_the_paper_print_the_tables_in_this_order():
    for name, text in texts().items():
        flat = " ".join(NUMBER.findall(text))
        for table in tables().values():
            rows = [[number(cell) for cell in row["cells"] if number(cell)] for row in table["rows"]]
            lines = list(zip(*rows, strict=True)) if table.get("transposed") else rows
            assert " ".join(n for line in lines for n in line) in flat, (name, table["id"])


def test_the_first_text_prints_each_table_with_these_labels_marks_bold_numbers_and_dashes():
    if TEXTS[0] not in texts():
        pytest.skip(f"{TEXTS[0]} is not there")
    for table in tables().values():
        assert "\n".join(lines(table)) in texts()[TEXTS[0]], table["id"]


def test_a_column_is_measured_on_the_data_and_by_the_measure_of_its_head():
    panels = {figure["id"]: figure.get("panels", []) for figure in manifest()["figures"]}
    columns = [column for table in tables().values() for column in table["columns"]]
    columns += [panel for of_figure in panels.values() for panel in of_figure]
    assert len(columns) > 20
    for column in columns:
        head = column["head"]
        assert column["dataset"] == DATASETS.get(head[0], DATASETS["MARCO Dev Passage"]), head
        plain = head[-1].replace("MRR", "RR").replace("NDCG", "nDCG")
        assert column["measure"] == GRADED.get(", ".join(head), plain), head
