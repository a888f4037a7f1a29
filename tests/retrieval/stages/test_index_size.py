import json

import numpy as np
import pytest

from repro.retrieval.stages import index_size


@pytest.mark.parametrize("unit, expected", [(1_000_000_000, 30 * 8 * 4 / 1e9), (2**30, 30 * 8 * 4 / 2**30)])
def test_the_size_is_numbers_times_bytes_in_the_unit_asked_for(tmp_path, progress, unit, expected):
    np.save(tmp_path / "vectors.npy", np.zeros((30, 8), np.float32))
    params = {"bytes_per_number": 4, "bytes_per_gb": unit}
    facts = index_size.run(params, {"passages": tmp_path}, tmp_path, progress)
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert scores["measures"]["GB"] == [expected] == [facts["gigabytes"]]
    assert scores["missing"] == [] and facts["vectors"] == 30
