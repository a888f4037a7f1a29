import functools
import math
import operator

import numpy as np
import pytest
import torch

from repro.retrieval.stages.vectors import Views
from repro.retrieval.stages.vectors.products import Passages, Tile, ViewScorer
from tests.floats import close
from tests.retrieval.stages.conftest import bfloat16_products
from tests.retrieval.stages.views_made_up import save_views


def scorer(folder, passages, queries):
    views = [
        Views.read(save_views(folder / name, "x", dense=rows))
        for name, rows in (("p", passages), ("q", queries))
    ]
    return ViewScorer.of(*views, ["dense"], np.arange(len(queries)))


@pytest.mark.parametrize("size", [1, 7, 64, 768, 1000])
def test_a_score_has_the_same_bits_in_any_company(tmp_path, size):
    generator = np.random.default_rng(size)
    passages, queries = generator.normal(size=(2, 300, size)).astype(np.float32)
    pairs, rows = scorer(tmp_path, passages, queries), np.arange(300)
    together = pairs.scores(rows, rows, "dense")
    alone = [pairs.scores(rows[row : row + 1], rows[row : row + 1], "dense")[0] for row in rows]
    np.testing.assert_array_equal(together, alone)
    backwards = pairs.scores(rows[::-1][:17], rows[::-1][:17], "dense")
    np.testing.assert_array_equal(together[::-1][:17], backwards)
    exact = [math.fsum((p.astype(float) * q).tolist()) for p, q in zip(passages, queries, strict=True)]
    np.testing.assert_array_equal(together, np.float32(exact))


def in_turn(terms, start=0.0):
    """A sum from left to right; that of Python, since 3.12, carries along what rounding loses."""
    return functools.reduce(operator.add, terms, start)


def in_pairs(terms):
    """A sum as numpy documents it: eight partial sums over up to 128 terms, halves of more."""
    if len(terms) < 8:
        return in_turn(terms)
    if len(terms) > 128:
        half = len(terms) // 2 - len(terms) // 2 % 8
        return in_pairs(terms[:half]) + in_pairs(terms[half:])
    whole = len(terms) - len(terms) % 8
    a, b, c, d, e, f, g, h = (in_turn(terms[first:whole:8]) for first in range(8))
    return in_turn(terms[whole:], ((a + b) + (c + d)) + ((e + f) + (g + h)))


@pytest.mark.parametrize("size", [5, 8, 100, 128, 768, 1000])
def test_products_are_summed_in_an_order_that_depends_on_their_number_alone(tmp_path, size):
    """Terms of very different sizes that cancel: what is left of them is the order of their sum."""
    generator = np.random.default_rng(size)
    half = generator.normal(size=(50, size // 2)) * 10.0 ** generator.integers(-9, 9, (50, size // 2))
    passages = np.hstack((half, -half[:, ::-1], np.zeros((50, size % 2)))).astype(np.float32)
    terms = passages.astype(float).tolist()
    expected = np.float32([in_pairs(row) for row in terms])
    rows = np.arange(50)
    products = scorer(tmp_path, passages, np.ones((1, size), np.float32)).scores(0 * rows, rows, "dense")
    np.testing.assert_array_equal(products, expected)
    assert size < 8 or (np.float32([in_turn(row) for row in terms]) != expected).any()


@pytest.mark.parametrize("scale", [1e-25, 1e-3, 1, 1e10])
@pytest.mark.parametrize("size", [3, 64, 768])
def test_float32_sums_in_any_order_lie_within_the_bound(tmp_path, size, scale):
    generator = np.random.default_rng(size)
    passages = (scale * generator.normal(size=(500, size)) ** 3).astype(np.float32)
    queries = (generator.normal(size=(20, size)) ** 3).astype(np.float32)
    pairs = scorer(tmp_path, passages, queries)
    asked, rows = (axis.ravel() for axis in np.mgrid[:20, :500])
    scores = pairs.scores(asked, rows, "dense").reshape(20, 500)
    longest = Passages(0, 500, {"dense": passages}).longest({"dense": 0.0})
    bounds = pairs.errors("dense", longest, torch.float32)
    one_by_one = np.cumsum(queries[:, None] * passages, axis=2, dtype=np.float32)[:, :, -1]
    for products in (one_by_one, queries @ passages.T):
        assert (np.abs(products.astype(float) - scores).max(axis=1) <= bounds).all()
    close(longest["dense"], np.linalg.norm(passages.astype(float), axis=1).max())


@pytest.mark.parametrize("kind", ["random", "one sign", "farthest from bfloat16"])
@pytest.mark.parametrize("scale", [1e-30, 1, 1e15])
@pytest.mark.parametrize("size", [3, 64, 768])
def test_products_of_bfloat16_lie_within_their_bound(tmp_path, monkeypatch, size, scale, kind):
    bfloat16_products(monkeypatch)
    generator = np.random.default_rng(size)
    passages, queries = (generator.normal(size=(count, size)) for count in (300, 20))
    if kind != "random":
        passages, queries = abs(passages), abs(queries)
    if kind == "farthest from bfloat16":
        passages, queries = (
            2.0 ** np.floor(np.log2(rows)) * (1 + 2**-8 - 3 * 2**-17) for rows in (passages, queries)
        )
    passages, queries = (scale * passages).astype(np.float32), queries.astype(np.float32)
    pairs, cpu, none = scorer(tmp_path, passages, queries), torch.device("cpu"), np.empty(0, np.int64)
    asked, rows = (axis.ravel() for axis in np.mgrid[:20, :300])
    scores = pairs.scores(asked, rows, "dense").reshape(20, 300)
    block = Passages(0, 300, {"dense": passages})
    tile = Tile(pairs.vectors, {"": ["dense"]}, cpu, none)
    found = tile.scores(block, block.on(cpu, none, torch.bfloat16))[""].numpy().T.astype(float)
    errors = np.abs(found - scores).max(axis=1)
    bounds = pairs.errors("dense", block.longest({"dense": 0.0}), torch.bfloat16)
    assert (errors <= bounds).all()
    if kind == "farthest from bfloat16" and size < 768:  # the bound of float32 is too small
        assert (errors > pairs.errors("dense", block.longest({"dense": 0.0}), torch.float32)).any()
