"""The benchmark for GPUs: its jobs run without one, and it goes on where it was interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
COMMAND = [sys.executable, str(FOLDER / "gpu.py"), "--size", "smallest"]


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import gpu

    return gpu


@pytest.fixture
def chosen(gpu, tmp_path):
    return Namespace(out=tmp_path / "out", size="smallest", jobs=None, minutes=35, kept=set(), **gpu.SMALLEST)


@pytest.fixture
def results(gpu, tmp_path):
    from gpu_results import Results

    return Results(tmp_path / "results.jsonl")


def rows_of(folder: Path) -> dict[str, list[dict]]:
    from gpu_results import Results

    [path] = folder.glob("*/results.jsonl")
    return Results(path).rows


def test_jobs_that_ended_are_not_run_again_and_failed_ones_are(gpu, chosen, monkeypatch):
    ran = []

    def run_one(name, chosen, results, *, left):
        ran.append(name)
        results.add(name, "began")
        results.add(
            name, "row", row={"work": name} | ({"failed": "out of luck"} if name == "other b" else {})
        )
        if name != "fits d":
            results.add(name, "ended")

    monkeypatch.setattr(gpu, "jobs", lambda: dict.fromkeys(("check a", "other b", "fits c", "fits d")))
    monkeypatch.setattr(gpu, "run_one", run_one)
    monkeypatch.setattr(gpu, "circumstances", lambda size: "here")
    first = gpu.run_all(chosen)
    assert gpu.run_all(chosen) == first
    assert ran == ["check a", "other b", "fits c", "fits d", "other b", "fits d"]
    assert "out of luck" in (chosen.out / "here" / "RESULTS.md").read_text()
    monkeypatch.setattr(gpu, "circumstances", lambda size: "elsewhere")
    gpu.run_all(chosen)
    assert ran[6:] == ["check a", "other b", "fits c", "fits d"]


def test_rows_before_a_kill_are_kept_and_a_torn_line_costs_no_other(results):
    from gpu_results import Results

    results.add("a", "began")
    results.add("a", "row", row={"work": "w", "tool": "x", "n": 1})
    with open(results.path, "a") as file:
        file.write('{"job": "a", "what": "ro')
    again = Results(results.path)
    assert [row["n"] for row in again.rows["a"]] == [1] and not again.ended
    again.add("a", "row", row={"work": "w", "tool": "y", "n": 2})
    again.add("a", "row", row={"work": "a", "failed": "did not end within 300 s"})
    again.add("a", "began")
    again.read()
    assert [row["n"] for row in again.rows["a"]] == [1, 2]
    assert again.measured("a") == {("w", "x"), ("w", "y")}
    again.add("a", "row", row={"work": "w", "tool": "x", "n": 3})
    again.add("a", "ended")
    again.read()
    assert [row["n"] for row in again.rows["a"]] == [3, 2] and again.is_done("a")


def test_a_job_that_is_started_again_measures_the_tools_that_have_no_row(gpu, chosen):
    from gpu_rates import measured

    tools = dict.fromkeys(("ours", "theirs"), lambda: {"tokens a second": "7"})
    chosen.kept = {("encoding", "ours"), ("search", "theirs")}
    assert [row["tool"] for row in measured("encoding", tools, chosen)] == ["theirs"]


def test_a_failed_process_is_told_by_its_error_and_not_by_advice_behind_it(gpu):
    from gpu_results import told_error

    error = "torch.AcceleratorError: CUDA error: device-side assert triggered"
    advice = "For debugging consider passing CUDA_LAUNCH_BLOCKING=1.\nCompile with TORCH_USE_CUDA_DSA"
    assert told_error(f"Traceback:\n  File\n{error}\n{advice}\n", 1) == error
    assert told_error("KeyError\n", 1) == "KeyError"
    assert told_error("loading\n", -9) == "ended by signal 9"
    caught = "RuntimeError: no kernel for this"
    assert told_error(f"{caught}\n", -9) == f"ended by signal 9; its last error: {caught}"
    assert told_error("libcuda is not there\n", 127) == "libcuda is not there"
    assert told_error("", 3) == "exit status 3, without a word"


def test_a_check_that_does_not_hold_is_an_exit_status(gpu, monkeypatch, capsys, tmp_path):
    found = {"check a": [{"compared": "x", "holds": "NO"}], "other b": [{"work": "b"}]}
    monkeypatch.setattr(gpu, "run_all", lambda chosen: found)
    monkeypatch.setattr(gpu, "show", lambda found: None)
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--out", str(tmp_path)])
    assert gpu.main() == 1
    assert "NOT WELL: {'compared': 'x'" in capsys.readouterr().err
    found["check a"][0]["holds"] = "yes"
    assert gpu.main() == 0


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ([], True),
        (["--size", "smallest"], False),
        (["--jobs", "check simlm"], False),
        (["--size", "smallest", "--jobs", "check simlm", "--write"], True),
    ],
)
def test_the_page_is_written_for_all_jobs_at_the_papers_shapes_or_where_asked(
    gpu, monkeypatch, tmp_path, options, written
):
    shown = []
    monkeypatch.setattr(gpu, "run_all", lambda chosen: {})
    monkeypatch.setattr(gpu, "has_gpu", lambda: True)
    monkeypatch.setattr(gpu, "show", shown.append)
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--out", str(tmp_path), *options])
    assert gpu.main() == 0 and bool(shown) == written


def test_a_job_hears_of_no_variable_of_the_suite(gpu, chosen, results, monkeypatch):
    given = []

    def run(command, *, env, **how):
        given.append(env)
        return subprocess.CompletedProcess(command, 0, b"", b"")

    monkeypatch.setenv("REPRO_PADDING_FREE", "1")
    monkeypatch.setattr(gpu.subprocess, "run", run)
    gpu.run_one("other b", chosen, results, left=300)
    assert "PATH" in given[0] and not [name for name in given[0] if name.startswith("REPRO_")]


def test_padded_rows_are_of_padded_texts(gpu, tmp_path, monkeypatch):
    import gpu_inference

    monkeypatch.setattr(gpu_inference.encode, "run", lambda *_: {"padding_free": 1})
    with pytest.raises(RuntimeError, match="though nobody asked"):
        gpu_inference.by_stage({}, tmp_path / "out", "bf16", free=False)


@pytest.mark.parametrize(
    ("name", "peak"),
    [
        ("NVIDIA H100 80GB HBM3", 989e12),
        ("NVIDIA H200", 989e12),
        ("NVIDIA L40S", 362e12),
        ("NVIDIA L4", 121e12),
        ("Tesla T4", 65e12),
        ("Tesla V100-SXM2-16GB", 125e12),
        ("NVIDIA A100 80GB PCIe", 312e12),
        *dict.fromkeys(("NVIDIA RTX A1000", "NVIDIA T400 4GB", "NVIDIA L40", "CPU"), None).items(),
        *dict.fromkeys(("NVIDIA H100 PCIe", "NVIDIA H100 NVL", "NVIDIA A100 MIG 3g.20gb"), None).items(),
    ],
)
def test_the_peak_is_that_of_the_gpu_whose_whole_name_it_is(gpu, monkeypatch, name, peak):
    import gpu_rates
    import pretraining

    assert pretraining.data_sheet(name) == peak
    monkeypatch.setattr(gpu_rates, "device", lambda: name)
    assert gpu_rates.mfu(50e12) == ("–" if peak is None else f"{50e12 / peak:.1%}")


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--minutes", "0"], "--minutes takes a number above 0, such as 35"),
        (["--minutes", "nan"], "--minutes takes a number above 0, such as 35"),
        (["--minutes", "ten"], "--minutes takes a number above 0, such as 35"),
        (["--jobs", "sesarch"], "no job's name contains 'sesarch'; there are check a, fits b"),
        (["--out", __file__], f"--out takes a folder, and {__file__} is a file"),
    ],
)
def test_a_wrong_option_is_told_in_a_sentence(gpu, monkeypatch, capsys, options, fault):
    monkeypatch.setattr(gpu, "jobs", lambda: dict.fromkeys(("check a", "fits b")))
    monkeypatch.setattr(sys, "argv", ["gpu.py", *options])
    with pytest.raises(SystemExit) as end:
        gpu.main()
    assert end.value.code == 2 and capsys.readouterr().err == f"gpu.py: {fault}\n"


def test_no_time_left_is_told_and_the_job_stays_to_be_run(gpu, chosen, results):
    gpu.run_one("other b", chosen, results, left=3)
    results.read()
    assert results.rows["other b"][0]["failed"].startswith("no time was left")
    assert not results.is_done("other b")


def test_the_order_names_jobs_and_every_job_has_a_section(gpu):
    known = list(gpu.jobs())
    assert tuple(known[: len(gpu.ORDER)]) == gpu.ORDER and len(known) == 29
    assert all(any(name.startswith(kind) for kind in gpu.SECTIONS) for name in known)


@pytest.mark.parametrize("name", ["check attention", "check encoding", "check re-ranker", "check simlm"])
def test_a_check_holds_on_a_cpu(gpu, chosen, tmp_path, name):
    rows = [row for row in gpu.jobs()[name](tmp_path, chosen) if "holds" in row]
    assert rows and all(row["holds"] == "yes" for row in rows)
    assert any("without padding" in row["compared"] for row in rows) or name == "check attention"


def test_sizes_are_found_where_memory_runs_out_in_either_way(gpu):
    import torch
    from gpu_rates import largest_that_runs, most_that_fits

    from repro.training.process_group import OutOfMemory

    for error in (torch.OutOfMemoryError("CUDA out of memory."), OutOfMemory()):

        def attempt(size, error=error):
            if size > 4:
                raise error
            return -size

        assert most_that_fits(attempt, limit=64) == (4, False)
        assert most_that_fits(attempt, limit=2) == (2, True)
        assert largest_that_runs(attempt, 24) == (3, -3)
    with pytest.raises(RuntimeError, match="no kernel"):
        most_that_fits(lambda size: (_ for _ in ()).throw(RuntimeError("no kernel")), limit=2)


def test_what_fails_is_a_row_and_costs_no_other(gpu, chosen):
    from gpu_rates import measured

    def fails():
        raise RuntimeError("no kernel\nfor this")

    def works():
        return {"tokens a second": "7"}

    tools = {"a peer": fails, "ours": works, "ours, otherwise": fails, "another": works}
    rows = list(measured("encoding", tools, chosen))
    assert [row["tool"] for row in rows] == list(tools)
    assert rows[0]["remark"] == rows[2]["failed"] == "RuntimeError: no kernel"
    assert "failed" not in rows[0] and rows[1]["tokens a second"] == rows[3]["tokens a second"] == "7"


def test_a_distance_beyond_its_bound_does_not_hold(gpu):
    from gpu_checks import row

    assert row("x", 0.2, 0.1)["holds"] == row("x", float("nan"), 0.1)["holds"] == "NO"


def test_a_way_without_padding_that_was_not_taken_does_not_hold(gpu, monkeypatch):
    import gpu_checks
    import torch

    monkeypatch.setattr(gpu_checks, "gradients", lambda *_, **__: (1.0, torch.ones(2)))
    rows = gpu_checks.compared_with_cpu("x", torch.nn.Linear(2, 2), [{}], [{}])
    assert [row["compared"] for row in rows if row["holds"] == "NO"] == [
        f"x without padding, {name} on cpu and fp32 on cpu: loss" for name in ("fp32", "fp16", "bf16")
    ]


def test_uneven_texts_are_half_full_and_the_same_each_time(gpu):
    import numpy as np
    from gpu_models import UnevenTexts, first

    rows = UnevenTexts(vocabulary=600, length=144, documents=False)
    sizes = [len(row["input_ids"]) for row in first(rows, 1000)]
    assert (
        64 < np.mean(sizes) < 76
        and max(sizes) == 142
        and sizes[:3] == [len(row["input_ids"]) for row in first(rows, 3)]
    )
    documents = UnevenTexts(vocabulary=600, length=144, documents=True)
    for row in first(documents, 50):
        assert row["spans"].sum() == len(row["sentences"]) and row["spans"].min() > 0
        assert row["sentences"].sum() == len(row["input_ids"])


@pytest.mark.parametrize("paper", ["cotmae_v2", "simlm"])
def test_operations_are_those_that_texts_need_without_padding(gpu, chosen, tmp_path, paper):
    from gpu_models import first, pretraining
    from gpu_pretraining import of_a_text

    from repro.training.flop_count import needed_operations

    objective, rows = pretraining(paper, tmp_path, chosen)
    _, operations = of_a_text(lambda: (objective, rows), length=rows.room + 2, sample=4)
    assert operations == needed_operations(objective, first(rows, 4)) / 4


def test_texts_that_fit_are_told_with_the_mean_that_was_counted(gpu, chosen, tmp_path):
    from gpu_models import first, pretraining, tokens_of
    from gpu_pretraining import pretraining_fits

    chosen.most = 1
    row = next(iter(pretraining_fits("cotmae_v2")(tmp_path, chosen)))
    objective, rows = pretraining("cotmae_v2", tmp_path / "again", chosen)
    examples = first(rows, 8 * chosen.checked)
    mean = tokens_of(objective.collate(examples)) / len(examples)
    assert row["that fit"] == f"≥ 1 texts of {rows.room + 2}, {mean:.0f} on average"


def test_peers_parts_of_a_cached_batch_are_quarters_of_a_column(gpu, chosen, tmp_path, monkeypatch):
    import gpu_finetuning

    given = []

    def theirs(fine, kind, **sizes):
        given.append(sizes)
        return lambda examples: None

    monkeypatch.setattr(gpu_finetuning.Fine, "theirs", theirs)
    monkeypatch.setattr(gpu_finetuning, "peer", lambda way, start: way)
    chosen.queries, chosen.passages = 16, 4
    chosen.kept = {("fine-tuning, gradient cached", tool) for tool in ("ours", "ours, without padding")}
    by_texts, by_tokens = gpu_finetuning.cached(tmp_path, chosen)
    assert given[0] == {"mini_batch_size": 4} and by_texts["remark"] == "in parts of 4 texts of a column"
    budget = given[1]["mini_batch_num_tokens"]
    assert 4 * 50 < budget < 4 * 80 and by_tokens["remark"] == f"in parts of {budget} tokens of a column"


def test_a_peers_row_says_flattened_where_its_model_does(gpu, monkeypatch):
    import gpu_finetuning

    monkeypatch.setattr(gpu_finetuning, "has_flash", lambda: True)
    for can in (True, False):
        modules = [Namespace(can_flatten_inputs=can)]
        monkeypatch.setattr(gpu_finetuning, "sentence_transformer", lambda start, modules=modules: modules)
        assert gpu_finetuning.peer("whole", Path()).endswith("flattened") == can


def test_a_check_says_one_kernel_where_one_was_called(gpu, chosen, tmp_path, monkeypatch):
    import gpu_checks
    from gpu_models import bi_encoder, without_dropout

    from repro.nn import packed_layers

    objective, examples = bi_encoder(tmp_path, chosen)
    batch = [without_dropout(objective).collate(examples[:2])]
    monkeypatch.setattr(packed_layers, "by_kernel", packed_layers.text_by_text)
    for has in (True, False):
        monkeypatch.setattr(packed_layers, "has_kernel", lambda *_, has=has: has)
        rows = list(gpu_checks.compared_with_cpu("x", objective, batch, batch))
        notes = {row["note"] for row in rows if "x without padding, fp32" in row["compared"]}
        assert notes == {"one kernel for all texts" if has else "text by text"}


@pytest.mark.parametrize(("noise", "holds"), [(0.0, "yes"), (0.05, "yes"), (5.0, "NO")])
def test_a_training_that_does_not_repeat_itself_on_a_gpu_does_not_hold(
    gpu, chosen, monkeypatch, noise, holds
):
    import gpu_resumed
    import torch

    class Noisy:
        def __init__(self, *_):
            pass

        def weights(self, *_, **__):
            return 0

        def apart(self, one, other):
            return noise

    monkeypatch.setattr(gpu_resumed, "Trainings", Noisy)
    monkeypatch.setattr(gpu_resumed, "DEVICE", torch.device("cuda"))
    monkeypatch.setattr(torch, "use_deterministic_algorithms", lambda *_, **__: None)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    rows = list(gpu_resumed.resumed(Path(), chosen))
    assert len(rows) == 6 and {row["holds"] for row in rows} == {holds}


def test_steps_are_timed_once_what_lay_ready_is_used_up(gpu):
    from gpu_pretraining import settled

    assert settled([0, 1, 2, 3, 5, 7, 9, 11, 13]) == 2


def test_the_kernel_takes_what_a_model_gives_it_forward_and_backward(gpu, chosen, monkeypatch):
    """By what torch declares of its kernel, which itself needs a GPU."""
    import torch
    from gpu_models import masked_lm
    from torch._subclasses.fake_tensor import FakeTensorMode

    from repro.nn import packed_layers

    monkeypatch.setattr(packed_layers, "has_kernel", lambda query, dropout: query.dtype == torch.bfloat16)
    layer = masked_lm(chosen, dropout=0.0).bert.encoder.layer[0].train()
    with FakeTensorMode(allow_non_fake_inputs=True), torch.autocast("cpu", torch.bfloat16):
        hidden = torch.empty(21, chosen.hidden, requires_grad=True)
        layout = packed_layers.Layout([5, 8, 8], torch.device("cpu"))
        whole = packed_layers.layer_output(layer, hidden, hidden, layout)
        firsts = packed_layers.layer_output(layer, hidden[:3], hidden, layout)
        (whole.float().sum() + firsts.float().sum()).backward()
        assert whole.shape == hidden.grad.shape == (21, chosen.hidden) and firsts.shape == (3, chosen.hidden)


@pytest.mark.nightly
def test_all_jobs_run_to_the_end_without_a_gpu_though_killed_on_the_way(tmp_path):
    command = [*COMMAND, "--out", str(tmp_path)]
    first = subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE, text=True)
    ended = [first.stderr.readline() for _ in range(2)]
    first.send_signal(signal.SIGKILL)
    first.wait()
    time.sleep(1)
    with pytest.raises(ProcessLookupError):  # its job went with it
        os.killpg(first.pid, 0)
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ended[0].split(":")[0] not in [line.split(":")[0] for line in done.stderr.splitlines()]
    found = rows_of(tmp_path)
    assert len(found) == 29 and all(found.values())
    assert not [row for rows in found.values() for row in rows if "failed" in row]
    page = next(tmp_path.glob("*/RESULTS.md"))
    records = [json.loads(path.read_text()) for path in (page.parent / "records").glob("*.json")]
    assert len(records) == 4 and all(record["section"] in page.read_text() for record in records)
