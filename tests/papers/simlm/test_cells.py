"""SimLM's manifest against itself and, where it lies near, the paper's text.

Read with plain PyYAML: a mistake of the loader must not hide one of the manifest. Figures that CoT-MAE v2
quotes from here are compared in that paper's test.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "papers" / "simlm"
TEXT = "simlm.txt"
NUMERIC_CELLS = {"1": 6, "2": 59, "3": 2, "4": 18, "5": 3, "6": 14, "7": 7, "8": 6, "10": 12, "12": 6}
NUMBER = re.compile(r"(?P<number>\d{1,2}\.\d)[*†]?")
SIZE = re.compile(r">?\d+GB")
DECIMAL = re.compile(r"\d+\.\d+")
TICKED_DISTILLED = {"tas-b", "rocketqa", "pair", "rocketqa-v2", "ar2", "colbert-v2", "simlm"}
SEVERAL_VECTORS = {"coil", "colbert", "colbert-v2"}
DATASETS = {
    "TREC DL 19": "msmarco-passage/trec-dl-2019/judged",
    "TREC DL 20": "msmarco-passage/trec-dl-2020/judged",
    "NQ": "dpr-w100/natural-questions/test",
}
MEASURES = {"R@1k": "R@1000", "NQ, R@20": "Success@20", "NQ, R@100": "Success@100"}  # reading nq-recall
CITATION = re.compile(r" \([^()]*(, \d{4}[ab]?| and \w+)\)")


@cache
def tables() -> dict[str, dict]:
    manifest = yaml.safe_load((FOLDER / "cells.yaml").read_text(encoding="utf-8"))
    return {table["id"]: table for table in manifest["tables"]}


@cache
def results() -> dict[str, dict]:
    return {name: table for name, table in tables().items() if table["kind"] == "results"}


@cache
def readings() -> dict[str, dict]:
    listed = yaml.safe_load((FOLDER / "readings.yaml").read_text(encoding="utf-8"))
    return {reading["id"]: reading for reading in listed}


def numbers(name: str, row: str) -> list[str | None]:
    """A row's numbers without marks; None for a dash."""
    cells = next(r["cells"] for r in tables()[name]["rows"] if r["id"] == row)
    matches = [NUMBER.fullmatch(cell) for cell in cells]
    return [match["number"] if match else None for match in matches]


def text() -> str:
    folder = Path(os.environ.get("REPRO_TEST_PAPERS", ROOT.parent / "shared" / "papers"))
    if not (folder / TEXT).exists():
        pytest.skip(f"{TEXT} is not in {folder}; REPRO_TEST_PAPERS may name another folder")
    return (folder / TEXT).read_text(encoding="utf-8")


def lines(table: dict) -> list[str]:
    """A table's rows as the text prints them, without citations and subscripts: tabs between cells."""
    if table.get("transposed"):
        labels, cells = zip(*((row["label"], *row["cells"]) for row in table["rows"]), strict=True)
        return ["\t".join(["", *labels]), "\t".join([table["columns"][0]["head"][-1], *cells])]
    rows = []
    for row in table["rows"]:
        known = row.get("attributes", {}) if table["id"] == "2" else {}
        ticks = ["✓" if known[name] else "" for name in ("distilled", "single_vector") if name in known]
        label = row["label"].split(" / ")[-1]  # Table 8: the decoder's rate; the encoder's is lost there
        rows.append("\t".join([label, *ticks, *row["cells"]]))
    return rows


def plain(text: str) -> str:
    """The paper's text as a manifest writes it: no citations, marks and powers as characters."""
    text = re.sub(r"10\^\{-(\d)\}", lambda m: "10⁻" + "⁰¹²³⁴⁵⁶⁷⁸⁹"[int(m[1])], text.replace("√", "✓"))
    text = re.sub(r" ?_\{(\w+)\}", r"_\1", text.replace("^{\\dagger}", "†").replace("$", ""))
    text = re.sub(r"\t+$", "", re.sub(r" ([₁₂])", r"\1", text), flags=re.MULTILINE)
    return CITATION.sub("", text).replace("×", " × ")


def decimals(table: dict) -> list[str]:
    return [number for row in table["rows"] for cell in row["cells"] for number in DECIMAL.findall(cell)]


def test_each_table_has_the_numeric_cells_of_print():
    cells = {name: [cell for row in t["rows"] for cell in row["cells"]] for name, t in results().items()}
    counted = {
        name: sum(bool(NUMBER.fullmatch(c) or SIZE.fullmatch(c)) for c in cs) for name, cs in cells.items()
    }
    assert counted == NUMERIC_CELLS
    assert sum(counted.values()) == 133


def test_every_row_has_as_many_cells_as_there_are_columns():
    for name, table in tables().items():
        for row in table.get("rows", []):
            assert len(row["cells"]) == len(table["columns"]), (name, row["id"])


def test_every_cell_is_a_dash_a_number_a_size_or_in_a_column_of_words():
    for name, table in results().items():
        for row in table["rows"]:
            for column, cell in zip(table["columns"], row["cells"], strict=True):
                known = cell == "-" or NUMBER.fullmatch(cell) or SIZE.fullmatch(cell)
                assert known or column.get("kind") == "text", (name, row["id"], cell)
                assert set(cell) & set("*†") <= set(table.get("marks", {})), (name, row["id"], cell)


def test_marks_say_where_a_figure_comes_from():
    marked = [
        (r["id"].rpartition(".")[2], "".join(set("".join(r["cells"])) & set("*†")))
        for r in tables()["2"]["rows"]
    ]
    assert {row: mark for row, mark in marked if mark} == {"bm25": "*", "ance": "†", "cocondenser": "*"}


