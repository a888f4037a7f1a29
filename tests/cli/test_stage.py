"""``repro stage``: one artefact by its fingerprint."""

import json
import shutil

import pytest

from repro.machine import kernels
from tests.cli.conftest import CELL


def _of(measured, stage):
    [path] = (measured / "store" / stage).iterdir()
    return path


def test_an_artefact_is_built_by_its_first_digits_and_its_path_printed(repro, measured):
    scores = _of(measured, "evaluate")
    before = (scores / "scores.json").read_bytes()
    shutil.rmtree(scores)
    said = repro("stage", scores.name[:10])
    assert (said.status, said.out, said.err) == (0, f"{scores}\n", "")
    assert (scores / "scores.json").read_bytes() == before


@pytest.mark.skipif(not kernels.pins(), reason="this processor has no AVX2")
@pytest.mark.parametrize("command", [("stage", "{}"), ("run", CELL, "--scale", "tiny", "--engine", "local")])
def test_kernels_are_pinned_in_the_process_that_builds_an_artefact_and_the_record_says_so(
    command, start, measured, unpinned_environment
):
    scores = _of(measured, "evaluate")
    shutil.rmtree(scores)
    shutil.rmtree(measured / "results")
    process = start(*(word.format(scores.name) for word in command), env=unpinned_environment)
    assert process.wait() == 0
    made = json.loads((scores / "artefact.json").read_text())["facts"]["kernels"]
    assert made["pins"] == kernels.pins()
    for path in measured.glob("results/records/tiny/*.jsonl"):
        [record] = map(json.loads, path.read_text().splitlines())
        assert record["environment"]["kernels"]["pins"] == kernels.pins()
        assert record["environment"]["kernels"]["cpu"] == record["environment"]["hardware"]["cpu"]


def test_kernels_are_left_alone_where_the_plan_did_not_pin_them(start, measured, unpinned_environment):
    scores = _of(measured, "evaluate")
    shutil.rmtree(scores)
    [note] = measured.glob(f"store/nodes/{scores.name}.json")
    description = json.loads(note.read_text())
    assert description.pop("kernels") == "pinned"
    note.write_text(json.dumps(description))
    assert start("stage", scores.name, env=unpinned_environment).wait() == 0
    assert json.loads((scores / "artefact.json").read_text())["facts"]["kernels"]["pins"] == {}


def test_what_is_stored_is_not_built_again(repro, measured):
    scores = _of(measured, "evaluate")
    made = (scores / "artefact.json").stat().st_mtime_ns
    assert repro("stage", scores.name).out == f"{scores}\n"
    assert (scores / "artefact.json").stat().st_mtime_ns == made


def test_a_stage_that_lacks_java_is_blocked(repro, measured, monkeypatch):
    run = _of(measured, "bm25")
    shutil.rmtree(run)
    monkeypatch.setenv("REPRO_JAVA_HOME", "/nonexistent")
    said = repro("stage", run.name)
    assert said.status == 4
    assert "REPRO_JAVA_HOME=/nonexistent is not one; unset it" in said.sentence


def test_a_stage_that_fails_is_status_3_and_names_its_log(repro, measured, monkeypatch):
    from repro.retrieval.stages import evaluate

    def fail(*arguments):
        raise RuntimeError("no luck\nat all")

    scores = _of(measured, "evaluate")
    shutil.rmtree(scores)
    monkeypatch.setattr(evaluate, "run", fail)
    log, victim = measured / f"store/logs/evaluate-{scores.name[:12]}.log", measured / "victim"
    victim.write_text("mine")
    log.parent.mkdir(exist_ok=True)
    log.symlink_to(victim)
    said = repro("stage", scores.name)
    assert said.status == 3
    assert victim.read_text() == "mine" and not log.is_symlink()
    assert said.sentence == f"stage evaluate/{scores.name[:12]} failed: RuntimeError: no luck (log: {log})"
    assert "Traceback" in log.read_text()
    failed = repro(f"run {CELL} --scale tiny")
    assert failed.status == 3 and f"(log: {log})" in failed.err


def test_a_fingerprint_that_several_nodes_begin_with_is_refused(repro, measured):
    note = next((measured / "store/nodes").iterdir())
    note.with_name("f" * 64 + ".json").write_text("{}")
    note.with_name("f" * 63 + "e.json").write_text("{}")
    said = repro("stage ffff")
    assert said.refusal.startswith("several stages planned here have a fingerprint that begins with 'ffff'")
