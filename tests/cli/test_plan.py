"""``repro plan``: what a run would do; ``run --dry-run`` says the same."""

import pytest

from tests.cli.conftest import CELL

LINE = ("--cell", CELL, "--scale", "tiny")
STAGES = ["corpus", "lucene_index", "queries", "bm25", "qrels", "evaluate"]


@pytest.mark.parametrize("verb", [("plan",), ("run", "--dry-run")], ids=lambda verb: verb[0])
def test_nodes_come_inputs_first_with_state_and_fingerprint(repro, verb):
    said = repro(*verb, *LINE, "--json")
    assert said.status == 0 and said.err == ""
    assert [node["stage"] for node in said.json] == STAGES
    for node in said.json:
        assert node["state"] == "missing" and node["needed"] and node["blocked"] == []
        assert len(node["fingerprint"]) == 64 and node["what"].endswith(f"({node['fingerprint'][:12]})")


def test_people_see_a_line_a_node_and_a_summary(repro):
    lines = [line for line in repro("plan", *LINE).out.splitlines() if line.strip()]
    assert lines[0].split() == ["1", "measurements", "at", "scale", "tiny"]
    assert [line.split()[:2] for line in lines[3:9]] == [["missing", stage] for stage in STAGES]
    assert lines[9] == "6 stage calls asked for, 6 distinct nodes, 6 to run; 0 cells have no recipe yet"


def test_what_is_stored_is_not_needed(repro, measured):
    assert {(node["state"], node["needed"]) for node in repro("plan", *LINE, "--json").json} == {
        ("stored", False)
    }


def test_what_is_missing_blocks_with_its_remedy_and_status_4(repro):
    said = repro("plan", "--cell", CELL, "--json")
    assert said.status == 4
    states = {node["stage"]: node for node in said.json}
    assert {node["state"] for node in said.json} == {"blocked"}
    [corpus] = states["corpus"]["blocked"]
    assert corpus["cause"].startswith("the documents of msmarco-passage are not ")
    assert "repro data fetch msmarco-passage" in corpus["remedy"]
    assert corpus in states["evaluate"]["blocked"]
    assert f"blocked: {corpus['cause']}; {corpus['remedy']}\n" in repro("plan", "--cell", CELL).out


def test_a_cell_beside_its_paper_narrows_the_selection(repro):
    assert repro("plan", "costa", *LINE, "--json").json == repro("plan", *LINE, "--json").json


def test_seeds_and_readings_change_fingerprints(repro):
    def last(*options):
        return repro("plan", *LINE, "--json", *options).json[-1]["fingerprint"]

    assert last("--reading", "bm25-parameters=anserini-default") != last()
    assert last("--reading", "bm25-parameters=anserini-tuned") == last()  # the default
    assert last("--seeds", "1,2") == last()  # nothing of it is drawn


def test_a_summary_is_a_line_a_stage_and_what_is_lacking(repro):
    lines = repro("plan", *LINE, "--summary").out.splitlines()
    assert lines[:2] == ["1 measurements at scale tiny", "stage\tmissing"]
    assert lines[2:8] == [f"{stage}\t1" for stage in STAGES]
    assert not any("(" in line for line in lines[:8])
    said = repro("plan", "--cell", CELL, "--summary")
    assert said.status == 4 and "stage\tblocked" in said.out
    assert "lacking: msmarco-passage (documents, dev/small)\n" in said.out
    assert repro("plan", *LINE, "--summary", "--json").status == 2
