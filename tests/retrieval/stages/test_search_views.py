"""Tests of ``vectors/exact_search.py``, ``products.py`` and ``search_memory.py``."""

import functools
import os

import numpy as np
import pytest
import scipy.sparse  # noqa: F401 - loaded here, so that it is no part of what a search holds
import torch

from repro.errors import DataError, StageError, UsageError
from repro.progress import Progress
from repro.retrieval.evaluation.runs import read_run
from repro.retrieval.stages import search_views
from repro.retrieval.stages.vectors import Views, exact_search, products, search_memory
from repro.retrieval.stages.vectors.products import Tile, ViewScorer
from tests.bounded_memory import in_fresh_process, peak_growth
from tests.floats import close
from tests.retrieval.stages.conftest import folders
from tests.retrieval.stages.views_made_up import save_views

BOTH = ["dense", "sparse"]


def sides(generator, *, whole: bool, passages=300, queries=9, h=6, v=40, density=0.2):
    """Dense and sparse rows of passages and queries; whole numbers tie often and have exact sums."""
    made = {}
    for name, count in {"passages": passages, "queries": queries}.items():
        if whole:
            dense, sparse = generator.integers(-1, 2, (count, h)), generator.integers(1, 3, (count, v))
        else:
            dense, sparse = generator.normal(size=(count, h)), generator.random((count, v))
        kept = generator.random((count, v)) < density
        made[name] = {
            "dense": dense.astype(np.float32),
            "sparse": np.where(kept, sparse, 0).astype(np.float32),
        }
    return made


def found(tmp_path, progress, made, **params):
    inputs = {}
    for name, prefix in {"passages": "d", "queries": "q"}.items():
        inputs[name] = save_views(tmp_path / name, prefix, **made[name])
    given = {"depth": 20, "terms": BOTH, "mode": "exact", "list_depth": None} | params
    facts = search_views.run(given, inputs, tmp_path, progress)
    return {q: [name for name, _ in ranking] for q, ranking in read_run(tmp_path / "run.trec").items()}, facts


def order(scores):
    return sorted(range(len(scores)), key=lambda row: (scores[row], f"d{row}"), reverse=True)


def brute_force(made, *, depth, terms, list_depth=None):
    """One pair after another; with a list depth, among those only that one view ranks so high."""
    run, sums = {}, []
    for number in range(len(made["queries"][terms[0]])):
        by_view = {
            view: made["passages"][view].astype(float) @ made["queries"][view][number].astype(float)
            for view in set(terms)
        }
        total = sum(by_view[term] for term in terms).astype(np.float32)  # rounded once
        by_view = {view: scores.astype(np.float32) for view, scores in by_view.items()}
        ranking = order(total)
        if list_depth:
            listed = {row for scores in by_view.values() for row in order(scores)[:list_depth]}
            ranking = [row for row in ranking if row in listed]
        run[f"q{number}"] = [f"d{row}" for row in ranking[:depth]]
        sums += [total[row] for row in ranking[:depth]]
    return run, sums


@pytest.fixture(params=["CPU", "GPU"])
def way(request, monkeypatch):
    """The way in which each device multiplies; that of a GPU takes any device, and here the CPU."""
    monkeypatch.setattr(products, "uses_inverted_index", lambda where: request.param == "CPU")
    return request.param


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("size", [1 << 30, 9000])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("terms", [BOTH, ["sparse", "sparse"], ["dense"], ["sparse"]])
@pytest.mark.parametrize("depth", [20, 1000])
def test_the_ranking_is_that_of_brute_force_to_the_last_rank(
    tmp_path, progress, monkeypatch, size, whole, terms, depth
):
    monkeypatch.setattr(search_memory, "BLOCK_BYTES", size)
    monkeypatch.setattr(search_memory, "TILE", 1000 if size > 9000 else 4)
    monkeypatch.setattr(exact_search, "BLOCK", 1000 if size > 9000 else 7)
    made = sides(np.random.default_rng(0), whole=whole)
    run, facts = found(tmp_path, progress, made, terms=terms, depth=depth)
    expected, sums = brute_force(made, depth=depth, terms=terms)
    assert run == expected
    assert facts["lines"] == 9 * min(depth, 300)
    close(np.load(tmp_path / "raw.npy"), sums)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("size", [1 << 30, 9000])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("depth", "list_depth"), [(10, 7), (50, 7), (20, 500)])
