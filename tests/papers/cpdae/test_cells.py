"""CPDAE's manifest against its own arithmetic, against COSTA's and, where it lies near, the paper's text.

Read with plain PyYAML: a mistake of the loader must not hide one of the manifest.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "papers" / "cpdae"
NUMERIC_CELLS = {"1": 66, "2": 16, "3": 18}
NUMBER = re.compile(r"0\.\d{3}")
CELL = re.compile(r"(?P<bold>\*\*)?(?P<number>0\.\d{3})(?P<marks>\*?†?‡?)(?(bold)\*\*)|-")
# Rows of Table 1 and the rows of COSTA's Tables 1 (passages) and 2 (documents) that have the same digits.
SHARED = {
    "bm25": ("sparse.bm25", "sparse.bm25"),
    "best-trec-trad": ("sparse.best-trec-trad", "sparse.best-trec-trad"),
    "bert": ("hardneg.bert", "second.bert"),
    "ict": ("hardneg.ict", "second.ict"),
    "prop": ("hardneg.prop", "second.prop"),
    "seed": ("hardneg.seed", "second.seed"),
}


def load(folder: Path, name: str):
    return yaml.safe_load((folder / name).read_text(encoding="utf-8"))


def results(folder: Path = FOLDER) -> dict[str, dict]:
    listed = load(folder, "cells.yaml")["tables"]
    return {table["id"]: table for table in listed if table.get("kind", "results") == "results"}


def readings(folder: Path = FOLDER) -> dict[str, dict]:
    return {reading["id"]: reading for reading in load(folder, "readings.yaml")}


def row(table: dict, name: str) -> list[str]:
    return next(r["cells"] for r in table["rows"] if r["id"] == name)


def number(text: str) -> str | None:
    found = NUMBER.search(text)
    return found.group() if found else None


def printed(table: dict) -> list[str]:
    """The numbers of a table's cells, row by row."""
    return [number(text) for r in table["rows"] for text in r["cells"] if number(text)]


def paper_text() -> str:
    path = Path(os.environ.get("REPRO_TEST_PAPERS", ROOT.parent / "shared" / "papers")) / "cpdae.txt"
    if not path.exists():
        pytest.skip(f"{path} is not there; REPRO_TEST_PAPERS may name another folder")
    return path.read_text(encoding="utf-8")


def test_each_table_has_the_numeric_cells_of_print():
    assert {name: len(printed(table)) for name, table in results().items()} == NUMERIC_CELLS
    assert sum(NUMERIC_CELLS.values()) == 100


def test_every_row_has_as_many_cells_as_there_are_columns():
    for table in results().values():
        for r in table["rows"]:
            assert len(r["cells"]) == len(table["columns"]), (table["id"], r["id"])


def test_every_cell_is_a_dash_or_a_number_of_three_decimals_with_known_marks():
    for table in results().values():
        for r in table["rows"]:
            for text in r["cells"]:
                match = CELL.fullmatch(text)
                assert match, (table["id"], r["id"], text)
                assert set(match["marks"] or "") <= set(table.get("marks", {}))


def test_bold_is_the_best_of_its_column():
    for table in results().values():
        for at, column in enumerate(table["columns"]):
            shown = {r["id"]: r["cells"][at] for r in table["rows"] if number(r["cells"][at])}
            best = max(map(number, shown.values()))
            bold = {name for name, text in shown.items() if text.startswith("**")}
            assert bold == {name for name, text in shown.items() if number(text) == best}, column["id"]


def test_a_mark_of_significance_stands_only_where_the_number_is_higher():
    table = results()["1"]
    for r in table["rows"]:
        for at, text in enumerate(r["cells"]):
            match = CELL.fullmatch(text)
            for beaten in (b for mark in match["marks"] or "" for b in table["marks"][mark]["over"]):
                assert match["number"] > number(row(table, beaten)[at]), (r["id"], at, beaten)


