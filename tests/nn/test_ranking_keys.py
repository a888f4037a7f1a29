from __future__ import annotations

import numpy as np
import torch

from repro.nn.ranking_keys import ranking_keys, scores_and_places


def test_keys_are_in_the_order_of_scores_then_places_and_can_be_read_back():
    generator = np.random.default_rng(0)
    extremes = [-np.inf, -3e38, -1.5, -1e-45, -0.0, 0.0, 1e-45, 1.5, np.pi, 3e38, np.inf]
    scores = generator.choice(np.array(extremes, np.float32), (3, 200))
    places = generator.permutation(2**32 - 1 - np.arange(200) * 7)
    keys = ranking_keys(torch.from_numpy(scores), torch.from_numpy(places)).numpy()
    for row, key in zip(scores, keys, strict=True):
        expected = sorted(range(200), key=lambda n: (float(row[n]), int(places[n])))
        assert np.argsort(key).tolist() == expected
        found, where = scores_and_places(key)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, row + np.float32(0))
        np.testing.assert_array_equal(where, places)
