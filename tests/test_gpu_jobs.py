from __future__ import annotations

import pytest

from tests import test_gpu_benchmark

gpu, chosen = test_gpu_benchmark.gpu, test_gpu_benchmark.chosen


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


def test_a_distance_beyond_its_bound_does_not_hold(gpu):
    from gpu_checks import row

    assert row("x", 0.2, 0.1)["holds"] == row("x", float("nan"), 0.1)["holds"] == "NO"


@pytest.mark.parametrize("paper", ["cotmae_v2", "simlm"])
def test_operations_are_those_that_texts_need_without_padding(gpu, chosen, tmp_path, paper):
    from gpu_models import first, pretraining
    from gpu_pretraining import of_a_text

    from benchmarks.needed_operations import needed_operations

    objective, rows = pretraining(paper, tmp_path, chosen)
    _, operations = of_a_text(lambda: (objective, rows), length=rows.room + 2, sample=4)
    assert operations == needed_operations(objective, first(rows, 4)) / 4


def test_the_kernel_takes_what_a_model_gives_it_forward_and_backward(gpu, chosen, monkeypatch):
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