def test_rows_shared_with_costa_are_equal_digit_for_digit_and_mark_for_mark():
    costa = results(ROOT / "papers" / "costa")
    for name, (passages, documents) in SHARED.items():
        theirs = row(costa["1"], passages) + row(costa["2"], documents)
        ours = [text.strip("*") if name == "bm25" else text for text in row(results()["1"], name)]
        assert ours == theirs, name  # BM25's last cell is in bold here and not there


def test_table_2_repeats_two_rows_of_table_1():
    for name in ("seed", "cpdae"):
        whole = list(map(number, row(results()["1"], name)))
        assert list(map(number, row(results()["2"], name))) == whole[0:2] + whole[4:6]


def test_more_training_queries_never_score_lower():
    for r in results()["3"]["rows"]:
        numbers = list(map(number, r["cells"]))
        assert numbers[:3] == sorted(numbers[:3]) and numbers[3:] == sorted(numbers[3:]), r["id"]


def test_few_queries_are_as_many_as_the_head_says_and_measured_by_the_recall_of_the_caption():
    recall = {"MARCO Dev Passage": "R@1000", "MARCO Dev Doc": "R@100"}
    for column in results()["3"]["columns"]:
        dataset, thousands = column["head"]
        assert column["measure"] == recall[dataset]
        assert column["with"]["queries"] == 1000 * float(thousands.removesuffix("k"))


def test_readings_name_their_default_and_cells_that_exist():
    ids = [
        f"cpdae/{t['id']}/{r['id']}/{c['id']}"
        for t in results().values()
        for r in t["rows"]
        for c in t["columns"]
    ] + ["cpdae/4"]
    for name, reading in readings().items():
        assert reading["default"] in reading["choices"], name
        for prefix in reading.get("cells", ()):
            assert any(f"{i}/".startswith(f"{prefix}/") for i in ids), (name, prefix)


def test_readings_that_both_papers_have_offer_the_same_choices():
    costa = readings(ROOT / "papers" / "costa")
    for name, reading in readings().items():
        if name in costa:
            assert reading["choices"] == costa[name]["choices"], name
            assert reading["default"] == costa[name]["default"], name


def test_every_printed_number_stands_in_the_papers_text_as_often_as_in_the_manifest():
    there = Counter(NUMBER.findall(paper_text()))
    here = Counter(n for table in results().values() for n in printed(table))
    assert not here - there


def test_the_papers_text_prints_the_tables_in_this_order():
    flat = " ".join(NUMBER.findall(paper_text()))
    for table in results().values():
        assert " ".join(printed(table)) in flat, table["id"]


def shape(text: str) -> tuple[str | None, bool, str]:
    """A cell of the manifest or the text: its number, whether it is in bold, and its marks."""
    return number(text), text.startswith(("**", "<b>")), re.sub("[^*†‡]", "", re.sub(r"\*\*|<.*?>", "", text))


def test_labels_heads_bold_and_marks_are_those_of_the_papers_text():
    lines = re.findall(r"<tr>(.*?)</tr>", paper_text(), re.S)
    fields = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.S) for line in lines]
    there = [(label.replace("<sub>R</sub>", "_R"), list(map(shape, cells))) for label, *cells in fields]
    for table in results().values():
        own = [(r["label"], list(map(shape, r["cells"]))) for r in table["rows"]]
        first = there.index(own[0])
        assert there[first : first + len(own)] == own, table["id"]
        datasets, measures = zip(*(column["head"] for column in table["columns"]), strict=True)
        assert fields[first - 2][1:] == list(dict.fromkeys(datasets)), table["id"]
        assert fields[first - 1] == list(measures), table["id"]


def test_the_example_keeps_no_sentence_of_the_paper():
    example = next(t for t in load(FOLDER, "cells.yaml")["tables"] if t["id"] == "4")
    kept = " ".join(entry["note"] for entry in example["entries"]).split()
    lines = {" ".join(kept[at : at + 6]) for at in range(len(kept) - 5)}
    text = " ".join(paper_text().split())
    assert not any(line in text for line in lines)
