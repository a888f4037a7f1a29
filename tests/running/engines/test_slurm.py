"""Jobs of Slurm, with programs of its names that note what they are asked."""

import os
import subprocess
from pathlib import Path

import pytest

from repro.errors import UsageError
from repro.graph import Node, walk
from repro.machine.shard import Shard
from repro.manifest.cells import select
from repro.progress import Progress
from repro.running.engines import shared_work, slurm
from repro.running.engines.child import import_path
from repro.running.engines.cluster import Resources, Site, jobs, waiting_fingerprints
from repro.running.engines.cluster import log as log_of
from repro.running.engines.slurm import Batch
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.runner import Options
from repro.running.scale import scale
from repro.store import Store

SBATCH = """#!/bin/bash
cd "$FAKE_SLURM"
[ -e refuse ] && { echo "sbatch: error: invalid partition specified: gpu" >&2; exit 1; }
id=$(($(cat count 2>/dev/null || echo 100) + 1)); echo $id > count
printf '%s\\n' "$@" > $id.words; cat > $id.script; echo "$id;here"
"""
TELLS = """#!/bin/bash
cd "$FAKE_SLURM"; [ -e down ] && { echo "slurm_load_jobs error: unable to contact" >&2; exit 1; }
cat NAME 2>/dev/null; exit 0
"""


@pytest.fixture
def cluster(tmp_path, monkeypatch) -> Path:
    """A folder of what was submitted; its files squeue and sacct are what those programs say."""
    programs, folder = tmp_path / "bin", tmp_path / "cluster"
    programs.mkdir()
    folder.mkdir()
    texts = {"sbatch": SBATCH} | {name: TELLS.replace("NAME", name) for name in ("squeue", "sacct")}
    for name, text in texts.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_SLURM", str(folder))
    return folder


def _submit(plan, store, site=None, **options):
    return slurm.submit(plan, store, Progress(), Options(site=site or Site(), **options))


def _finish(store, *nodes):
    for node in nodes:
        store.build(node, lambda directory: None, waiting=lambda: None)


def _say(cluster, done, **states):
    """squeue's answer: the state of each job by its stage, PENDING unless stated."""
    lines = [f"{id}|{states.get(stage, 'PENDING')}\n" for id, stage in done.items()]
    (cluster / "squeue").write_text("".join(lines))


def _stages(plan, submission) -> dict[str, str]:
    names = {node.fingerprint: node.stage for node in plan.nodes}
    return {id: names[fingerprint] for fingerprint, id in submission.submitted.items()}


def _words(cluster, id):
    return (cluster / f"{id.partition('_')[0]}.words").read_text().splitlines()


def _script(cluster, id):
    return (cluster / f"{id.partition('_')[0]}.script").read_text()


def test_every_node_is_a_job_that_waits_for_its_inputs_jobs(make, store, cluster):
    plan = make(("bm25",))
    done = _submit(plan, store)
    assert set(done.submitted) == {n.fingerprint for n in plan.nodes} and not done.standing
    for node in plan.nodes:
        words = _words(cluster, done.submitted[node.fingerprint])
        assert {"--parsable", "--requeue"} <= set(words)
        inputs = [done.submitted[p.fingerprint] for p in node.parents()]
        waits = [word for word in words if word.startswith("--dependency=")]
        assert waits == ([f"--dependency=afterok:{':'.join(inputs)}"] if inputs else [])
        assert ("--kill-on-invalid-dep=yes" in words) == bool(inputs)
        script = _script(cluster, done.submitted[node.fingerprint])
        last = script.splitlines()[-1]
        assert last.endswith(f" -m repro stage {node.fingerprint} --store {store.root}")
        assert store.remembered(node.fingerprint).fingerprint == node.fingerprint


