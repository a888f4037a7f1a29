import errno
import json
import subprocess

import pytest

from repro.retrieval.datasets.arrow import RowBlocks
from tests.cli.conftest import CELL

RUN = f"run {CELL} --scale tiny"
PLAN, COMPARE = f"plan {CELL} --scale tiny", f"compare {CELL} --scale tiny"
LOOKING = ("plan costa --table 1 --scale tiny", PLAN, COMPARE, "store verify")
WORDS = {
    errno.ENOSPC: "no space is left on its file system; free some, or name another with ",
    errno.EROFS: "its file system is read-only; name another with ",
    errno.EACCES: "it may not be written by this user; name another with ",
}


def _only(folder):
    [path] = folder.iterdir()
    return path


@pytest.mark.parametrize("inside", ["", "/store"])
@pytest.mark.parametrize("line", [RUN, f"stage {'0' * 64}", *LOOKING])
def test_a_store_that_is_a_file_is_refused(repro, folders, line, inside):
    (folders / "file").write_text("")
    said = repro(line, "--store", f"{folders}/file{inside}")
    assert said.status == 2
    words = "part of that path is a file; name another with --store or REPRO_STORE"
    assert said.sentence == f"the store {folders}/file{inside} cannot be used: {words}"


@pytest.mark.parametrize("line", [RUN, f"run --rehearse {CELL}", "doctor calibrate"])
def test_a_home_that_is_not_there_has_a_remedy(repro, monkeypatch, line):
    for name in ("REPRO_STORE", "REPRO_RESULTS", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/proc/nohome")
    said = repro(line)
    assert said.status == 2
    place, reason = "/proc/nohome/.cache/repro-bench/store", "/proc/nohome is missing and cannot be made"
    remedy = "name another with --store or REPRO_STORE"
    assert said.sentence == f"the store {place} cannot be used: {reason}; {remedy}"


@pytest.mark.parametrize("number", WORDS)
def test_a_store_that_cannot_be_written_is_refused_before_anything_runs(repro, folders, refuse, number):
    refuse(folders / "store", number)
    said = repro(RUN)
    assert said.refusal == f"the store {folders}/store cannot be used: {WORDS[number]}--store or REPRO_STORE"


@pytest.mark.parametrize("number", WORDS)
def test_results_that_cannot_be_written_are_refused_before_anything_runs(repro, folders, refuse, number):
    refuse(folders / "results", number)
    for line in (RUN, "tables costa --table 1 --scale tiny"):
        said = repro(line)
        assert said.status == 2
        reason = f"{WORDS[number]}--results or REPRO_RESULTS"
        assert said.sentence == f"the results folder {folders}/results cannot be used: {reason}"
    assert not (folders / "store/corpus").exists()


@pytest.mark.parametrize("line", [RUN, PLAN, COMPARE, "store verify"])
def test_results_that_are_a_file_are_refused(repro, folders, line):
    (folders / "results").write_text("")
    assert repro(line).refusal.startswith(f"the results folder {folders}/results cannot be used: ")


@pytest.mark.parametrize("line", LOOKING)
def test_a_store_that_is_read_only_can_be_looked_at(repro, measured, refuse, line):
    before = repro(line)
    refuse(measured, errno.EROFS)
    said = repro(line)
    assert (said.status, said.out) == (before.status, before.out) == (0, said.out)


def test_a_disk_that_fills_up_in_the_middle_of_a_stage_costs_nothing_that_was_done(
    repro, folders, monkeypatch
):
    monkeypatch.setenv("REPRO_JAVA_HOME", "/nonexistent")

    def full(self, first, batches, facts):
        (self.folder / "half").write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(RowBlocks, "write", full)
        said = repro(RUN)
    sentence = f"the store {folders}/store cannot be used: {WORDS[errno.ENOSPC]}--store or REPRO_STORE"
    assert said.status == 3
    assert f"  failed: {sentence}\n" in said.err
    assert "Ran 2 of " in said.err and said.err.endswith(f"Records: {folders}/results\n")
    again = repro(RUN)
    assert again.status == 4
    assert "Ran 1 of " in again.err
    assert repro("store verify").out == "3 artefacts read, 0 damaged\n"


@pytest.mark.nightly
def test_a_disk_that_is_really_full_is_one_sentence_and_with_space_the_same_command_completes(repro, folders):
    disk = folders / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)]
    try:
        allowed = subprocess.run(mount, capture_output=True).returncode == 0
    except FileNotFoundError:
        allowed = False
    if not allowed:
        pytest.skip("mounting a small file system is not allowed here")
    try:
        said = repro(RUN, "--store", disk / "store", "--format", "json")
        assert said.status == 4
        assert f"and the file system of {disk}/store has " in said.json[0]["blocked"][0]["cause"]
        subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
        again = repro(RUN, "--store", disk / "store", "--format", "json")
        assert again.status == 0
        assert again.json[0]["verdict"] == "scaled"
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


