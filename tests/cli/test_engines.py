"""``repro run --engine …`` and budgets."""

import json

import pytest

from repro.running.cost.shapes import Shape
from tests.cli.conftest import CELL

LINE = f"{CELL} --scale tiny"


def test_local_processes_end_with_the_same_scores(repro, measured_once):
    said = repro(f"run {LINE} --engine local --jobs 2")
    assert said.status == 0, said.err
    assert "Ran 6 of 6 stages (6 without sharing)" in said.err
    from repro.locations import Locations

    [scores] = (Locations.resolve().store / "evaluate").glob("*/scores.json")
    [expected] = (measured_once / "store" / "evaluate").glob("*/scores.json")
    assert scores.read_bytes() == expected.read_bytes()


@pytest.mark.parametrize(
    "options, sentence",
    [
        (("--jobs", "2"), "--jobs needs the engines local and snakemake, not auto"),
        (("--engine", "local", "--profile", "x"), "--profile needs the engine snakemake, not local"),
        (("--engine", "snakemake", "--shards", "0"), "--shards is 0, but must be 1 or more"),
        (("--gpus-per-stage", "2"), "--gpus-per-stage needs the engines local and snakemake, not auto"),
        (("--engine", "local", "--gpus-per-stage", "0"), "--gpus-per-stage is 0, but this machine has"),
        (("--max-gpu-hours", "1"), "a budget needs a throughput"),
        (("--engine", "cloud"), "Invalid value for '--engine': 'cloud' is not one of"),
    ],
)
def test_mistakes_are_one_sentence(repro, options, sentence):
    assert repro(f"run {LINE}", *options).refusal.startswith(sentence)


def test_beyond_a_budget_nothing_runs_and_the_status_is_4(repro, folders):
    line = "run costa --table 1 --row hardneg.bert --scale tiny --dry-run --format json"
    said = repro(line, "--max-gpu-hours", "0", "--gpu", "v100")
    assert said.status == 4 and said.err.startswith("about 0.00 of 0 GPU hours (v100, 15% to 27%")
    states = {n["stage"]: n["state"] for n in said.json}
    assert states["pretrain"] == states["evaluate"] == "blocked" and states["corpus"] == "missing"
    causes = {o["cause"] for node in said.json for o in node["blocked"]}
    assert causes == {"the budget of 0 GPU hours is spent"}


def test_a_plan_for_a_cluster_names_no_component_of_this_machine(repro, monkeypatch):
    monkeypatch.setenv("REPRO_JAVA_HOME", "/nonexistent")
    assert repro(f"run {LINE} --dry-run").status == 4
    said = repro(f"run {LINE} --dry-run --engine snakemake --format json")
    assert said.status == 0 and not any(n["blocked"] for n in said.json)


def test_jobs_are_written_for_a_dry_run_by_snakemake(repro, folders, tmp_path):
    said = repro(f"plan {LINE} --to snakemake -o", str(tmp_path / "jobs"))
    assert said.status == 0 and "6 jobs of 6 stages; " in said.err and "--dry-run" in said.err
    assert sorted(path.name for path in (tmp_path / "jobs").iterdir()) == ["Snakefile", "plan.json"]
    assert repro(f"plan {LINE} --to snakemake").sentence.startswith("--to, -o and --shards belong together")


@pytest.mark.nightly
def test_what_is_free_runs_within_any_budget(repro):
    said = repro(f"run {LINE} --max-gpu-hours 0 --gpu v100")
    assert said.status == 0 and "Ran 6 of " in said.err


def test_calibrate_is_kept_and_plan_tells_hours(repro, folders, monkeypatch):
    import torch

    from repro.running.cost import estimate

    before = torch.get_num_threads()
    monkeypatch.setattr(estimate, "SECONDS", 0.01)
    monkeypatch.setattr(estimate, "SMALL", Shape(layers=1, hidden=64, intermediate=256, vocabulary=2000))
    said = repro("doctor calibrate")
    assert said.status == 0 and torch.get_num_threads() == before
    rates = json.loads((folders / "store" / "calibration.json").read_text())
    assert rates["device"] in ("cpu", "cuda") and rates["name"] and rates["recorded"]
    assert 0 < rates["seconds_per_layer"] < 1
    each = [rates[k]["flops_per_second"] / rates[k]["tokens_per_second"] for k in ("training", "encoding")]
    assert each[1] > 0 < rates["single_precision_flops_per_second"]
    assert each[0] == pytest.approx(3 * each[1])
    line = said.out.splitlines()[1]
    assert line.startswith(f"training: {rates['training']['tokens_per_second']:,.0f} tokens/s, ")
    planned = repro("plan costa --table 1 --row hardneg.bert --scale tiny").err
    unit = "GPU" if rates["device"] == "cuda" else "CPU"
    assert f" {unit} hours (" in planned and "calibrated" in planned


def test_plan_tells_downloads_disk_and_hours_beside_the_papers_own(repro, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    said = repro("plan simlm --table 1 --gpu h100")
    assert said.status == 4
    lines = said.err.splitlines()
    assert any(line.startswith("to download: ") and "checkpoints" in line for line in lines)
    assert any(line.startswith("disk: about ") for line in lines)
    assert any(
        line.startswith("work: about ") and "(h100, recorded shares of 989 TFLOP/s)" in line for line in lines
    )
    assert any(line.startswith("shares of the peak: finetune 11.5% (") for line in lines)
    assert "8 V100, 36 h = 288 GPU hours (§4.1, about 1.5 days)" in said.out
    priced = repro("plan simlm --table 1 --gpu h100 --price 2.50")
    [electra] = [line.split() for line in priced.out.splitlines() if line.startswith("simlm/1/electra ")]
    assert 0 < float(electra[-1]) == pytest.approx(2.5 * float(electra[4]), rel=0.05)
    assert "\nsimlm/1  " in priced.out and " at $2.50 per GPU hour\ncheapest cells " in priced.err
    assert f"simlm/1/electra/dev.rr10 ${electra[-1]}\n" in priced.err
    row = "plan retromae --table 1 --row bert --gpu h100 --price 2.50"
    assert "need a GPU: retromae/1/bert/nfcorpus $2.7\n" in repro(row).err
    monkeypatch.setattr("repro.running.cost.shapes._dataset_queries", lambda nodes: None)
    part = repro(row)
    assert "0.47+ " in part.out and " 1.2+\n" in part.out and "need a GPU: none\n" in part.err
    without = repro("plan simlm --table 1").err
    assert "measure this machine (`repro doctor calibrate`) or name a GPU with --gpu" in without