def test_ticks_of_the_main_table_are_attributes_of_its_rows():
    rows = {row["id"].rpartition(".")[2]: row["attributes"] for row in tables()["2"]["rows"]}
    assert {row for row, a in rows.items() if a["distilled"]} == TICKED_DISTILLED
    assert {row for row, a in rows.items() if not a["single_vector"]} == SEVERAL_VECTORS


def test_numbers_that_print_repeats_are_equal():
    first, distilled = numbers("6", "simlm.bm25-negatives"), numbers("6", "simlm.distillation")
    assert numbers("2", "dense.simlm")[0::2][:2] == distilled
    assert numbers("2", "dense.cocondenser")[0::2][:2] == numbers("6", "cocondenser.mined-negatives")
    assert numbers("7", "simlm") == numbers("8", "decoder-50") == first[:1]
    assert numbers("10", "msmarco")[:2] == numbers("12", "frozen") == first
    assert numbers("1", "bert")[:1] == numbers("7", "bert") == numbers("10", "none")[:1]
    assert numbers("5", "electra") == numbers("6", "reranker")[:1]


def test_the_rerankers_recall_is_that_of_the_retriever_it_reranks():
    assert numbers("6", "reranker")[1] == numbers("6", "simlm.mined-negatives")[1]
    assert readings()["reranker-tail"]["default"] == "keep-below"


def test_the_index_size_is_that_of_all_passages_in_32_bit_numbers():
    value = readings()["index-size-unit"]["choices"]["decimal-fp32"]
    size = 8_841_823 * 768 * value["bytes_per_number"] / value["bytes_per_gb"]
    assert tables()["3"]["rows"][1]["cells"][0] == f"{size:.0f}GB"


def test_the_rates_of_table_8_are_those_of_its_labels_and_keep_what_the_text_says():
    rows = tables()["8"]["rows"]
    assert [row["label"] for row in rows] == [
        "15% / 15%",
        "15% / 30%",
        "30% / 30%",
        "30% / 50%",
        "40% / 60%",
        "30% / 100%",
    ]
    for row in rows:
        rates = row["with"]
        assert row["attributes"] == rates and rates["encoder_rate"] <= rates["decoder_rate"], row["id"]
        assert row["label"] == "{encoder_rate:.0%} / {decoder_rate:.0%}".format(**rates)


def test_the_stated_differences_are_those_of_the_tables():
    assert Decimal(numbers("5", "simlm")[0]) - Decimal(numbers("5", "bert")[0]) == Decimal("0.6")
    below_bert = [r["id"] for r in tables()["7"]["rows"] if r["cells"][0] < numbers("7", "bert")[0]]
    assert below_bert == ["autoencoder"]


def test_table_11_repeats_the_rates_of_table_8s_default_row():
    rows = {row["id"]: row["cells"] for row in tables()["11"]["rows"]}
    assert set(rows["encoder-replace-rate"]) == {"30%"}
    assert set(rows["decoder-replace-rate"]) == {"50%"}


def test_readings_name_their_default():
    for name, reading in readings().items():
        assert reading["default"] in reading["choices"], name


@pytest.mark.parametrize(
    "name", ["half-precision", "msmarco-training-files", "noisy-positives", "pretraining-held-out"]
)
def test_a_reading_of_how_a_model_is_trained_names_all_rows_of_that_model_or_none(name):
    models = yaml.safe_load((FOLDER / "audit.yaml").read_text(encoding="utf-8"))["configurations"]
    places = set(readings()[name]["cells"])
    for model in ("simlm-bm25-negatives", "bert-bm25-negatives", "simlm-distilled", "reranker"):
        cells = [f"{row}/dev.rr10" for row in models[model]]
        named = {bool({c, c.rpartition("/")[0], c.rsplit("/", 2)[0]} & places) for c in cells}
        assert len(cells) > 1 and len(named) == 1, (name, model)


def test_every_printed_number_stands_in_the_papers_text_as_often_as_in_the_manifest():
    here = Counter(number for table in results().values() for number in decimals(table))
    assert not here - Counter(DECIMAL.findall(text()))
    for row in tables()["3"]["rows"]:
        assert "\t".join([row["label"], *row["cells"]]) in text()


def test_the_papers_text_prints_each_table_in_this_order():
    flat = " ".join(DECIMAL.findall(text()))
    for name, table in results().items():
        assert " ".join(decimals(table)) in flat, name


def test_the_papers_text_prints_the_hyper_parameters_in_this_order():
    flat = text().replace(r"^{\dagger}", "")
    for name in ("11", "13"):
        for row in tables()[name]["rows"]:
            plain = [c.removesuffix("†") for c in row["cells"]]
            whole = [c for c in plain if re.fullmatch(r"\d+(\.\d+)?[kM%]?", c)]
            if len(whole) == len(plain):
                assert re.search(r"\t\s*".join(re.escape(c) for c in whole), flat), (name, row["id"])


def test_the_papers_text_prints_each_row_with_this_label_these_ticks_marks_and_dashes():
    printed = "\n" + plain(text())
    tau = ("\nau\t0.02", "\nτ\t0.02")  # the text has half of the letter
    for name, table in tables().items():
        if "rows" in table:
            for line in lines(table):
                assert f"\n{line}\n" in printed.replace(*tau), (name, line)


def test_a_column_is_measured_on_the_data_and_by_the_measure_of_its_head():
    columns = [column for table in results().values() for column in table["columns"] if "dataset" in column]
    assert len(columns) > 15
    for column in columns:
        head = column["head"]
        assert column["dataset"] == DATASETS.get(head[0], "msmarco-passage/dev/small"), head
        if "@" in head[-1]:
            wanted = MEASURES.get(", ".join(head), MEASURES.get(head[-1], head[-1].replace("MRR", "RR")))
            assert column["measure"] == wanted, head