def test_a_union_ranks_what_either_view_lists(
    tmp_path, progress, monkeypatch, size, whole, depth, list_depth
):
    monkeypatch.setattr(search_memory, "BLOCK_BYTES", size)
    made = sides(np.random.default_rng(2), whole=whole)
    run, _ = found(tmp_path, progress, made, mode="union", depth=depth, list_depth=list_depth)
    assert run == brute_force(made, depth=depth, terms=BOTH, list_depth=list_depth)[0]
    if depth == 50:
        assert all(7 <= len(ranking) <= 14 for ranking in run.values())


def test_texts_without_any_value_score_zero(tmp_path, progress):
    made = sides(np.random.default_rng(3), whole=False, density=0.0, passages=5, queries=2)
    run, _ = found(tmp_path, progress, made, terms=["sparse"])
    assert run == {f"q{n}": ["d4", "d3", "d2", "d1", "d0"] for n in range(2)}
    assert (np.load(tmp_path / "raw.npy") == 0).all()


def test_a_view_that_only_one_side_lacks_or_of_another_width_is_refused(tmp_path, progress):
    made = sides(np.random.default_rng(4), whole=True)
    lacking = made | {"queries": {"dense": made["queries"]["dense"]}}
    with pytest.raises(DataError, match="the queries have no sparse vectors"):
        found(tmp_path / "lacking", progress, lacking)
    wider = made | {"queries": made["queries"] | {"sparse": np.ones((9, 41))}}
    with pytest.raises(DataError, match="sparse vectors of passages have 40 dimensions, of queries 41"):
        found(tmp_path / "wider", progress, wider)
    with pytest.raises(DataError, match="9 vectors, but 1 ids"):
        save_views(tmp_path / "few/queries", "q", **made["queries"])
        (tmp_path / "few/queries/ids.txt").write_text("q0\n")
        Views.read(tmp_path / "few/queries")


def test_what_is_not_known_or_not_finite_is_refused(tmp_path, progress):
    made = sides(np.random.default_rng(5), whole=True)
    with pytest.raises(DataError, match="the passages have no colour vectors"):
        found(tmp_path / "a", progress, made, terms=["colour"])
    with pytest.raises(UsageError, match="needs their list_depth"):
        found(tmp_path / "b", progress, made, mode="union")
    made["passages"]["dense"][3] = np.inf
    with pytest.raises(StageError, match="not finite"):
        found(tmp_path / "e", progress, made)


