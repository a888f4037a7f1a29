import contextlib
import json

import pytest
from datasets import Dataset

from repro.machine import system
from repro.progress import Progress
from repro.retrieval.stages import bm25, lucene_index
from tests.retrieval.stages import outputs

pytestmark = pytest.mark.skipif(system.missing_java() is not None, reason="no Java 21 on this machine")

DOCUMENTS = [
    ("d1", "Oak", "The oak stands."),
    ("d2", "", "Moss covers oak and stone."),
    ("d3", "Fern", ""),
    ("d4", "", " \n"),
]


class Recorded(Progress):
    def __init__(self, dies_at=None):
        self.steps, self.dies_at = [], dies_at

    @contextlib.contextmanager
    def task(self, name, total=None):
        self.steps.append(total)
        yield self.advance

    def advance(self, n=1):
        self.steps.append(n)
        if len(self.steps) == self.dies_at:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    columns = dict(zip(("id", "title", "text"), map(list, zip(*DOCUMENTS, strict=True)), strict=True))
    Dataset.from_dict(columns).save_to_disk(str(folder / "arrow"))
    return folder


@pytest.fixture(scope="module")
def flat(corpus, tmp_path_factory):
    out, progress = tmp_path_factory.mktemp("index"), Recorded()
    (out / "lucene").mkdir()
    (out / "lucene" / "write.lock").touch()
    (out / "lucene" / "segments_1").write_text("torn")
    return out, lucene_index.run({"multifield": False}, {"corpus": corpus}, out, progress), progress


def test_the_output_is_the_recorded_one_as_long_as_the_version_is(flat, renewing):
    out, facts, _ = flat
    outputs.check("lucene_index", out, facts, renew=renewing)


def test_facts_count_documents_and_those_without_contents(flat):
    _, facts, _ = flat
    assert (facts["documents"], facts["without_contents"]) == (4, 1)
    assert facts["pyserini"] and facts["java"] and facts["jar"].startswith("anserini-")


def test_what_an_interrupted_attempt_left_is_overwritten(flat):
    out = flat[0]
    assert sorted(path.name for path in out.iterdir()) == ["blocks", "fields.json", "lucene", "lucene.log"]
    assert (out / "lucene" / "segments_1").read_bytes() != b"torn"


def hits(index, folder):
    folder.mkdir()
    lines = (json.dumps({"id": text[:3], "text": text}) + "\n" for text in ("oak", "moss on a fern"))
    (folder / "queries.jsonl").write_text("".join(lines))
    how = {"k1": 0.9, "b": 0.4, "depth": 10, "multifield": False}
    bm25.run(how, {"index": index, "queries": folder}, folder, Progress())
    return (folder / "run.trec").read_text()


@pytest.mark.nightly
def test_killed_between_commits_it_goes_on_and_finds_the_same(flat, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(lucene_index, "COMMIT", 1)
    (tmp_path / "index").mkdir()
    params, inputs = {"multifield": False}, {"corpus": corpus}
    with pytest.raises(KeyboardInterrupt):
        lucene_index.run(params, inputs, tmp_path / "index", Recorded(dies_at=3))
    progress = Recorded()
    facts = lucene_index.run(params, inputs, tmp_path / "index", progress)
    assert facts == flat[1] | {"peak_memory_kib": facts["peak_memory_kib"]}
    assert progress.steps[0] == sum(progress.steps[1:]) == 4
    note = json.loads((tmp_path / "index/blocks/commit.json").read_text())
    assert len(progress.steps) == 6 - progress.steps[1] and note["counts"]["documents"] == 4
    found = hits(tmp_path / "index", tmp_path / "again")
    assert found == hits(flat[0], tmp_path / "at once") and "d2" in found
