import pytest

from repro.errors import DataError
from repro.running.workspace import keep_data, measured_data
from repro.store.results import Results


def test_identities_of_data_are_kept_beside_those_of_a_release_and_a_broken_file_is_named(tmp_path):
    release, own = Results(tmp_path / "release"), Results(tmp_path / "own", tmp_path / "release")
    for results, known in ((release, {"a qrels": "sha256:1"}), (own, {"b qrels": "sha256:2"})):
        results.root.mkdir()
        keep_data(results, known)
    assert measured_data(own) == {"a qrels": "sha256:1", "b qrels": "sha256:2"}
    keep_data(own, {"a qrels": "sha256:3"})
    assert measured_data(own)["a qrels"] == "sha256:3" and measured_data(release) == {"a qrels": "sha256:1"}
    (own.root / "data.json").write_text("[]")
    with pytest.raises(DataError, match=r"data\.json: not a mapping"):
        measured_data(own)