def cancelling(generator, *, passages=300, queries=15, h=64, v=40):
    """Rows whose products are of very different sizes and cancel: what is left is the order of their sum."""
    half = generator.normal(size=(passages, h // 2)) * 10.0 ** generator.integers(-9, 9, (passages, h // 2))
    made = sides(generator, whole=False, passages=passages, queries=queries, v=v)
    made["passages"]["dense"] = np.hstack((half, -half[:, ::-1])).astype(np.float32)
    made["queries"]["dense"] = np.ones((queries, h), np.float32)
    return made


def run_bytes(folder):
    return tuple((folder / name).read_bytes() for name in ("run.trec", "raw.npy"))


@pytest.mark.parametrize(("terms", "mode"), [(["sparse", "dense", "dense"], "exact"), (BOTH, "union")])
def test_a_run_has_the_same_bytes_in_any_memory_and_on_any_device(
    tmp_path, progress, monkeypatch, terms, mode
):
    """Products alone, even of float64, order these passages by the number of queries in a block."""
    made, runs = cancelling(np.random.default_rng(0)), set()
    for number, memory in enumerate(("1GB", "120kB", "200kB")):
        monkeypatch.setenv("REPRO_SEARCH_MEMORY", memory)
        (folder := tmp_path / str(number)).mkdir()
        found(folder, progress, made, terms=terms, mode=mode, list_depth=15)
        runs.add(run_bytes(folder))

    def reversed_sums(self, passages, columns):
        products = {view: rows.to_dense().flip(1) @ columns[view].flip(0) for view, rows in passages.items()}
        return {name: sum(products[term] for term in reversed(terms)) for name, terms in self.sums.items()}

    monkeypatch.setattr(products, "uses_inverted_index", lambda where: False)
    monkeypatch.setattr(Tile, "_sums", reversed_sums)
    (folder := tmp_path / "device").mkdir()
    found(folder, progress, made, terms=terms, mode=mode, list_depth=15)
    assert runs == {run_bytes(folder)}


@pytest.mark.parametrize("terms", [["sparse"], BOTH])
def test_a_query_with_many_passages_as_good_as_the_last_one_is_held_against_all(
    tmp_path, progress, monkeypatch, terms
):
    monkeypatch.setitem(exact_search.SPARE, torch.float32, 3)
    made = sides(np.random.default_rng(1), whole=True, density=0.1)
    run, _ = found(tmp_path, progress, made, terms=terms)
    assert run == brute_force(made, depth=20, terms=terms)[0]


def test_a_memory_that_holds_no_query_is_refused_with_one_that_does(tmp_path, progress, monkeypatch):
    made = sides(np.random.default_rng(8), whole=True)
    monkeypatch.setenv("REPRO_SEARCH_MEMORY", "300")
    with pytest.raises(UsageError, match=r"300 bytes are too few .*_MEMORY to at least") as refused:
        found(tmp_path / "refused", progress, made)
    least = str(refused.value).split()[-1]
    monkeypatch.setenv("REPRO_SEARCH_MEMORY", least)
    (tmp_path / "enough").mkdir()
    run, _ = found(tmp_path / "enough", progress, made)
    assert run == brute_force(made, depth=20, terms=BOTH)[0]
    monkeypatch.setenv("REPRO_SEARCH_MEMORY", str(int(least) - 1))
    with pytest.raises(UsageError, match=f"at least {least}"):
        found(tmp_path / "one less", progress, made)


@pytest.mark.parametrize("mode", ["exact", "union"])
def test_no_query_gives_an_empty_run(tmp_path, progress, mode):
    made = sides(np.random.default_rng(9), whole=True, queries=0)
    run, facts = found(tmp_path, progress, made, mode=mode, list_depth=5)
    assert run == {} and facts["lines"] == 0


def fixed_scores(tmp_path, terms):
    passages, queries = (Views.read(tmp_path / name) for name in ("passages", "queries"))
    scorer, run = ViewScorer.of(passages, queries, terms, np.arange(len(queries))), []
    for query in range(len(queries)):
        rows = np.arange(len(passages))
        scores = scorer.scores(np.full(len(rows), query), rows, "")
        best = sorted(((float(score), f"d{row}") for row, score in enumerate(scores)), reverse=True)[:20]
        run.append(best)
    return run


def check_fixed(tmp_path, terms):
    run = read_run(tmp_path / "run.trec")
    expected = fixed_scores(tmp_path, terms)
    assert [[name for name, _ in ranking] for ranking in run.values()] == [
        [name for _, name in best] for best in expected
    ]
    scores = np.float32([score for best in expected for score, _ in best])
    np.testing.assert_array_equal(np.load(tmp_path / "raw.npy"), scores)


def almost_equal(noise, *, passages=900, queries=7, h=32, v=60):
    generator, made = np.random.default_rng(0), {}
    dense, sparse = generator.normal(size=h), np.where(generator.random(v) < 0.5, generator.random(v), 0)
    for name, count, spread in (("passages", passages, noise), ("queries", queries, 0.3)):
        made[name] = {
            "dense": (dense * (1 + spread * generator.normal(size=(count, h)))).astype(np.float32),
            "sparse": (sparse * (1 + spread * generator.random((count, v)))).astype(np.float32),
        }
    return made


@pytest.mark.parametrize("terms", [BOTH, ["sparse"], ["dense", "sparse", "sparse"]])
@pytest.mark.parametrize("noise", [1e-8, 1e-6, 1e-4])
def test_passages_that_float32_cannot_tell_apart_are_ranked_by_the_fixed_score(
    tmp_path, progress, monkeypatch, way, terms, noise
):
    monkeypatch.setattr(exact_search, "SLAB", 1000)
    monkeypatch.setattr(search_memory, "BLOCK_BYTES", 100_000)
    found(tmp_path, progress, almost_equal(noise), terms=terms)
    check_fixed(tmp_path, terms)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("rising", [True, False])
def test_passages_in_the_order_of_their_scores_are_found_all_the_same(tmp_path, progress, rising):
    """Each is better than all before it, so that no block's candidates fit beside those kept."""
    made = sides(np.random.default_rng(0), whole=False, passages=2000, queries=3)
    order = (made["passages"]["dense"] @ made["queries"]["dense"][0]).argsort()[:: 1 if rising else -1]
    made["passages"] = {view: rows[order] for view, rows in made["passages"].items()}
    run, _ = found(tmp_path, progress, made, terms=["dense"])
    assert run == brute_force(made, depth=20, terms=["dense"])[0]


@pytest.mark.usefixtures("way")
def test_products_that_overflow_float32_and_cancel_are_made_in_float64(tmp_path, progress):
    made = sides(np.random.default_rng(0), whole=False, queries=3)
    made["passages"]["dense"][:, :2] = [1e30, -1e30]
    made["queries"]["dense"][:, :2] = 1e20
    found(tmp_path, progress, made)
    check_fixed(tmp_path, BOTH)
    made["queries"]["dense"][:, 1] = 0
    with pytest.raises(StageError, match="not finite"):
        found(tmp_path / "greater", progress, made)


def in_tf32(rows):
    """Float32 numbers, rounded to the ten bits that products in TF32 take of them."""
    if rows.dtype != torch.float32:
        return rows
    return ((rows.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


@pytest.mark.parametrize(("passages", "mode"), [(2000, "exact"), (2000, "union"), (110, "exact")])
def test_products_of_ten_bits_find_the_same_passages(tmp_path, progress, monkeypatch, passages, mode):
    made = sides(np.random.default_rng(0), whole=False, passages=passages, h=64)
    for rows in made.values():
        rows["dense"][:, 0] += 30  # as one dimension of BERT's vectors
    how = {"terms": ["dense"], "mode": mode, "list_depth": 20}
    (tmp_path / "float32").mkdir()
    found(tmp_path / "float32", progress, made, **how)
    multiply = products._products
    rough = lambda rows, columns: multiply(in_tf32(rows), in_tf32(columns))  # noqa: E731
    monkeypatch.setattr(products, "_products", rough)
    monkeypatch.setattr(search_memory, "BLOCK_BYTES", 100_000)
    (tmp_path / "tf32").mkdir()
    found(tmp_path / "tf32", progress, made, **how)
    check_fixed(tmp_path / "tf32", ["dense"])
    assert run_bytes(tmp_path / "float32") == run_bytes(tmp_path / "tf32")


@pytest.mark.parametrize("way_of_asking", ["old", "new", "for all"])
def test_products_are_not_left_to_tf32_and_the_setting_comes_back(
    tmp_path, progress, monkeypatch, way_of_asking
):
    cuda, seen, multiply = torch.backends.cuda.matmul, [], products._products

    def noted(*given):
        seen.append((cuda.fp32_precision, cuda.allow_tf32))
        return multiply(*given)

    monkeypatch.setattr(products, "_products", noted)
    places = {"old": (cuda, "allow_tf32"), "new": (cuda, "fp32_precision")}
    place, name = places.get(way_of_asking, (torch.backends, "fp32_precision"))
    asked = True if name == "allow_tf32" else "tf32"
    try:
        setattr(place, name, asked)
        before = cuda.fp32_precision
        found(tmp_path, progress, sides(np.random.default_rng(0), whole=True))
        assert (getattr(place, name), cuda.fp32_precision) == (asked, before) == (asked, "tf32")
    finally:
        torch.backends.fp32_precision = "none"
        torch.set_float32_matmul_precision("highest")
        cuda.fp32_precision = torch.backends.mkldnn.matmul.fp32_precision = "none"
    assert set(seen) == {("ieee", False)}


@pytest.mark.parametrize("damaged", [None, "changed", "cut", "without a digest"])
def test_an_interrupted_search_takes_over_the_queries_that_are_done(tmp_path, progress, monkeypatch, damaged):
    monkeypatch.setattr(exact_search, "BLOCK", 4)
    made, done = sides(np.random.default_rng(0), whole=False, queries=15), []
    block = exact_search.ViewSearch.block
    inputs = {name: save_views(tmp_path / name, name[0], **made[name]) for name in made}
    how = {"depth": 20, "terms": BOTH, "mode": "exact", "list_depth": None}
    _, out = folders(tmp_path, "straight", "killed")
    facts = search_views.run(how, inputs, tmp_path / "straight", progress)
    assert "resumed_at" not in facts

    def dies(self, first, end, advance):
        if first == dying:
            raise KeyboardInterrupt
        done.append(first)
        return block(self, first, end, advance)

    monkeypatch.setattr(exact_search.ViewSearch, "block", dies)
    dying = 8
    with pytest.raises(KeyboardInterrupt):
        search_views.run(how, inputs, out, progress)
    assert done == [0, 4] and not (out / "run.trec").exists()
    kept, dying = out / "blocks/4.npz", None
    content = bytearray(kept.read_bytes())
    if damaged == "changed":
        content[len(content) // 2] ^= 1
    kept.write_bytes(content[:-30] if damaged == "cut" else content)
    if damaged == "without a digest":
        (out / "blocks/4.json").unlink()
    done.clear()
    again = search_views.run(how, inputs, out, progress)
    assert done == ([4, 8, 12] if damaged else [8, 12])
    assert again == facts | {"resumed_at": done[0]}
    assert run_bytes(out) == run_bytes(tmp_path / "straight")


def search_growth(folder):
    """Memory -> what a search of the views in a folder adds to a process, which has searched a few before."""

    def search(inputs, out):
        out.mkdir()
        torch.set_num_threads(1)  # the threads of a process are not those of its fork
        how = {"depth": 20, "terms": BOTH, "mode": "exact", "list_depth": None}
        folders = {side: folder / inputs / side for side in ("passages", "queries")}
        search_views.run(how, folders, out, Progress())

    grown = {}
    for memory in ("20MB", "2GB"):
        os.environ["REPRO_SEARCH_MEMORY"] = memory
        warm_up = functools.partial(search, "few", folder / f"few-{memory}")
        grown[memory] = peak_growth(functools.partial(search, "many", folder / memory), warm_up=warm_up)
    return grown


def test_a_search_holds_no_more_than_its_memory(tmp_path):
    for name, passages, queries in (("many", 4000, 1500), ("few", 40, 15)):
        width = {"h": 64, "v": 800, "density": 0.1}
        made = sides(np.random.default_rng(0), whole=False, passages=passages, queries=queries, **width)
        for side in made:
            save_views(tmp_path / name / side, side[0], **made[side])
    grown = in_fresh_process(search_growth, tmp_path)
    assert grown["20MB"] < 20e6 + 30e6 < 80e6 < grown["2GB"]  # 30 MB are the buffers of libraries
    assert run_bytes(tmp_path / "20MB") == run_bytes(tmp_path / "2GB")
