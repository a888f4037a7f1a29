import errno
import gzip
import json
import os
from types import SimpleNamespace

import pytest

from repro.errors import DataError, StoreError
from repro.graph import Node
from repro.plugins.studies.studies import StudyEvidence, scores_paths, write_scores
from repro.store import disk
from repro.store.results import Results

MLM = {"name": "mlm", "version": 1, "path": ""}
TRAINING = Node("pretrain", {"objective": MLM, "seed": 1})
STORED, OTHER, THIRD = (
    Node("evaluate", {"measures": ["RR@10"], "number": number}, {"run": TRAINING}) for number in (1, 2, 3)
)
SCORES = {"queries": ["p", "q"], "measures": {"RR@10": [1 / 3, 0.1]}}
EMPTY = gzip.compress(b"{}")
BROKEN = {
    "empty": b"",
    "text": b"text",
    "list": gzip.compress(b"[]"),
    "object": EMPTY,
    "cut off": EMPTY[:-3],
    "damaged": EMPTY[:10] + b"\xff" * 12,
}
FACTS = {"steps": 3, "seconds": 1.5, "losses": {"loss": 2.0}}


class _Store:
    def __init__(self, folder, *nodes):
        self._folder, self._stored = folder, {n.fingerprint for n in nodes}

    def state(self, node):
        return "stored" if node.fingerprint in self._stored else "missing"

    def path(self, node):
        (self._folder / "scores.json").write_text(json.dumps(SCORES | {"missing": []}))
        return self._folder

    def record(self, node):
        return {"facts": FACTS}


def _plan(*parts):
    measurements = [SimpleNamespace(parts=(part,)) for part in parts]
    return SimpleNamespace(
        scale=SimpleNamespace(name="tiny"), of_table=lambda *_: SimpleNamespace(measurements=measurements)
    )


def _write(plan, store, results):
    return write_scores(plan, store, results, paper="toy", table="1")


def test_what_the_store_knows_is_known_without_it_digit_by_digit(tmp_path):
    results = Results(tmp_path / "results")
    path = _write(_plan(STORED, OTHER), _Store(tmp_path, STORED, TRAINING), results)
    assert path == tmp_path / "results/scores/tiny/toy-table1.json.gz"
    known = StudyEvidence(_Store(tmp_path), scores_paths(results, "tiny", "toy", "1"))
    assert known.scores(STORED) == SCORES and known.scores(OTHER) is None
    assert known.state(TRAINING) == "stored" and known.state(OTHER) == "missing"
    assert known.record(TRAINING) == {"facts": {"steps": 3, "seconds": 1.5}}
    again = path.read_bytes()
    assert _write(_plan(STORED, OTHER), _Store(tmp_path), results) == path
    assert path.read_bytes() == again


def test_what_the_plan_has_no_more_stays_in_the_file_and_nothing_known_is_no_file(tmp_path):
    results = Results(tmp_path / "results")
    assert _write(_plan(OTHER), _Store(tmp_path, STORED, TRAINING), results) is None
    assert not (tmp_path / "results").exists()
    path = _write(_plan(STORED, OTHER), _Store(tmp_path, STORED, OTHER, TRAINING), results)
    assert len(json.loads(gzip.decompress(path.read_bytes()))["evaluations"]) == 2
    before = path.read_bytes()
    _write(_plan(OTHER), _Store(tmp_path), results)
    assert path.read_bytes() == before


def test_what_another_process_adds_after_the_file_was_read_stays_in_it(tmp_path):
    results, store = Results(tmp_path / "results"), _Store(tmp_path, STORED, TRAINING)
    known, others = store.state, iter([_Store(tmp_path, THIRD)])

    def interrupted(node):
        if node == STORED:
            for other in others:
                _write(_plan(THIRD), other, results)
        return known(node)

    store.state = interrupted
    path = _write(_plan(OTHER, STORED), store, results)
    evaluations = json.loads(gzip.decompress(path.read_bytes()))["evaluations"]
    assert evaluations.keys() == {STORED.fingerprint, THIRD.fingerprint}


def test_a_file_that_cannot_be_written_anew_stays_as_it_was(tmp_path, monkeypatch):
    results = Results(tmp_path / "results")
    path = _write(_plan(STORED, OTHER), _Store(tmp_path, STORED, OTHER, TRAINING), results)
    before = path.read_bytes()

    def full(new):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(disk, "sync", full)
    with pytest.raises(StoreError, match="no space is left"):
        _write(_plan(OTHER), _Store(tmp_path), results)
    assert path.read_bytes() == before
    assert [file for file in path.parent.iterdir() if file.suffix != ".lock"] == [path]


def test_the_store_counts_before_the_file_and_the_last_file_before_the_first(tmp_path):
    def file(name, score):
        content = {"evaluations": {}, "trainings": {}}
        for node in (STORED, OTHER):
            content["evaluations"][node.fingerprint] = {"queries": ["p"], "measures": {"RR@10": [score]}}
        (tmp_path / name).write_bytes(gzip.compress(json.dumps(content).encode()))
        return tmp_path / name

    known = StudyEvidence(_Store(tmp_path, STORED), (file("a", 0.1), file("b", 0.2), tmp_path / "absent"))
    assert known.scores(STORED)["measures"] == SCORES["measures"]
    assert known.scores(OTHER)["measures"] == {"RR@10": [0.2]}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_file_that_holds_no_scores_is_refused_in_one_sentence(tmp_path, content):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(DataError, match=r"a is malformed \(\w+\)\. Remove it"):
        StudyEvidence(_Store(tmp_path), (tmp_path / "a",)).scores(OTHER)
