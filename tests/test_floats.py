from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.floats import apart, close

GRADIENT = torch.tensor([7.0, -0.016298, 0.5])


def refused(actual, expected, **how) -> str:
    with pytest.raises(AssertionError) as error:
        close(actual, expected, **how)
    return str(error.value)


def test_an_element_that_is_small_beside_the_others_is_as_exact_as_they_are():
    close(GRADIENT + torch.tensor([0, 1e-6, 0]), GRADIENT)
    told = refused(GRADIENT + torch.tensor([0, 1e-4, 0]), GRADIENT)
    assert told.startswith("[1] is -0.0161") and "and not -0.0162" in told
    refused(GRADIENT[1:2] + 1e-6, GRADIENT[1:2])
    close(GRADIENT[1:2] + 1e-6, GRADIENT[1:2], summands=7)


def test_the_tolerance_is_of_the_coarsest_format_and_of_so_many_roundings():
    half = 1 + 2**-9
    refused(GRADIENT * half, GRADIENT)
    close((GRADIENT * half).bfloat16(), GRADIENT.tolist())
    assert "bfloat16" in refused((GRADIENT * half).bfloat16(), GRADIENT)
    close((GRADIENT * half).tolist(), GRADIENT.tolist(), dtype="bfloat16")
    refused(1 + 2e-14, 1.0)
    close(1 + 2e-14, 1.0, terms=4 * 4096)
    refused(1 + 1e-15, 1.0, terms=1)


@pytest.mark.parametrize("magnitude", [1e-6, 1.0, 1e6])
def test_a_sum_of_many_terms_is_close_to_the_exact_one_and_without_one_of_them_apart_from_it(magnitude):
    terms = (magnitude * np.random.default_rng(0).normal(size=4096)).astype(np.float32)
    partial = np.cumsum(terms)
    how = {"summands": abs(partial).max()}
    close(partial[-1], terms.sum(dtype=float), **how)
    apart(partial[-1] - terms.max(), terms.sum(dtype=float), **how)


def test_mappings_have_one_magnitude_and_one_set_of_names():
    expected = {"weight": GRADIENT, "bias": torch.tensor([1e-3])}
    close({"weight": GRADIENT.clone(), "bias": torch.tensor([1.002e-3])}, expected)
    assert refused({"weight": GRADIENT, "bias": torch.tensor([-1e-3])}, expected).startswith("bias: [0] is")
    assert "bias" in refused({"weight": GRADIENT}, expected)
    refused({}, {})


def test_only_the_same_infinity_is_equal_and_shapes_are_not_stretched():
    close([np.inf, 1.0], [np.inf, 1.0])
    for other in (-np.inf, np.nan, 1.0):
        refused([other, 1.0], [np.inf, 1.0])
    refused(np.nan, np.nan)
    refused(torch.ones(3), torch.tensor(1.0))
    refused(1e-300, 0.0)


def test_what_is_apart_is_so_by_far_more_than_roundings():
    apart(GRADIENT, -GRADIENT)
    with pytest.raises(AssertionError, match="they differ by 0 times"):
        apart(GRADIENT, GRADIENT)
    with pytest.raises(AssertionError):
        apart(GRADIENT, GRADIENT * (1 + 1e-5))
