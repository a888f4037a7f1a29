"""``repro plan``."""

import re
import shutil
from types import SimpleNamespace

from tests.cli.conftest import CELL, cells_of_line

LINE = f"{CELL} --scale tiny"
STAGES = ["corpus", "lucene_index", "queries", "bm25", "qrels", "evaluate"]


def test_nodes_come_inputs_first_with_state_and_fingerprint(repro):
    said = repro(f"plan {LINE} --format json")
    assert said.status == 0 and said.err == ""
    assert [n["stage"] for n in said.json] == STAGES
    for node in said.json:
        assert node["state"] == "missing" and node["needed"] and node["blocked"] == []
        assert len(node["fingerprint"]) == 64 and node["what"].endswith(f"({node['fingerprint'][:12]})")


def test_people_see_a_summary_and_a_line_a_node_where_they_ask_for_it(repro, folders):
    said = repro(f"plan {LINE} --nodes")
    lines = said.err.splitlines()
    assert lines[:2] == [
        "1 published cell: 1 measurements at scale tiny",
        "6 stages (6 without sharing), 6 to run",
    ]
    heads = ["to download: nothing", "disk: about ", "work: about ", "obstacles: none"]
    assert all(line.startswith(head) for line, head in zip(lines[2:6], heads, strict=True))
    assert lines[6] == "so far: 0 of 1 published cell measured at tiny"
    assert lines[7:] == [f"0 of 6 stages are stored in {folders}/store"]
    head, _, *nodes = filter(str.strip, said.out.splitlines())
    assert head.split() == ["state", "stage", "blocked", "by"]
    assert [line.split()[:2] for line in nodes] == [["missing", stage] for stage in STAGES]


def test_where_nothing_is_planned_the_reason_is_told_and_no_empty_table(repro):
    said = repro("plan head_to_head --table figure-steps --scale tiny")
    lines = said.err.splitlines()
    assert lines[0] == "57 cells of the suite's own study: 0 measurements at scale tiny"
    why = "measured only at scale curves or one like it"
    assert lines[2] == f"not measured: 57 cells. Reasons: {why} (57)"
    assert lines[3] == "obstacles: none" and said.out == ""


def test_cells_that_are_not_measured_at_the_scale_are_counted_beside_those_that_are(repro):
    rows = ("--row", "sparse.deepct", "--row", "sparse.bm25")
    said = repro("plan costa --table 1", *rows, "--scale", "tiny")
    why = "expanded passages and term weights exist at full scale only"
    assert f"\nnot measured: 3 cells. Reasons: {why} (3)\n" in said.err
    assert said.err.startswith("7 published cells: 4 measurements") and "\nevaluate  " in said.out


def test_what_is_stored_is_not_needed(repro, measured):
    assert {(node["state"], node["needed"]) for node in repro(f"plan {LINE} --format json").json} == {
        ("stored", False)
    }


def test_what_is_missing_blocks_with_its_remedy_and_status_4(repro):
    said = repro(f"plan {CELL} --format json")
    assert said.status == 4
    states = {n["stage"]: n for n in said.json}
    assert {n["state"] for n in said.json} == {"blocked"}
    [corpus] = states["corpus"]["blocked"]
    assert corpus["cause"].startswith("the documents of msmarco-passage are not ")
    assert "repro data fetch msmarco-passage" in corpus["remedy"]
    assert corpus in states["evaluate"]["blocked"]
    assert f"blocked: {corpus['cause']}; {corpus['remedy']}\n" in repro(f"plan {CELL} --nodes").err


def test_nodes_are_noted_whatever_is_lacking_where_nothing_is_to_run(repro, folders, monkeypatch):
    monkeypatch.setattr("repro.machine.system.gpu", lambda: None)
    line = "costa/1/hardneg.costa/dev.rr10"
    planned = repro("plan", line, "--format", "json")
    assert planned.status == 4
    said = repro("plan", line, "--remember")
    assert (said.status, said.out, said.err) == (0, "", "")
    noted = {path.stem for path in (folders / "store/nodes").glob("*.json")}
    assert noted == {n["fingerprint"] for n in planned.json}