def test_a_job_asks_for_what_the_site_says_and_runs_its_prologue(make, store, cluster):
    site = Site(
        python="/opt/python",
        default=Resources(cpus=2),
        stages={"bm25": Resources(memory="9G", prologue="module load java")},
    )
    plan = make(("bm25",))
    stages = _stages(plan, _submit(plan, store, site))
    id = next(id for id, stage in stages.items() if stage == "bm25")
    assert {"--cpus-per-task=2", "--mem=9G"} <= set(_words(cluster, id))
    lines = _script(cluster, id).splitlines()
    assert lines[:2] == ["#!/bin/bash", "module load java"]
    assert lines[-1].startswith("exec /opt/python -P -m repro stage ")


def test_a_second_submission_submits_only_what_is_neither_stored_nor_queued(make, store, cluster):
    plan = make(("bm25",))
    first = _submit(plan, store)
    stages = _stages(plan, first)
    _say(cluster, stages, corpus="RUNNING")
    again = _submit(plan, store)
    assert again.submitted == {} and {j.id for j in again.standing.values()} == set(stages)

    _finish(store, *(n for n in plan.nodes if n.stage in ("corpus", "queries", "qrels")))
    _say(
        cluster,
        stages,
        lucene_index="FAILED",
        bm25="CANCELLED",
        evaluate="CANCELLED",
        corpus="COMPLETED",
        queries="COMPLETED",
        qrels="COMPLETED",
    )
    third = _submit(plan, store)
    assert set(_stages(plan, third).values()) == {"lucene_index", "bm25", "evaluate"}
    assert {job.slurm for job in third.again.values()} == {"failed", "cancelled"}
    index = next(n for n in plan.nodes if n.stage == "lucene_index")
    words = _words(cluster, third.submitted[index.fingerprint])
    assert not any(word.startswith("--dependency") for word in words), "its only input is stored"


def test_what_still_waits_for_a_failed_job_is_submitted_with_it(make, store, cluster):
    plan = make(("bm25",))
    stages = _stages(plan, _submit(plan, store))
    _say(cluster, stages, corpus="FAILED")  # Slurm has not yet cancelled the others
    again = _stages(plan, _submit(plan, store))
    assert set(again.values()) == {"corpus", "lucene_index", "bm25", "evaluate"}


def test_a_job_that_squeue_forgot_is_looked_up_in_the_accounting(make, store, cluster):
    plan = make(("bm25",))
    done = _submit(plan, store)
    ids = dict.fromkeys(done.submitted.values())
    first, second, *_ = ids
    (cluster / "sacct").write_text(f"{first}|CANCELLED by 1000\n{second}|OUT_OF_MEMORY\n")
    states = {job.id: (job.state, job.slurm) for job in jobs(store, plan.nodes).values()}
    assert states[first] == ("cancelled", "cancelled") and states[second] == ("failed", "out_of_memory")
    assert {states[id] for id in list(ids)[2:]} == {("failed", "unknown")}


def test_what_is_blocked_here_is_not_submitted(make, store, cluster):
    from repro.running.requirements import Obstacle

    plan = make(("bm25",))
    corpus = next(n for n in plan.nodes if n.stage == "corpus")
    plan.machine.obstacles[corpus.fingerprint] = Obstacle("no data", "get it")
    done = _submit(plan, store)
    assert set(_stages(plan, done).values()) == {"queries", "qrels"}
    assert len(done.outcome.blocked) == len(plan.nodes) - len(done.submitted)


def test_a_gpu_or_java_that_only_this_machine_lacks_holds_nothing_back(make, store, cluster):
    from repro.running.requirements import Obstacle

    plan = make(("bm25",))
    index = next(n for n in plan.nodes if n.stage == "lucene_index")
    plan.machine.obstacles[index.fingerprint] = Obstacle("no Java", "install it", of_machine=True)
    done = _submit(plan, store)
    assert len(done.submitted) == len(plan.nodes) and not done.outcome.blocked


