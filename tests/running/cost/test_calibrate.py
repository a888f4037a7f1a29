"""What is measured of a machine; how much is not looked at."""

import pytest

from repro.running.cost.calibrate import calibrate


def test_rates_are_consistent_with_each_other():
    import torch

    before = torch.get_num_threads()
    found = calibrate(seconds=0.01)
    assert torch.get_num_threads() == before
    assert found["device"] in ("cpu", "cuda") and found["name"] and found["recorded"]
    training, encoding = found["training"], found["encoding"]
    each = [kind["flops_per_second"] / kind["tokens_per_second"] for kind in (training, encoding)]
    assert each[0] == pytest.approx(3 * each[1])
    assert min(training["tokens_per_second"], encoding["tokens_per_second"]) > 0
    products = ("matrix_product", "single_precision", "cores")
    assert all(found[f"{product}_flops_per_second"] > 0 for product in products)
