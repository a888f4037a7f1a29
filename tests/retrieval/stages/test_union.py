"""Training sets side by side."""

from datasets import Dataset, load_from_disk

from repro.progress import Progress
from repro.retrieval.stages import union


def test_every_row_of_every_set_is_kept_in_order(tmp_path):
    for name in ("a", "b"):
        rows = {"query": [f"{name}1", f"{name}2"], "positives": [["p"], ["p"]], "negatives": [["n"], []]}
        Dataset.from_dict(rows).save_to_disk(str(tmp_path / name / "arrow"))
    out = tmp_path / "out"
    out.mkdir()
    facts = union.run({}, {"training_sets": [tmp_path / "a", tmp_path / "b"]}, out, Progress())
    assert load_from_disk(str(out / "arrow"))["query"][:] == ["a1", "a2", "b1", "b2"]
    assert facts == {"rows": [2, 2]}