def test_what_was_measured_is_counted_without_its_store(repro, measured):
    line = "plan costa --table 1 --scale tiny"
    counted = "so far: 1 of 58 published cells measured at tiny, and 0 of 8 cells of reference rows\n"
    stored = f"6 of 155 stages are stored in {measured}/store\n"
    assert counted + stored in repro(line).err
    other = measured / "another"
    stored = f"0 of 155 stages are stored in {other}\n"
    assert counted + stored in repro(line, "--store", other).err


def test_a_cell_beside_its_paper_narrows_the_selection(repro):
    assert repro(f"plan costa {LINE} --format json").json == repro(f"plan {LINE} --format json").json


def test_seeds_and_readings_change_fingerprints(repro):
    def last(*options):
        return repro(f"plan {LINE} --format json", *options).json[-1]["fingerprint"]

    assert last("--reading", "bm25-parameters=anserini-default") != last()
    assert last("--reading", "bm25-parameters=anserini-tuned") == last()
    assert last("--seeds", "1,2") == last()


def test_by_stage_is_a_line_a_stage_and_what_is_lacking_comes_first(repro):
    lines = repro(f"plan {LINE}").out.splitlines()
    start = lines.index("by stage, with the cost of stages to run")
    assert cells_of_line(lines[start + 2]) == ["stage", "missing", "FLOP", "core hours", "GB"]
    assert [line.split()[:2] for line in lines[start + 4 : start + 10]] == [[s, "1"] for s in STAGES]
    said = repro(f"plan {CELL}")
    assert said.status == 4 and ["stage", "blocked"] in [line.split()[:2] for line in said.out.splitlines()]
    assert "obstacles: 6 stages are blocked, lacking msmarco-passage (documents, dev/small)\n" in said.err
    assert repro(f"plan {LINE} --by row --format json").status == 2
    assert repro(f"plan {LINE} --by row --nodes").status == 2


def test_by_table_and_row_each_is_counted_by_itself(repro):
    how = ("plan", "costa", "--row", "bm25", "--table", "1", "--table", "2", "--scale", "tiny")
    lines = repro(*how, "--by", "table").out.splitlines()
    start = lines.index("by table, shared stages in each")
    head = ["table", "stages", "to run", "blocked", "FLOP", "core hours", "GB", "peak GB"]
    assert cells_of_line(lines[start + 2]) == head
    assert [line.split()[0] for line in lines[start + 4 : start + 6]] == ["costa/1", "costa/2"]
    rows = repro(*how, "--by", "row").out
    assert "\ncosta/1/sparse.bm25  " in rows and "\ncosta/2/sparse.bm25  " in rows


def test_the_peak_of_the_disk_is_told_with_what_would_go_and_whether_it_fits(repro, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=10**15))

    def told(*options):
        said = repro("plan costa --table 1 --row hardneg.bert", *options).err
        [line] = [line for line in said.splitlines() if line.startswith("disk: ")]
        peak = float(re.search(r"Peak[^:]*: ([0-9.,]+) GB", line)[1].replace(",", ""))
        return line, peak, said

    _, everything, _ = told("--max-disk", "900TB")
    line, peak, said = told("--discard", "vectors", "--max-disk", "100GB")
    assert "Peak with --discard vectors: " in line and peak < everything / 1.5
    assert "does not fit" not in said and peak < 100
    said = told("--max-disk", "1GB")[2]
    assert "does not fit: at most 1.0 GB can be used. " in said
    assert f" The peak is {peak:,.1f} GB with --discard vectors\n" in said


def test_cells_without_a_verdict_are_told_with_why_and_what_to_do(repro):
    how = ("plan", "costa", "--table", "1", "--row", "sparse.bm25")
    assert "not comparable" not in repro(*how).err
    said = repro(*how, "--reading", "bm25-parameters=anserini-default").err
    why = "because the unspecified choice bm25-parameters is anserini-default and not"
    assert f"not comparable: 4 published cells, {why}" in said
    assert "Remove --reading bm25-parameters to compare them" in said


def test_programs_read_what_a_node_takes(repro):
    for node in repro(f"plan {LINE} --format json").json:
        assert {"hours", "core_seconds", "bytes", "bytes_beside"} <= node.keys() and node["hours"] is None
    known = repro(f"plan {LINE} --gpu h100 --format json").json
    assert all(n["hours"] == 0 for n in known)
    [index] = [n for n in known if n["stage"] == "lucene_index"]
    assert index["bytes"] > 0 and index["bytes_beside"] > 0 and index["core_seconds"] > 0