DAMAGES = {
    "a record that is no JSON": ("artefact.json", b"{", "artefact.json cannot be read"),
    "a truncated file": ("scores.json", b"{", "scores.json has 1 bytes, "),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_artefact_is_named_by_verify_and_run_and_mended_on_request(repro, measured, name):
    file, content, words = DAMAGES[name]
    victim = _only(measured / "store/evaluate")
    (victim / file).write_bytes(content)
    short = f"evaluate/{victim.name[:12]}"
    checked = repro("store verify")
    assert checked.status == 2
    assert checked.out.startswith(f"damaged: {short}: {words}")
    assert "6 artefacts read, 1 damaged\n" in checked.out
    refused = repro(RUN)
    assert refused.refusal.startswith(f"artefact {short} is damaged: {words}")
    assert refused.sentence.endswith("`repro run --rebuild damaged` builds it again")
    assert repro("stage", victim.name).status == 2
    mended = repro(RUN, "--rebuild", "damaged")
    assert mended.status == 0 and "Ran 1 of " in mended.err
    assert repro("store verify").status == 0


def test_bytes_altered_behind_the_records_back_are_found_by_reading(repro, measured):
    scores = _only(measured / "store/evaluate") / "scores.json"
    scores.write_text("x" * scores.stat().st_size)
    refused = repro(RUN)
    assert refused.refusal.startswith(f"{scores}: damaged (")
    assert "`repro store verify --rebuild` removes the artefact" in refused.sentence
    removed = repro("store verify --rebuild")
    assert removed.status == 0 and "scores.json is altered" in removed.out
    assert repro(RUN).status == 0


@pytest.mark.parametrize("content", ["{", "[]", '{"stage": "evaluate", "params": {}, "inputs": {}}'])
def test_a_damaged_note_of_a_node_is_named(repro, measured, content):
    fingerprint = _only(measured / "store/evaluate").name
    note = measured / "store" / "nodes" / f"{fingerprint}.json"
    note.write_text(content)
    said = repro("stage", fingerprint)
    assert said.refusal.startswith(f"{note} is damaged or of another version. Remove it")


RECORDS = {
    "no JSON": (b"{", "Invalid JSON"),
    "a field too many": (None, "surprise: Unexpected keyword argument"),
    "not a number": (None, "measured: Input should be a finite number"),
}
CHANGES = {"a field too many": {"surprise": 1}, "not a number": {"measured": float("nan")}}


@pytest.mark.parametrize("line", [RUN, PLAN, COMPARE])
@pytest.mark.parametrize("name", RECORDS)
def test_a_corrupt_record_is_named_with_its_line(repro, measured, line, name):
    content, words = RECORDS[name]
    path = measured / "results/records/tiny/costa.jsonl"
    if content is None:
        content = json.dumps({**json.loads(path.read_text()), **CHANGES[name]}).encode()
    with path.open("ab") as records:
        records.write(content + b"\n")
    assert repro(line).refusal.startswith(f"{path}:2: not a record: {words}")
