import json
import subprocess
import sys

import numpy as np
import pytest

from repro.errors import DataError
from repro.retrieval.stages import project
from repro.retrieval.stages.project import measured

PARAMS = {"query": "q1", "candidates": 20, "perplexity": 30.0, "seed": 42, "method": "t-sne", "grade": 1}


def _embeddings(folder, ids, vectors):
    folder.mkdir()
    np.save(folder / "vectors.npy", vectors.astype(np.float32))
    (folder / "ids.txt").write_text("".join(f"{identifier}\n" for identifier in ids))
    return folder


@pytest.fixture
def inputs(tmp_path):
    """Thirty documents, the first five near the query and relevant; the run has them by their score."""
    generator = np.random.default_rng(3)
    documents = generator.normal(size=(30, 8))
    documents[:5] += 4
    query = np.full((2, 8), 1.0)
    order = np.argsort(-(documents @ query[0]))
    for name in ("run", "qrels"):
        (tmp_path / name).mkdir()
    lines = [f"q1 Q0 d{n} {rank} {100 - rank} x" for rank, n in enumerate(order.tolist(), 1)]
    lines += [f"q2 Q0 d{n} {n + 1} {100 - n} x" for n in range(9)]
    (tmp_path / "run/run.trec").write_text("\n".join(lines) + "\n")
    (tmp_path / "qrels/qrels.trec").write_text("".join(f"q1 0 d{n} {3 if n < 5 else 0}\n" for n in range(12)))
    return {
        "passages": _embeddings(tmp_path / "p", [f"d{n}" for n in range(30)], documents),
        "queries": _embeddings(tmp_path / "q", ["q0", "q1"], query),
        "run": tmp_path / "run",
        "qrels": tmp_path / "qrels",
    }


def _run(inputs, out, progress, **changes):
    out.mkdir()
    facts = project.run(PARAMS | changes, inputs, out, progress)
    return facts, json.loads((out / "exhibit.json").read_text())


def test_the_query_and_its_first_candidates_have_a_place_and_a_role(inputs, tmp_path, progress):
    facts, exhibit = _run(inputs, tmp_path / "out", progress)
    roles = [point["role"] for point in exhibit["points"]]
    assert roles.count("query") == 1 and len(roles) == 21 and facts["candidates"] == 20
    relevant = {point["id"] for point in exhibit["points"] if point["role"] == "relevant"}
    assert relevant == {f"d{n}" for n in range(5)}
    grades = {point["id"]: point["grade"] for point in exhibit["points"]}
    assert grades["d0"] == 3 and {grades[i] for i in grades if i not in relevant} <= {0, None}
    assert all(np.isfinite((point["x"], point["y"])).all() for point in exhibit["points"])


def test_what_the_vectors_say_is_measured_before_they_are_projected(inputs, tmp_path, progress):
    _, exhibit = _run(inputs, tmp_path / "out", progress)
    found = exhibit["measured"]
    assert found["auc"] == 1.0 and found["similarity_to_relevant"] > found["similarity_to_others"]
    vectors = np.load(inputs["passages"] / "vectors.npy").astype(np.float64)
    assert found["similarity_to_relevant"] == pytest.approx(vectors[:5].sum(axis=1).mean())


def test_the_auc_counts_pairs_and_half_of_ties():
    scores = np.array([3.0, 1.0, 1.0, 0.0])
    assert measured(scores, np.array([True, True, False, False]))["auc"] == (1 + 1 + 0.5 + 1) / 4


def test_without_a_relevant_candidate_only_the_others_similarity_is_known():
    found = measured(np.array([3.0, 1.0]), np.array([False, False]))
    assert found == {"similarity_to_relevant": None, "similarity_to_others": 2.0, "auc": None}


def test_a_perplexity_too_large_for_the_points_is_lowered_and_noted(inputs, tmp_path, progress):
    facts, exhibit = _run(inputs, tmp_path / "out", progress)
    assert exhibit["perplexity"] == facts["perplexity"] == 20 / 3
    assert _run(inputs, tmp_path / "low", progress, perplexity=4.0)[0]["perplexity"] == 4.0


@pytest.mark.nightly
def test_another_process_makes_the_same_bytes(inputs, tmp_path, progress):
    _run(inputs, tmp_path / "here", progress)
    (tmp_path / "there").mkdir()
    code = (
        "import json, sys; from pathlib import Path; from repro.progress import Progress; "
        "from repro.retrieval.stages import project; a = json.loads(sys.argv[1]); "
        "project.run(a[0], {k: Path(v) for k, v in a[1].items()}, Path(a[2]), Progress())"
    )
    told = json.dumps([PARAMS, {name: str(path) for name, path in inputs.items()}, str(tmp_path / "there")])
    subprocess.run([sys.executable, "-c", code, told], check=True)
    here, there = ((tmp_path / name / "exhibit.json").read_bytes() for name in ("here", "there"))
    assert here == there


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"query": "q9"}, "'q9' is not in the run"),
        ({"query": "q2"}, "'q2' has no vector"),
        ({"candidates": 3}, "3 candidates"),
    ],
)
def test_what_cannot_be_projected_is_told_in_a_sentence(inputs, tmp_path, progress, changes, said):
    with pytest.raises(DataError, match=said):
        _run(inputs, tmp_path / "out", progress, **changes)


def test_a_candidate_without_a_vector_is_named(inputs, tmp_path, progress):
    (inputs["passages"] / "ids.txt").write_text("".join(f"e{n}\n" for n in range(30)))
    with pytest.raises(DataError, match="has no vector"):
        _run(inputs, tmp_path / "out", progress)


@pytest.mark.parametrize("width", [1, 8])
def test_vectors_that_are_all_alike_still_have_places_and_tie(inputs, tmp_path, progress, width):
    for name, rows in (("passages", 30), ("queries", 2)):
        np.save(inputs[name] / "vectors.npy", np.full((rows, width), 0.1, np.float16))
    _, exhibit = _run(inputs, tmp_path / "out", progress)
    assert all(np.isfinite((point["x"], point["y"])).all() for point in exhibit["points"])
    assert exhibit["measured"]["auc"] == 0.5


def test_what_is_relevant_begins_at_the_grade_asked_for(inputs, tmp_path, progress):
    (inputs["qrels"] / "qrels.trec").write_text("".join(f"q1 0 d{n} {1 if n < 3 else 2}\n" for n in range(5)))
    _, exhibit = _run(inputs, tmp_path / "out", progress, grade=2)
    assert {point["id"] for point in exhibit["points"] if point["role"] == "relevant"} == {"d3", "d4"}
