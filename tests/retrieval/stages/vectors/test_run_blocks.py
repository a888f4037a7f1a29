import numpy as np
import pytest

from repro.retrieval.stages.vectors import IdFile, Pairs, RunBlocks, in_shares


def ids(folder, prefix, count):
    folder.mkdir()
    (folder / "ids.txt").write_text("".join(f"{prefix}{row}\n" for row in range(count)))
    return IdFile(folder)


def made_up(first, end):
    """Each query of a block has as many passages as its number says, in no order."""
    counts = np.arange(first, end)
    queries = np.repeat(np.arange(end - first), counts)
    order = np.random.default_rng(first).permutation(len(queries))
    rows = np.concatenate([np.arange(count) for count in counts])
    return Pairs(queries[order], rows[order], np.float32(queries + rows / 100)[order])


@pytest.mark.parametrize("damaged", [None, "changed", "cut", "without a digest", "gone"])
def test_blocks_that_are_whole_are_taken_over_and_others_searched_again(tmp_path, damaged):
    blocks, asked, told = RunBlocks(tmp_path, 11, 4), [], []

    def search(first, end):
        asked.append((first, end))
        return made_up(first, end)

    assert blocks.fill(search, told.append) is None
    assert asked == [(0, 4), (4, 8), (8, 11)] and told == []
    block, digest = tmp_path / "blocks/4.npz", tmp_path / "blocks/4.json"
    content = bytearray(block.read_bytes())
    if damaged == "changed":
        content[len(content) // 2] ^= 1
    block.write_bytes(content[:-1] if damaged == "cut" else content)
    if damaged in ("without a digest", "gone"):
        (digest if damaged == "without a digest" else block).unlink()
    asked.clear()
    assert blocks.fill(search, told.append) == (4 if damaged else 11)
    assert asked == ([(4, 8)] if damaged else []) and sum(told) == (7 if damaged else 11)


def test_every_query_is_given_its_documents_in_the_order_of_queries(tmp_path):
    blocks = RunBlocks(tmp_path, 11, 4)
    blocks.fill(made_up, lambda queries: None)
    given = list(blocks.ranked(ids(tmp_path / "q", "q", 11), ids(tmp_path / "d", "d", 20)))
    assert [topic for topic, _, _ in given] == [f"q{number}" for number in range(11)]
    for number, (_, documents, scores) in enumerate(given):
        found = dict(zip(documents, scores, strict=True))
        assert found == {f"d{row}": np.float32(number % 4 + row / 100) for row in range(number)}


def test_what_is_told_adds_up_to_the_queries(tmp_path):
    told = []
    reached = in_shares(told.append, 10, 7)
    for count in (1, 1, 4, 1):
        reached(count)
    assert told == [1, 1, 6, 2]


def test_the_best_pairs_of_each_query_are_cut_by_score_and_then_by_place():
    generator = np.random.default_rng(0)
    queries, rows = (axis.ravel() for axis in np.mgrid[:7, :50])
    chosen = generator.random(350) < np.repeat([0, 0.05, 1, 1, 0.3, 0, 0.5], 50)
    pairs = Pairs(queries[chosen], rows[chosen], generator.integers(0, 5, chosen.sum()).astype(np.float32))
    pairs, places = pairs.of(generator.permutation(len(pairs.rows))), generator.permutation(50)
    cut, edges = pairs.cut(6, places), pairs.edges(6, 8)
    for query in range(8):
        own = pairs.of(pairs.queries == query)
        order = sorted(zip(own.scores, places[own.rows], own.rows, strict=True), reverse=True)[:6]
        ours = cut.of(cut.queries == query)
        assert sorted(ours.rows) == sorted(row for _, _, row in order)
        assert edges[query] == (order[5][0] if len(order) == 6 else -np.inf)
