from __future__ import annotations

import functools
import math
import operator

import numpy as np
import pytest

from repro.retrieval.stages.vectors import final_scores, vector_files
from repro.retrieval.stages.vectors.vector_files import read_embeddings
from tests.floats import close


def embeddings(folder, vectors):
    folder.mkdir()
    np.save(folder / "vectors.npy", vectors)
    (folder / "ids.txt").write_text("".join(f"d{row}\n" for row in range(len(vectors))))
    return read_embeddings(folder)


@pytest.mark.parametrize("size", [1, 7, 64, 768, 1000])
def test_a_score_has_the_same_bits_in_any_company(size):
    generator = np.random.default_rng(size)
    passages, queries = generator.normal(size=(2, 300, size)).astype(np.float32)
    together = final_scores.inner_products(passages, queries)
    alone = [final_scores.inner_products(passages[row : row + 1], queries[row])[0] for row in range(300)]
    np.testing.assert_array_equal(together, alone)
    backwards = final_scores.inner_products(passages[::-1][:17], queries[::-1][:17])
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
def test_products_are_summed_in_an_order_that_depends_on_their_number_alone(size):
    """Terms of very different sizes that cancel: what is left of them is the order of their sum."""
    generator = np.random.default_rng(size)
    half = generator.normal(size=(50, size // 2)) * 10.0 ** generator.integers(-9, 9, (50, size // 2))
    passages = np.hstack((half, -half[:, ::-1], np.zeros((50, size % 2)))).astype(np.float32)
    terms = passages.astype(float).tolist()
    expected = np.float32([in_pairs(row) for row in terms])
    products = final_scores.inner_products(passages, np.ones(size, np.float32))
    np.testing.assert_array_equal(products, expected)
    assert size < 8 or (np.float32([in_turn(row) for row in terms]) != expected).any()


@pytest.mark.parametrize("scale", [1e-25, 1e-3, 1, 1e10])
@pytest.mark.parametrize("size", [3, 64, 768])
def test_float32_sums_in_any_order_lie_within_the_bound(tmp_path, size, scale):
    generator = np.random.default_rng(size)
    passages = (scale * generator.normal(size=(500, size)) ** 3).astype(np.float32)
    queries = (generator.normal(size=(20, size)) ** 3).astype(np.float32)
    file, _ = embeddings(tmp_path / "passages", passages)
    rows = np.tile(np.arange(500), (20, 1))
    scores, longest = final_scores.rescore(file, queries, rows)
    bounds = final_scores.error_bounds(queries, longest)
    one_by_one = np.cumsum(queries[:, None] * passages, axis=2, dtype=np.float32)[:, :, -1]
    for products in (one_by_one, queries @ passages.T):
        assert (np.abs(products.astype(float) - scores).max(axis=1) <= bounds).all()
    close(longest, np.linalg.norm(passages.astype(float), axis=1).max())


def test_a_query_is_sure_only_where_no_passage_left_out_can_reach_the_edge():
    found = np.array([[9, 8, 7, 6], [9, 8, 7, 6], [9, 8, 7, 6]], np.float32)
    final = np.array([[9, 8, 7, 6], [9, 7, 7, 6], [9, 8, 7, 5]], np.float32)
    lacking = [final_scores.may_lack(found, final, np.full(3, error), 2).tolist() for error in (0.5, 1, 2)]
    assert lacking == [
        [1, 2],
        [1],
        [0, 1, 2],
    ]  # half a point: scores differ by more; two points: 8 is reached


@pytest.mark.parametrize("rows", [1, 7, 256])
def test_all_passages_that_reach_the_edge_are_found_and_cut_by_id(tmp_path, monkeypatch, rows):
    monkeypatch.setattr(final_scores, "ROWS", rows)
    generator = np.random.default_rng(0)
    passages = generator.integers(0, 3, (400, 4)).astype(np.float32)
    queries = generator.integers(0, 3, (9, 4)).astype(np.float32)
    file, ids = embeddings(tmp_path / "passages", passages)
    products = queries @ passages.T
    edges = np.sort(products, axis=1)[:, -30]
    best = final_scores.among_all(file, ids, queries, edges, np.full(9, 0.5), 30)
    for query, (scores, places) in enumerate(best):
        order = sorted(range(400), key=lambda row: (products[query, row], f"d{row}"), reverse=True)[:30]
        assert sorted(places.tolist()) == sorted(order)
        np.testing.assert_array_equal(scores, products[query, places])


def test_many_short_vectors_are_opened_a_few_times(tmp_path, monkeypatch):
    np.save(tmp_path / "vectors.npy", np.ones((20_000, 64), np.float32))
    file, opened, memmap = vector_files.VectorFile(tmp_path), [], np.memmap

    def counted(*given, **more):
        opened.append(given)
        return memmap(*given, **more)

    monkeypatch.setattr(np, "memmap", counted)
    monkeypatch.setattr(np, "load", None)  # headers are not read again
    final_scores.rescore(file, np.ones((2, 64), np.float32), np.array([[0, 19_999], [5, 4_096]]))
    assert len(opened) <= 6