def test_a_percent_sign_in_the_stores_path_stays_one_in_the_log_of_a_job(make, tmp_path, cluster):
    plan, store = make(("bm25",)), Store(tmp_path / "100%j")
    done = _submit(plan, store)
    for node in plan.nodes:
        words = _words(cluster, done.submitted[node.fingerprint])
        assert f"--output={str(log_of(store, node)).replace('%j', '%%j')}" in words


def test_neither_log_nor_note_of_a_job_is_written_through_a_link(make, store, tmp_path, cluster):
    plan, victim = make(("bm25",)), tmp_path / "victim"
    victim.write_text("mine")
    (store.root / "slurm").mkdir(parents=True)
    for node in plan.nodes:
        log_of(store, node).symlink_to(victim)
        (store.root / "slurm" / f"{node.fingerprint}.json").symlink_to(victim)
    _submit(plan, store)
    assert victim.read_text() == "mine"
    assert not any(path.is_symlink() for path in (store.root / "slurm").iterdir())


def test_what_waits_in_the_queue_is_known_and_without_an_answer_all_that_was_submitted(make, store, cluster):
    plan = make(("bm25",))
    stages = _stages(plan, _submit(plan, store))
    _say(cluster, stages, corpus="FAILED", queries="COMPLETED", qrels="RUNNING")
    waiting = {n.stage for n in plan.nodes if n.fingerprint in waiting_fingerprints(store)}
    assert waiting == {"qrels", "lucene_index", "bm25", "evaluate"}
    (cluster / "down").touch()
    assert waiting_fingerprints(store) == {n.fingerprint for n in plan.nodes}


def test_the_path_of_an_installed_program_is_not_told_to_other_pythons(tmp_path, monkeypatch):
    import repro

    monkeypatch.setenv("PYTHONPATH", "/users/own")
    assert import_path().endswith(":/users/own") and import_path() != ":/users/own"
    monkeypatch.setattr(repro, "__file__", str(tmp_path / "site-packages/repro/__init__.py"))
    assert import_path() == "/users/own"


def test_a_refusal_is_told_and_what_was_submitted_before_is_remembered(make, store, cluster):
    (cluster / "refuse").touch()
    with pytest.raises(UsageError, match=r"sbatch refuses corpus/.*: sbatch: error: invalid partition"):
        _submit(make(("bm25",)), store)
    assert jobs(store, make(("bm25",)).nodes) == {}


def test_a_cluster_that_does_not_answer_gets_no_second_jobs(make, store, cluster):
    _submit(make(("bm25",)), store)
    (cluster / "down").touch()
    with pytest.raises(UsageError, match=r"squeue does not answer .*unable to contact"):
        _submit(make(("bm25",)), store)


def test_several_gpus_are_a_process_each_where_a_stage_shares_its_work(make, store, cluster, monkeypatch):
    class Lines(Progress):
        def note(self, message):
            notes.append(message)

    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    notes = []
    resources = Resources(gpus=4, cpus=16)
    site = Site(python="py", stages={"pretrain": resources, "mine": resources, "corpus": Resources(gpus=1)})
    plan = make(("hardneg.costa",))
    stages = _stages(plan, slurm.submit(plan, store, Lines(), Options(site=site)))
    assert [line for line in notes if "GPUs" in line] == [
        "mine: the site file asks for 4 GPUs; this stage is one process, on one"
    ]
    for id, stage in stages.items():
        lines = _script(cluster, id).splitlines()
        launched = lines[-1].startswith("exec srun --nodes=1 --ntasks=1 --cpus-per-task=16 py -P ")
        assert "export PYTHONSAFEPATH=1" in lines  # -P is not told to the processes of torchrun
        shared = "py -P -m torch.distributed.run --standalone --nproc-per-node=4 -m repro stage " in lines[-1]
        assert launched == shared == (stage == "pretrain")
        if stage == "pretrain":
            assert "export OMP_NUM_THREADS=4" in lines and "--gpus=4" in _words(cluster, id)
    assert {"pretrain", "mine", "corpus"} <= set(stages.values())


