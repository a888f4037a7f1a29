"""The jobs of the benchmark for GPUs: what they hold against each other, count and tell."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from tests import test_gpu_benchmark

gpu, chosen = test_gpu_benchmark.gpu, test_gpu_benchmark.chosen


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


@pytest.mark.parametrize("name", ["check attention", "check encoding", "check re-ranker", "check simlm"])
def test_a_check_holds_on_a_cpu(gpu, chosen, tmp_path, name):
    rows = [row for row in gpu.jobs()[name](tmp_path, chosen) if "holds" in row]
    assert rows and all(row["holds"] == "yes" for row in rows)
    assert any("without padding" in row["compared"] for row in rows) or name == "check attention"


def test_sizes_are_found_where_memory_runs_out_in_either_way(gpu):
    import torch
    from gpu_rates import largest_that_runs, most_that_fits

    from repro.retrieval.training.process_group import OutOfMemory

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

    from repro.retrieval.training.flop_count import needed_operations

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
    assert given[0] == {"mini_batch_size": 4} and by_texts["remark"] == "in parts of 4 of a column's texts"
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

    from repro.retrieval.nn import padding_free

    objective, examples = bi_encoder(tmp_path, chosen)
    batch = [without_dropout(objective).collate(examples[:2])]
    monkeypatch.setattr(padding_free, "by_kernel", padding_free.text_by_text)
    for has in (True, False):
        monkeypatch.setattr(padding_free, "has_kernel", lambda *_, has=has: has)
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
    rows = list(gpu_resumed.resumed("fp32")(Path(), chosen))
    assert len(rows) == 6 and {row["holds"] for row in rows} == {holds}
    assert len(list(gpu_resumed.resumed("fp16")(Path(), chosen))) == 4  # a job each, none of which takes long


def test_steps_are_timed_once_what_lay_ready_is_used_up(gpu):
    from gpu_pretraining import settled

    assert settled([0, 1, 2, 3, 5, 7, 9, 11, 13]) == 2


def test_the_kernel_takes_what_a_model_gives_it_forward_and_backward(gpu, chosen, monkeypatch):
    """By what torch declares of its kernel, which itself needs a GPU."""
    import torch
    from gpu_models import masked_lm
    from torch._subclasses.fake_tensor import FakeTensorMode

    from repro.retrieval.nn import padding_free

    monkeypatch.setattr(padding_free, "has_kernel", lambda query: query.dtype == torch.bfloat16)
    layer = masked_lm(chosen, dropout=0.1).bert.encoder.layer[0].train()
    with FakeTensorMode(allow_non_fake_inputs=True), torch.autocast("cpu", torch.bfloat16):
        hidden = torch.empty(21, chosen.hidden, requires_grad=True)
        layout = padding_free.Layout([5, 8, 8], torch.device("cpu"))
        whole = padding_free.layer_output(layer, hidden, hidden, layout)
        firsts = padding_free.layer_output(layer, hidden[:3], hidden, layout)
        (whole.float().sum() + firsts.float().sum()).backward()
        assert whole.shape == hidden.grad.shape == (21, chosen.hidden) and firsts.shape == (3, chosen.hidden)
