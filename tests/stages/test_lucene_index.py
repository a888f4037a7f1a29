import contextlib
import json

import pytest
from datasets import Dataset

from repro.lucene import java
from repro.progress import Progress
from repro.stages import lucene_index

pytestmark = pytest.mark.skipif(java.missing() is not None, reason="no Java 21 on this machine")

DOCUMENTS = [
    ("d1", "Oak", "The oak stands."),
    ("d2", "", "Moss covers oak and stone."),
    ("d3", "Fern", ""),
    ("d4", "", " \n"),
]


class Recorded(Progress):
    """Keeps what it is told: the size of a task, then its steps."""

    def __init__(self):
        self.steps = []

    @contextlib.contextmanager
    def task(self, name, total=None):
        self.steps.append(total)
        yield lambda n=1: self.steps.append(n)


@pytest.fixture
def corpus(tmp_path):
    names = ("id", "title", "text")
    Dataset.from_dict(dict(zip(names, map(list, zip(*DOCUMENTS, strict=True)), strict=True))).save_to_disk(
        str(tmp_path / "corpus" / "arrow")
    )
    return tmp_path / "corpus"


def index(corpus, out, *, multifield=False, progress=None):
    out.mkdir(exist_ok=True)
    return lucene_index.run({"multifield": multifield}, {"corpus": corpus}, out, progress or Progress())


def test_facts_count_documents_and_those_without_contents(corpus, tmp_path):
    facts = index(corpus, tmp_path / "out")
    assert (facts["documents"], facts["without_contents"]) == (4, 1)
    assert facts["pyserini"] and facts["java"] and facts["jar"].startswith("anserini-")


def test_with_several_fields_a_title_alone_is_no_contents(corpus, tmp_path):
    assert index(corpus, tmp_path / "out", multifield=True)["without_contents"] == 2
    assert json.loads((tmp_path / "out" / "fields.json").read_text()) == {"multifield": True}


def test_progress_knows_the_size_and_reaches_it(corpus, tmp_path, capfd):
    capfd.readouterr()
    progress = Recorded()
    index(corpus, tmp_path / "out", progress=progress)
    assert progress.steps == [4, 4]
    assert capfd.readouterr() == ("", "")  # all that Java says is in the log
    assert "SimpleIndexer" in (tmp_path / "out" / "lucene.log").read_text()


def test_an_interrupted_attempt_is_overwritten(corpus, tmp_path):
    leftover = tmp_path / "out" / "lucene"
    leftover.mkdir(parents=True)
    (leftover / "write.lock").touch()
    (leftover / "segments_1").write_text("torn")
    index(corpus, tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["fields.json", "lucene", "lucene.log"]