@pytest.fixture
def small_blocks(monkeypatch):
    """Encodings of the tiny scale have four blocks and more."""
    monkeypatch.setitem(shared_work.DIVISIBLE, "encode", 100)


def _encoding(plan):
    return next(n for n in plan.nodes if n.stage == "encode" and n.params["kind"] == "passages")


def _fill(store, node, *parts):
    for part in parts:
        shared_work.build_shard(node, store, lambda directory: None, Shard.parse(part), waiting=lambda: None)


def _waits(cluster, id) -> set[str]:
    words = [word for word in _words(cluster, id) if word.startswith("--dependency=")]
    return {id for word in words for id in word.removeprefix("--dependency=afterok:").split(":")}


def test_an_encoding_of_passages_is_an_array_of_shards_for_which_its_search_waits(
    make, store, cluster, small_blocks
):
    plan = make(("hardneg.costa",))
    done, node = _submit(plan, store, shards=3), _encoding(plan)
    id = done.submitted[node.fingerprint]
    assert "--array=1,2,3" in _words(cluster, id) and "_" not in id
    last = _script(cluster, id).splitlines()[-1]
    stage = f" -m repro stage {node.fingerprint} --store {store.root}"
    assert last.endswith(f'{stage} --shard "$SLURM_ARRAY_TASK_ID/3"')
    below = [n for n in plan.nodes if any(p.fingerprint == node.fingerprint for p in n.parents())]
    assert below and all(id in _waits(cluster, done.submitted[child.fingerprint]) for child in below)
    job = jobs(store, [node])[node.fingerprint]
    assert [task.id for task in job.tasks] == [f"{id}_{number}" for number in (1, 2, 3)]
    assert [task.log.name.split(".")[-2] for task in job.tasks] == ["1", "2", "3"]


def test_a_shard_that_failed_is_submitted_again_alone(make, store, cluster, small_blocks):
    plan = make(("hardneg.costa",))
    node = _encoding(plan)
    _finish(store, *(n for n in walk([node]) if n is not node))
    first = _submit(plan, store, shards=4)
    id = first.submitted[node.fingerprint]
    _fill(store, node, "1/4")
    others = [f"{other}|PENDING\n" for other in first.submitted.values() if other != id]
    states = {1: "COMPLETED", 2: "NODE_FAIL", 3: "RUNNING", 4: "PENDING"}
    (cluster / "squeue").write_text("".join([f"{id}_{n}|{state}\n" for n, state in states.items()] + others))
    job = jobs(store, [node])[node.fingerprint]
    assert (job.id, job.state, job.slurm) == (f"{id}_2", "failed", "node_fail")
    again = _submit(plan, store, shards=4)
    new = again.submitted[node.fingerprint]
    assert "--array=2" in _words(cluster, new)
    job = jobs(store, [node])[node.fingerprint]
    assert [task.id for task in job.tasks] == [f"{id}_3", f"{id}_4", f"{new}_2"]
    search = next(n for n in plan.nodes if n.fingerprint in again.submitted and node in n.parents())
    assert {f"{id}_3", f"{id}_4", new} <= _waits(cluster, again.submitted[search.fingerprint])


def test_where_all_shards_are_filled_and_nobody_put_them_together_one_does(
    make, store, cluster, small_blocks, monkeypatch
):
    plan = make(("hardneg.costa",))
    node = _encoding(plan)
    _finish(store, *(n for n in walk([node]) if n is not node))
    with monkeypatch.context() as patch:
        patch.setattr(Store, "build", lambda *arguments, **named: None)  # as if killed before
        _fill(store, node, "1/2", "2/2")
    assert shared_work.finished_shards(store, node, 2) == {1, 2} and store.state(node) == "partial"
    assert "--array=2" in _words(cluster, _submit(plan, store, shards=2).submitted[node.fingerprint])


