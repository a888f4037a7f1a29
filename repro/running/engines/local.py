"""The engine that runs stages as processes of this machine, as many at once as fit."""

import os

from repro import errors
from repro.graph import Node
from repro.machine.system import cores, gpu, stated_threads
from repro.progress import Progress
from repro.running import discarding, requirements, run_progress, runner
from repro.running.engines.child import Child, Workers, WorkerStage, interruptions, stop, wait_for_answers
from repro.running.engines.shared_work import ON_ALL_GPUS, SHARED, takes_gpu
from repro.running.plan import Plan
from repro.store import Store

STAY = True
LOOK = 0.05  # seconds


def execute(plan: Plan, store: Store, progress: Progress, options: runner.Options) -> runner.Outcome:
    """Run the nodes of the plan, several at a time. Raises UsageError for too few GPUs.

    A signal, e.g. Ctrl-C, ends the children and raises KeyboardInterrupt. The next run resumes.
    """
    if options.gpus_per_stage != 1 and not 1 <= options.gpus_per_stage <= len(gpus()):
        reason = f"--gpus-per-stage is {options.gpus_per_stage}, but this machine has {len(gpus())} GPUs"
        raise errors.UsageError(f"{reason} (1 is always possible)")
    with runner.prepared_nodes(plan.ends, store, progress, options) as (needed, room):
        return _Run(plan, store, progress, options, needed, room).carry_out()


def default_jobs(plan: Plan, gpus_per_stage: int = 1) -> int:
    shares = len(gpus()) // gpus_per_stage
    return max(cores() // threads(plan), shares + 1 if shares else 1)


def threads(plan: Plan) -> int:
    """Return the threads of a stage: OMP_NUM_THREADS, or 1 for a scale's small backbone, or all cores."""
    return min(stated_threads() or (1 if plan.scale.facts.backbone else cores()), cores())


def gpus() -> list[str]:
    """Return the visible GPUs, e.g. ["0", "1"]."""
    gpu_names = gpu() or []
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if gpu_names and visible:
        return [name.strip() for name in visible.split(",")]
    return [str(n) for n in range(len(gpu_names))]


class _Run:
    def __init__(
        self,
        plan: Plan,
        store: Store,
        progress: Progress,
        options: runner.Options,
        needed: list[Node],
        room: discarding.DiskRoom,
    ):
        self.machine, self.store, self.progress, self.room = plan.machine, store, progress, room
        self.gpus_per_stage = options.gpus_per_stage
        self.jobs = options.jobs or default_jobs(plan, options.gpus_per_stage)
        self.course = run_progress.RunProgress(
            needed,
            plan.nodes,
            store=store,
            machine=plan.machine,
            progress=progress,
            places=run_progress.places(plan),
            beside=self.jobs,
            apart=True,
        )
        self.waiting = needed
        self.running: list[Child | WorkerStage] = []
        self.unsettled = {n.fingerprint for n in needed}
        self.free, self.has_gpus = gpus(), bool(gpus())
        self.share = max(1, cores() // self.jobs)
        self.workers = Workers(store, threads=self.share)
        self.outcome = runner.Outcome()

    def carry_out(self) -> runner.Outcome:
        with interruptions() as signals, self.progress.showing():
            try:
                self._start()
                while self.running and not signals:
                    wait_for_answers(self.running, LOOK)
                    ended_children = [child for child in self.running if child.ended()]
                    for child in ended_children:
                        self._settle(child)
                    for child in self.running:
                        self.course.goes_on(child.node, child.log)
                    if ended_children and not signals:
                        self._start()
            finally:
                stop(self.running)
                self.workers.close()
        if signals:
            raise KeyboardInterrupt
        return self.outcome

    def _start(self) -> None:
        waiting_nodes = []
        for node in self.waiting:
            ready = not any(p.fingerprint in self.unsettled for p in node.parents())
            if ready and runner.held_back(node, self.machine, self.outcome):
                self.unsettled.discard(node.fingerprint)
            elif not ready or not self._begin(node):
                waiting_nodes.append(node)
        self.waiting = waiting_nodes

    def _begin(self, node: Node) -> bool:
        if len(self.running) >= self.jobs or self._gpu_count(node) > len(self.free):
            return False
        obstacle = self.room.lacking(node, [child.node for child in self.running])
        if obstacle and self.running:
            return False
        if obstacle:
            runner.held_back(node, self.machine, self.outcome, obstacle)
            self.unsettled.discard(node.fingerprint)
        else:
            self.course.begins(node)
            self.running.append(self._child(node))
        return True

    def _child(self, node: Node) -> Child | WorkerStage:
        if not self.has_gpus and STAY:
            return self.workers.begin(node)
        gpu_count = self._gpu_count(node)
        gpus = [self.free.pop(0) for _ in range(gpu_count)] if self.has_gpus else None
        processes = max(1, gpu_count) if node.stage in SHARED else 1
        threads = max(1, self.share // processes)
        return Child(node, self.store, threads=threads, gpus=gpus, processes=processes)

    def _gpu_count(self, node: Node) -> int:
        if not (self.has_gpus and takes_gpu(node.stage)):
            return 0
        return self.gpus_per_stage if node.stage in ON_ALL_GPUS else 1

    def _settle(self, child: Child | WorkerStage) -> None:
        self.running.remove(child)
        self.workers.release(child)
        self.free += child.gpus or ()
        result = child.result()
        self.unsettled.discard(child.node.fingerprint)
        self.outcome.add(child.node, result)
        if result is None:
            self.course.ends(child.node)
            self.room.stored(child.node)
        else:
            self.course.fails(
                child.node, result, "blocked" if isinstance(result, requirements.Obstacle) else "failed"
            )
