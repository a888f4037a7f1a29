"""The transcribed tables against each other and, where at hand, the papers' texts, without the loader."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cache
from itertools import groupby

import pytest
import yaml

from tests.papers.published_digests import ROOT
from tests.papers.texts import texts_of

NUMBER = re.compile(r"\d*\.\d+")
ALL = slice(None)
REPEATED = {  # a row and its columns, another row and its columns, which print the same numbers
    "costa": [
        ("3/costa", ALL, "1/hardneg.costa", slice(2)),
        ("5/spans-3", ALL, "4/base", ALL),
        ("6/nonlinear", slice(2), "4/base", ALL),
        ("6/none", slice(2, None), "4/base", ALL),
        ("7/tau-0_1", ALL, "4/base", slice(1)),  # hence the ablations' temperature is 0.1, not 1
    ],
    "cpdae": [("2/seed", ALL, "1/seed", [0, 1, 4, 5]), ("2/cpdae", ALL, "1/cpdae", [0, 1, 4, 5])],
    "cotmae_v2": [("5/dim-768", ALL, "4/cotmae_v2", ALL), ("4/cotmae_v2", ALL, "1/cotmae_v2", slice(3))],
    "simlm": [
        ("2/dense.simlm", [0, 2], "6/simlm.distillation", ALL),
        ("2/dense.cocondenser", [0, 2], "6/cocondenser.mined-negatives", ALL),
        ("7/simlm", ALL, "6/simlm.bm25-negatives", slice(1)),
        ("8/decoder-50", ALL, "6/simlm.bm25-negatives", slice(1)),
        ("10/msmarco", slice(2), "6/simlm.bm25-negatives", ALL),
        ("12/frozen", ALL, "6/simlm.bm25-negatives", ALL),
        ("1/bert", slice(1), "7/bert", ALL),
        ("10/none", slice(1), "7/bert", ALL),
        ("5/electra", ALL, "6/reranker", slice(1)),
        ("6/reranker", [1], "6/simlm.mined-negatives", [1]),
    ],
}
# Rows of CPDAE's Table 1, and those of COSTA's Tables 1 (passages) and 2 (documents) with the same digits.
OF_COSTA = {
    "bm25": ("sparse.bm25", "sparse.bm25"),
    "best-trec-trad": ("sparse.best-trec-trad", "sparse.best-trec-trad"),
    "bert": ("hardneg.bert", "second.bert"),
    "ict": ("hardneg.ict", "second.ict"),
    "prop": ("hardneg.prop", "second.prop"),
    "seed": ("hardneg.seed", "second.seed"),
}
# Cells that CoT-MAE v2 and SimLM print otherwise, by the reading which says so in either paper's list.
CONFLICTS = {
    ("bm25", "dev.rr10"): ("bm25-across-papers", "bm25-across-papers"),
    ("bm25", "dev.r50"): ("bm25-across-papers", "bm25-across-papers"),
    ("retromae", "dev.rr10"): ("retromae-version", "retromae-version"),
    ("retromae", "dev.r1000"): ("retromae-version", "retromae-version"),
    ("simlm", "dl19.ndcg10"): ("simlm-dl19-misquoted", "dl19-quoted-elsewhere"),
}


@cache
def tables(paper: str) -> dict[str, dict]:
    listed = yaml.safe_load((ROOT / "papers" / paper / "cells.yaml").read_text(encoding="utf-8"))["tables"]
    return {
        table["id"]: table | {"rows": [r for r in table.get("rows", ()) if r.get("role") != "reference"]}
        for table in listed
    }


def results(paper: str) -> dict[str, dict]:
    return {name: table for name, table in tables(paper).items() if table.get("kind", "results") == "results"}


@cache
def readings(paper: str) -> dict[str, dict]:
    listed = yaml.safe_load((ROOT / "papers" / paper / "readings.yaml").read_text(encoding="utf-8"))
    return {reading["id"]: reading for reading in listed}


def cells(paper: str, row: str) -> list[str]:
    table, _, name = row.partition("/")
    return next(r["cells"] for r in tables(paper)[table]["rows"] if r["id"] == name)


def by_column(paper: str, row: str) -> dict[str, str]:
    """Return the numbers of a row by column id, without dashes, marks and differences."""
    columns = tables(paper)[row.partition("/")[0]]["columns"]
    found = {c["id"]: NUMBER.search(text) for c, text in zip(columns, cells(paper, row), strict=True)}
    return {column: match.group() for column, match in found.items() if match}


@pytest.mark.parametrize("paper", REPEATED)
def test_numbers_that_print_repeats_are_equal(paper):
    for one, some, other, others in REPEATED[paper]:
        texts, again = (
            [cells(paper, row)[place] for place in at] if isinstance(at, list) else cells(paper, row)[at]
            for row, at in ((one, some), (other, others))
        )
        numbers, repeated = ([NUMBER.search(text).group() for text in found] for found in (texts, again))
        assert numbers == repeated, (one, other)


def test_rows_shared_with_costa_are_equal_digit_for_digit_and_mark_for_mark():
    for name, (passages, documents) in OF_COSTA.items():
        theirs = cells("costa", f"1/{passages}") + cells("costa", f"2/{documents}")
        ours = [text.strip("*") if name == "bm25" else text for text in cells("cpdae", f"1/{name}")]
        assert ours == theirs, name  # BM25's last cell is in bold here and not there


def test_figures_shared_with_simlm_are_equal_except_for_the_conflicts_that_readings_of_both_papers_name():
    own = {
        row["id"].rpartition(".")[2]: by_column("simlm", f"2/{row['id']}")
        for row in tables("simlm")["2"]["rows"]
    }
    different, compared = set(), 0
    for table in ("1", "2"):
        for row in (row["id"] for row in tables("cotmae_v2")[table]["rows"]):
            undistilled = (table, row) == ("1", "simlm")
            other = by_column("simlm", "6/simlm.mined-negatives") if undistilled else own.get(row, {})
            for column, number in by_column("cotmae_v2", f"{table}/{row}").items():
                if column in other:
                    compared += 1
                    different |= {(row, column)} if other[column] != number else set()
    assert different == set(CONFLICTS) and compared == 36
    for here, there in CONFLICTS.values():
        assert readings("cotmae_v2")[here]["kind"] == readings("simlm")[there]["kind"] == "conflict"


def test_what_readings_count_in_the_tables_is_so():
    decimals = {
        table: {
            r["id"]: by_column("cotmae_v2", f"{table}/{r['id']}") for r in tables("cotmae_v2")[table]["rows"]
        }
        for table in ("2", "3")
    }
    best = {name: rows.pop("cotmae_v2") for name, rows in decimals.items()}
    others = {
        (name, column): max(Decimal(row.get(column, 0)) for row in decimals[name].values())
        for name in decimals
        for column in best[name]
    }
    leads = [Decimal(best["3"][c]) - others["3", c] for c in best["3"] if c != "average"]
    choices = readings("cotmae_v2")["eleven-of-fourteen"]["choices"]
    assert sum(lead > 0 for lead in leads) == choices["strictly-best"] == 10
    assert sum(lead >= 0 for lead in leads) == choices["ties-count"] == 11
    leading = [c for c, number in best["2"].items() if Decimal(number) > others["2", c]]
    assert leading == readings("cotmae_v2")["best-overall"]["choices"]["best-columns"]


def test_more_training_queries_never_score_lower_and_are_as_many_as_the_head_says():
    table = tables("cpdae")["3"]
    for row in table["rows"]:
        numbers = [NUMBER.search(text).group() for text in row["cells"]]
        assert numbers[:3] == sorted(numbers[:3]) and numbers[3:] == sorted(numbers[3:]), row["id"]
    recall = {"MARCO Dev Passage": "R@1000", "MARCO Dev Doc": "R@100"}
    for column in table["columns"]:
        dataset, thousands = column["head"]
        assert column["measure"] == recall[dataset]
        assert column["with"]["queries"] == 1000 * float(thousands.removesuffix("k"))


def test_readings_that_costa_and_cpdae_have_offer_the_same_choices():
    for name in readings("costa").keys() & readings("cpdae").keys():
        one, other = readings("costa")[name], readings("cpdae")[name]
        assert (one["choices"], one["default"]) == (other["choices"], other["default"]), name


def test_the_index_size_of_simlm_is_that_of_all_passages_in_32_bit_numbers():
    value = readings("simlm")["index-size-unit"]["choices"]["decimal-fp32"]
    size = 8_841_823 * 768 * value["bytes_per_number"] / value["bytes_per_gb"]
    assert tables("simlm")["3"]["rows"][1]["cells"][0] == f"{size:.0f}GB"


def test_the_rates_of_simlms_table_8_are_those_of_its_labels():
    for row in tables("simlm")["8"]["rows"]:
        rates = row["with"]
        assert row["attributes"] == rates and rates["encoder_rate"] <= rates["decoder_rate"], row["id"]
        assert row["label"] == "{encoder_rate:.0%} / {decoder_rate:.0%}".format(**rates)


@pytest.mark.parametrize(
    "name", ["half-precision", "msmarco-training-files", "noisy-positives", "pretraining-held-out"]
)
def test_a_reading_of_how_a_model_is_trained_names_all_rows_of_that_model_or_none(name):
    notes = yaml.safe_load((ROOT / "papers/simlm/audit.yaml").read_text(encoding="utf-8"))
    places = set(readings("simlm")[name]["cells"])
    for model in ("simlm-bm25-negatives", "bert-bm25-negatives", "simlm-distilled", "reranker"):
        rated = [f"{row}/dev.rr10" for row in notes["configurations"][model]]
        named = {bool({c, c.rpartition("/")[0], c.rsplit("/", 2)[0]} & places) for c in rated}
        assert len(rated) > 1 and len(named) == 1, (name, model)


def in_tags(text: str) -> str:
    return re.sub(r"^\*\*(.*)\*\*$", r"<b>\1</b>", text)


def lines_of_costa(table: dict) -> str:
    """Return a table as the first text has it, from its heads on: tabs between cells, tags around bold."""
    heads = [c["head"] for c in table["columns"]]
    if table.get("transposed"):
        columns = zip(*(row["cells"] for row in table["rows"]), strict=True)
        shown = [["", *(row["label"] for row in table["rows"])]]
        shown += [[head[-1], *column] for head, column in zip(heads, columns, strict=True)]
    else:
        above = [head[0] for head in heads if len(head) > 1]
        once = ["" if place and above[place - 1] == name else name for place, name in enumerate(above)]
        shown = [["", *once]] if above else []
        shown.append(["", *(head[-1] for head in heads)])
        labels = {group["id"]: group["label"] for group in table.get("groups", ())}
        for group, rows in groupby(table["rows"], key=lambda row: row.get("group")):
            shown += [[f"<i>{labels[group]}</i>", *[""] * len(heads)]] if group else []
            shown += [[row["label"], *row["cells"]] for row in rows]
    return "\n".join("\t".join(map(in_tags, line)) for line in shown)


def test_costas_text_has_these_labels_heads_marks_bold_numbers_and_dashes():
    text = texts_of("costa")["costa"]
    for table in tables("costa").values():
        assert lines_of_costa(table) in text, table["id"]


def shape(text: str) -> tuple[list[str], bool, str]:
    marks = re.sub("[^*†‡]", "", re.sub(r"\*\*|<.*?>", "", text))
    return NUMBER.findall(text), text.startswith(("**", "<b>")), marks


def test_cpdaes_text_has_these_labels_heads_marks_and_bold_numbers():
    lines = re.findall(r"<tr>(.*?)</tr>", texts_of("cpdae")["cpdae"], re.S)
    fields = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.S) for line in lines]
    there = [(label.replace("<sub>R</sub>", "_R"), list(map(shape, rest))) for label, *rest in fields]
    for table in results("cpdae").values():
        own = [(r["label"], list(map(shape, r["cells"]))) for r in table["rows"]]
        first = there.index(own[0])
        assert there[first : first + len(own)] == own, table["id"]
        datasets, measures = zip(*(c["head"] for c in table["columns"]), strict=True)
        assert fields[first - 2][1:] == list(dict.fromkeys(datasets)), table["id"]
        assert fields[first - 1] == list(measures), table["id"]


def test_cotmaes_text_has_these_labels_and_marks_before_the_numbers_and_heads_above():
    cited = re.compile(r" \([^()]*\d{4}\w?\)$")
    there = [line.split("\t") for line in texts_of("cotmae_v2")["cotmae_v2"].splitlines()]
    there = [[cited.sub("", label), *rest] for label, *rest in there]
    for name, table in results("cotmae_v2").items():
        rows = [
            [" ".join(filter(None, (row["label"], row.get("marks")))), *row["cells"]] for row in table["rows"]
        ]
        heads = [c["head"][-1] for c in table["columns"]]
        if table.get("transposed"):
            rows, heads = [list(line) for line in zip(["Dataset", *heads], *rows, strict=True)], None
        groups = {group["id"]: group["label"] for group in table.get("groups", ())}
        titles = list(dict.fromkeys(groups[row["group"]] for row in table["rows"] if row.get("group")))
        first = there.index(rows[0])
        block = there[first : first + len(rows) + len(titles)]
        assert [line for line in block if line[0] not in titles] == rows, name
        assert [line[0] for line in block if line[0] in titles] == titles, name
        assert heads is None or there[first - 1][-len(heads) :] == heads, name


def lines_of_simlm(table: dict) -> list[str]:
    """Return a table's rows as the text has them, without citations and subscripts: tabs between cells."""
    if table.get("transposed"):
        labels, column = zip(*((row["label"], *row["cells"]) for row in table["rows"]), strict=True)
        return ["\t".join(["", *labels]), "\t".join([table["columns"][0]["head"][-1], *column])]
    rows = []
    for row in table["rows"]:
        known = row.get("attributes", {}) if table["id"] == "2" else {}
        ticks = ["✓" if known[name] else "" for name in ("distilled", "single_vector") if name in known]
        label = row["label"].split(" / ")[-1]  # Table 8: the decoder's rate; the encoder's is lost there
        rows.append("\t".join([label, *ticks, *row["cells"]]))
    return rows