def test_a_training_on_several_machines_is_torchrun_on_each_that_meet_at_the_first(
    make, store, cluster, monkeypatch
):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    site = Site(python="py", default=Resources(cpus=8, gpus=4), stages={"encode": Resources(nodes=3)})
    for id, stage in _stages(plan := make(("hardneg.costa",)), _submit(plan, store, site, nodes=2)).items():
        machines = {"pretrain": 2, "finetune": 2, "encode": 3}.get(stage, 1)
        assert f"--nodes={machines}" in _words(cluster, id)
        assert ("--gpus=4" if machines == 1 else "--gpus-per-node=4") in _words(cluster, id)
        lines = _script(cluster, id).splitlines()
        launched = (
            f"exec srun --nodes={machines} --ntasks={machines} --kill-on-bad-exit=1 --cpus-per-task=8"
            f" py -P -m torch.distributed.run --nnodes={machines} --rdzv-backend=c10d --rdzv-id=stage"
            ' --rdzv-endpoint="$head:$port" --nproc-per-node=4 -m repro stage '
        )
        assert lines[-1].startswith(launched) == (machines > 1)
        assert any(line.startswith("head=$(scontrol") for line in lines) == (machines > 1)


def test_siblings_are_one_submission_and_each_task_runs_its_own_stage(store, cluster):
    cells = select(("simlm",), tables=("5",), rows=(), cells=())
    planned = plan(cells, scale=scale("tiny"), machine=Machine())
    done = _submit(planned, store)
    assert done.calls < len(done.submitted) == len(planned.nodes)
    for node in planned.nodes:
        id, _, number = done.submitted[node.fingerprint].partition("_")
        script, array = _script(cluster, id), [w for w in _words(cluster, id) if w.startswith("--array=")]
        if not number:
            assert f" -m repro stage {node.fingerprint} --store" in script and not array
            continue
        assert number in array[0].removeprefix("--array=").split(",")
        assert f"\n{number}) node={node.fingerprint} ;;\n" in script
        assert ' -m repro stage "$node" --store ' in script


def test_a_task_of_an_array_runs_the_stage_of_its_number(store):
    corpora = {number: Node("corpus", {"dataset": f"c{number}"}) for number in (1, 4)}
    site = Site(python="echo")
    text = slurm.script(Batch(corpora), store, site, slurm.resources_of("corpus", site, None))
    for number, node in corpora.items():
        variables = {**os.environ, "SLURM_ARRAY_TASK_ID": str(number)}
        said = subprocess.run(["bash"], input=text, env=variables, capture_output=True, text=True, check=True)
        assert said.stdout == f"-P -m repro stage {node.fingerprint} --store {store.root}\n"


def test_without_slurm_the_other_engine_is_named(make, store, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match=r"sbatch is not on PATH; .*--engine local"):
        _submit(make(("bm25",)), store)


def test_a_plan_counts_the_jobs_and_names_failures_with_their_logs(make, store, cluster):
    from repro.cli.verbs.plan import job_lines

    plan = make(("bm25",))
    plan.look(store)
    assert list(job_lines(plan, store)) == []  # nothing was ever submitted
    stages = _stages(plan, _submit(plan, store))
    _say(cluster, stages, corpus="FAILED", queries="RUNNING", lucene_index="CANCELLED")
    plan.look(store)
    counted, failed = job_lines(plan, store)
    assert counted == (
        f"Slurm jobs of nodes that are not stored: 1 running, {len(stages) - 3} queued, 1 failed, 1 cancelled"
    )
    corpus = next(n for n in plan.nodes if n.stage == "corpus")
    id = next(id for id, stage in stages.items() if stage == "corpus")
    assert failed.startswith("failed: corpus ") and f": job {id} is failed" in failed
    assert failed.endswith(f"(log: {log_of(store, corpus)})")
    (cluster / "down").touch()
    [line] = job_lines(plan, store)
    assert line.startswith("squeue does not answer (")
