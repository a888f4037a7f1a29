from pathlib import Path

import pytest

from tests.recorded import Recorded, close
from tests.retrieval.nn.parted_objectives import COUNT, NAMES, batch_in_parts, check_gradient, objective

TABLE = Recorded(Path(__file__).with_name("losses.json"), "its class, and in the recipes that name it")


def test_the_losses_are_the_recorded_ones_as_long_as_the_versions_are(renewing):
    versions = {}
    for name in NAMES:
        made = objective(name).double()
        [batch] = batch_in_parts(made, name, COUNT)
        losses = ((key, loss.item()) for key, loss in made(batch).items())
        versions[name] = made.version
        TABLE.check(name, made.version, {"digest": "", "numbers": close(losses, share=1e-4)}, renew=renewing)
    TABLE.check_versions(versions, renew=renewing)


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_is_the_slope_of_the_losses(name):
    made = objective(name).double()
    [batch] = batch_in_parts(made, name, COUNT)
    batch = {key: value.double() if value.is_floating_point() else value for key, value in batch.items()}
    check_gradient(made, batch, is_coarse=name in ("views", "own views", "cross-encoder", "r-drop"))
