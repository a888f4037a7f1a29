import importlib.util
import json
import re
import shutil
import sys

import pytest

from repro.errors import BlockedError, UsageError
from repro.progress import Progress
from repro.running.engines import snakemake
from repro.running.engines.snakemake import BASE, execute, write
from repro.running.runner import Options
from repro.stage_table import STAGES
from repro.store import Store

needs_snakemake = pytest.mark.skipif(
    importlib.util.find_spec("snakemake") is None,
    reason="Snakemake, of the extra `snakemake`, is not installed",
)
# In place of `repro stage`: copies artefacts of another store, but for those named in `once` or `never`.
STAGE = """
root=$1 given=$2 status=0; shift 2; cd "$given"
for one; do
  if rm "once/$one" 2>/dev/null || [ -e "never/$one" ]; then echo "repro: $one is not to be" >&2; status=3
  else cp -r --parents */"$one" "$root"; fi
done
exit $status
"""


@pytest.fixture
def written(make, store, tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)

    def build(at="tiny", **options):
        plan = make(at=at)
        plan.look(store)
        write(plan.nodes, plan, store, tmp_path / "jobs", Options(gpu="h100", **options))
        return json.loads((tmp_path / "jobs" / "plan.json").read_text())

    return build


def test_there_is_a_rule_a_stage_and_a_job_an_artefact_that_waits_for_its_inputs(written, make, store):
    content, nodes = written(), make().nodes
    assert set(content["rules"]) - {"score"} <= STAGES.keys()
    built = [word for job in content["jobs"].values() for word in job["arguments"].split()]
    assert sorted(built) == sorted(n.fingerprint for n in nodes)
    by_stage = {job["rule"]: job for job in content["jobs"].values()}
    [corpus] = {node.fingerprint for node in nodes if node.stage == "lucene_index" for node in node.parents()}
    assert by_stage["lucene_index"]["after"] == [f"done/corpus/{corpus}"]
    assert by_stage["corpus"]["after"] == []
    program = content["rules"]["corpus"]["program"]
    assert program.endswith(f"-P -m repro --store {store.root} stage") and "PYTHONSAFEPATH=1" in program


def test_models_ask_for_gpus_at_the_papers_scale_and_what_lets_files_go_comes_first(written, monkeypatch):
    assert {rule["gpu"] for rule in written()["rules"].values()} == {0}
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    rules = written("full", gpus_per_stage=4)["rules"]
    assert [rules[name]["gpu"] for name in ("finetune", "encode", "score", "corpus")] == [4, 4, 4, 0]
    assert "--nproc-per-node=4" in rules["finetune"]["program"]
    assert "torch.distributed" not in rules["score"]["program"] and rules["score"]["threads"] == 3
    order = sorted(rules, key=lambda name: rules[name]["priority"])
    assert order.index("finetune") < order.index("encode") < order.index("search") < order.index("score")


def test_shards_are_jobs_of_one_rule(written):
    jobs = written("full", shards=4)["jobs"]
    parts = {name: job for name, job in jobs.items() if name.endswith("-of-4") and job["rule"] == "encode"}
    name = next(name for name in parts if ".2-of-4" in name)
    assert parts[name]["arguments"] == f"{name.partition('.')[0]} --shard 2/4"
    readers = [job for job in jobs.values() if f"done/encode/{name}" in job["after"]]
    assert readers and all(sum(name[:64] in one for one in job["after"]) == 4 for job in readers)


def test_without_snakemake_it_is_one_sentence(make, store, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        BlockedError, match=r"Snakemake is not installed; python -m pip install 'repro-bench\["
    ):
        execute(make(), store, Progress(), Options())


@pytest.mark.parametrize(
    "log, sentence",
    [
        ("", "did not begin or was killed"),
        ("  5 of 9\n", "was ended by SIGKILL, perhaps out of memory, without a message"),
        ("Traceback\nstatus 1\n", "ended with status 1 without a message"),
        ("repro: no such thing; get it\nstatus 3\n", "no such thing; get it"),
        ("repro: no Java; install one\nstatus 4\n", "no Java; install one"),
    ],
)
def test_why_a_job_failed_follows_from_what_it_said(make, tmp_path, log, sentence):
    node, file = make(("bm25",)).nodes[0], tmp_path / "a.log"
    assert snakemake._result(node, file) is None
    file.write_text(log)
    assert sentence in str(snakemake._result(node, file))


class Said(Progress):
    def __init__(self):
        self.notes = []

    def note(self, message):
        self.notes.append(message)


@pytest.fixture
def given(make, store, tmp_path, monkeypatch):
    """A plan, and a store that has its artefacts, from which jobs copy them; with folders once and never."""
    plan, spare = make(("bm25",)), Store(tmp_path / "spare")
    for node in plan.nodes:
        spare.build(node, lambda out: (out / "x").write_bytes(b"0") and None)
    for name in ("once", "never"):
        (spare.root / name).mkdir()
    program = ["sh", "-c", STAGE, "stage", str(store.root), str(spare.root)]
    monkeypatch.setattr(snakemake.child, "stage_command", lambda store, processes: program)
    monkeypatch.setattr(snakemake, "LOOK", 0.1)
    return plan, spare


@needs_snakemake
def test_a_run_tries_again_lets_go_and_goes_on_beside_what_fails(given, store, monkeypatch, capfd):
    monkeypatch.setattr(snakemake, "ALWAYS", snakemake.ALWAYS[:3])
    plan, spare = given
    of = {node.stage: node for node in plan.nodes}
    (spare.root / "once" / of["corpus"].fingerprint).touch()
    (spare.root / "never" / of["evaluate"].fingerprint).touch()
    said = Said()
    outcome = execute(plan, store, said, Options(discard=("indexes",)))
    assert {n.stage for n in outcome.run} == {"corpus", "queries", "qrels", "lucene_index", "bm25"}
    first, second = re.findall(r"localrule corpus:.*?mem_mb=(\d+)", capfd.readouterr().err, re.DOTALL)
    assert int(second) == 2 * int(first) > BASE
    [error] = outcome.failed.values()
    assert str(error) == f"{of['evaluate'].fingerprint} is not to be"
    assert store.state(of["lucene_index"]) == "missing" and "discarded: lucene_index" in said.notes[-1]

    shutil.rmtree(spare.root / "never")
    again = execute(plan, store, Progress(), Options())
    assert [n.stage for n in again.run] == ["evaluate"] and not again.failed
    assert len(list((store.root / "snakemake").iterdir())) == 0
    assert not execute(plan, store, said, Options()).run


def test_a_profile_that_it_refuses_is_told_before_anything_is_lost(given, store, monkeypatch):
    plan, _ = given
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: True)
    monkeypatch.setattr(snakemake, "command", lambda folder: [sys.executable, "-c", "raise SystemExit(1)"])
    with pytest.raises(UsageError, match="Snakemake ended with status 1 before any job"):
        execute(plan, store, Progress(), Options(profile="nowhere"))
