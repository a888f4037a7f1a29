"""The settings of a training: their warm-up, their end, and what is refused."""

import pytest

from repro.errors import BlockedError, UsageError
from tests.retrieval.training.settings import settings


def test_a_warm_up_is_a_share_of_the_steps_or_a_number_of_them():
    assert settings().warmup(12) == 3 and settings(warmup_ratio=0.1).warmup(12) == 2
    assert settings(warmup_ratio=None, warmup_steps=7).warmup(12) == 7


def test_what_ends_first_of_epochs_and_steps_ends_the_training():
    assert settings(epochs=2, max_steps=None).steps(10) == 6
    assert settings(epochs=2, max_steps=5).steps(10) == 5
    assert settings(epochs=2, max_steps=100).steps(10) == 6
    assert settings(epochs=0.5, max_steps=None).steps(10) == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"max_steps": None}, "epochs or max_steps"),
        ({"warmup_steps": 3}, "not both"),
        ({"precision": "fp8"}, "no precision 'fp8'"),
    ],
)
def test_settings_that_contradict_themselves_are_a_usage_error(changes, said):
    with pytest.raises(UsageError, match=said):
        settings(**changes)


def test_half_precision_without_a_gpu_is_blocked():
    with pytest.raises(BlockedError, match="run on a GPU or use --scale tiny"):
        settings(precision="fp16")