def as_in_a_manifest(text: str) -> str:
    text = re.sub(r"10\^\{-(\d)\}", lambda m: "10⁻" + "⁰¹²³⁴⁵⁶⁷⁸⁹"[int(m[1])], text.replace("√", "✓"))
    text = re.sub(r" ?_\{(\w+)\}", r"_\1", text.replace("^{\\dagger}", "†").replace("$", ""))
    text = re.sub(r"\t+$", "", re.sub(r" ([₁₂])", r"\1", text), flags=re.MULTILINE)
    text = re.sub(r" \([^()]*(, \d{4}[ab]?| and \w+)\)", "", text).replace("×", " × ")
    return text.replace("\nau\t0.02", "\nτ\t0.02")  # the text has half of the letter


def test_simlms_text_has_these_labels_ticks_marks_and_dashes_and_hyper_parameters():
    text = f"\n{as_in_a_manifest(texts_of('simlm')['simlm'])}\n"
    for name, table in tables("simlm").items():
        for line in lines_of_simlm(table) if table["rows"] else ():
            assert f"\n{line}\n" in text, (name, line)


def test_the_example_of_cpdae_keeps_no_sentence_of_the_paper():
    listed = yaml.safe_load((ROOT / "papers/cpdae/cells.yaml").read_text(encoding="utf-8"))["tables"]
    example = next(table for table in listed if table["id"] == "4")
    kept = " ".join(entry["note"] for entry in example["entries"]).split()
    text = " ".join(texts_of("cpdae")["cpdae"].split())
    assert not any(" ".join(kept[at : at + 6]) in text for at in range(len(kept) - 5))
