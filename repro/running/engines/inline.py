"""The default engine, which runs stages one after another in this process."""

import contextlib
import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from repro import errors, version
from repro.graph import Node, walk
from repro.machine import kernels, system
from repro.machine.shard import WHOLE, Shard, shard
from repro.manifest.papers import bind_papers_package
from repro.progress import Progress
from repro.running.engines.shared_work import build, build_shard
from repro.running.plan import Plan
from repro.running.provenance import JOINED_BY, made_by
from repro.running.requirements import Machine, Obstacle
from repro.running.run_progress import Place, RunProgress, places
from repro.running.runner import Options, Outcome, held_back, prepared_nodes
from repro.store import Store, disk, translated_errors, underway

_QUIET = {
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "true",
    "OMP_WAIT_POLICY": "PASSIVE",  # spinning slows other processes
}

_DEFAULT = Options()


def run_node(node: Node, store: Store, progress: Progress, part: Shard = WHOLE) -> Path | None:
    """Build the node. Returns its artefact, or None while other shards are missing.

    Raises StageError with the log, or the stage's ReproError.
    """
    _quieten_libraries()

    def work(directory: Path) -> dict:
        return run_stage(node, store, directory, progress)

    store.progress = progress
    try:
        if not part.whole:
            return build_shard(node, store, work, part)
        return build(node, store, work)
    except errors.ReproError:
        raise
    except Exception as error:
        log = store.log(node)
        if process := system.launched_rank():
            log = log.with_suffix(f".{process}.log")
        with translated_errors(store.root):
            log.parent.mkdir(exist_ok=True)
            with disk.create_file(log) as file:
                file.write(traceback.format_exc())
        reason = str(error).strip().splitlines() or [""]
        raise errors.StageError(
            f"stage {node} failed: {type(error).__name__}: {reason[0]} (log: {log})"
        ) from error


def run_stage(node: Node, store: Store, directory: Path, progress: Progress) -> dict:
    """Run a stage into a directory, and return the facts of its artefact."""
    _quieten_libraries()
    bind_papers_package()
    code_facts = made_by(node)
    earlier_code_facts, input_contents = beginnings(directory, code_facts), store.contents(node.parents())
    stage = importlib.import_module(f"repro.retrieval.stages.{node.stage}")
    inputs = {name: _paths(value, store) for name, value in node.inputs.items()}
    start, peak, tasks = time.monotonic(), system.PeakMemory(), TimedTasks(progress)
    system.begin_gpu_peak()
    with contextlib.redirect_stdout(sys.stderr):
        facts = stage.run(dict(node.params), inputs, directory, tasks) or {}
    code_facts = made_by_all(code_facts, earlier_code_facts, facts)
    seconds = round(time.monotonic() - start, 3)
    return {
        **facts,
        "seconds": seconds,
        "tasks": tasks.facts,
        **code_facts,
        "inputs": input_contents,
        **_circumstances(max(peak.kib(), facts.get("peak_memory_kib", 0))),
    }


def ensure(
    nodes: Iterable[Node],
    store: Store,
    progress: Progress,
    *,
    machine: Machine,
    options: Options = _DEFAULT,
    quiet: bool = False,
    places: Mapping[str, Sequence[Place]] = MappingProxyType({}),
    run: Callable[[Node, Store, Progress], Path | None] = run_node,
) -> Outcome:
    """Run those of ``nodes`` that the store lacks, with their inputs. Raises StoreError.

    A failed node stops only nodes that need it. ``run`` builds a single node.
    """
    ends, outcome, display = list(nodes), Outcome(), Progress() if quiet else progress
    with prepared_nodes(ends, store, display, options) as (needed, room):
        course = RunProgress(
            needed, walk(ends), store=store, machine=machine, places=places, progress=display
        )
        with progress.showing():
            for node in needed:
                if held_back(node, machine, outcome) or held_back(node, machine, outcome, room.lacking(node)):
                    continue
                if _carry_out(node, course, outcome, lambda node: run(node, store, progress)):
                    room.stored(node)
    return outcome


def _carry_out(node: Node, course: RunProgress, outcome: Outcome, run: Callable[[Node], object]) -> bool:
    course.begins(node)
    try:
        run(node)
    except errors.BlockedError as error:
        outcome.add(node, Obstacle(error.cause, error.remedy))
        course.fails(node, error, "blocked")
    except errors.ReproError as error:
        outcome.failed[node.fingerprint] = error
        course.fails(node, error)
    else:
        outcome.add(node, None)
        course.ends(node)
        return True
    return False


def execute(plan: Plan, store: Store, progress: Progress, options: Options) -> Outcome:
    """Run the plan's nodes one after another, and return the outcome. Raises StoreError."""
    return ensure(plan.ends, store, progress, machine=plan.machine, options=options, places=places(plan))


def _quieten_libraries() -> None:
    os.environ.update({name: value for name, value in _QUIET.items() if name not in os.environ})


def _paths(value: Node | tuple[Node, ...], store: Store) -> Path | list[Path]:
    return [store.path(n) for n in value] if isinstance(value, tuple) else store.path(value)


def _circumstances(peak_kib: int) -> dict:
    gpu = system.peak_gpu_bytes()
    return {
        "repro": version.__version__,
        "peak_memory_kib": peak_kib,
        "kernels": kernels.facts(),
        **({} if gpu is None else {"peak_gpu_bytes": gpu}),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


NOTE = "made_by"


def beginnings(directory: Path, made: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the facts on code noted by each process of this attempt. A new attempt notes ``made``."""
    part, folder = shard(), directory / disk.BLOCKS
    note = folder / (f"{NOTE}.json" if part.whole else f"{NOTE}.{part.number}-of-{part.count}.json")
    if not (note.is_file() and _has_begun(directory)):
        folder.mkdir(parents=True, exist_ok=True)
        disk.write_whole(note, json.dumps(made))
    return [json.loads(path.read_text()) for path in sorted(folder.glob(f"{NOTE}*.json"))]


def made_by_all(
    made: Mapping[str, Any], begun: Iterable[Mapping[str, Any]], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Merge the facts on code of all processes that worked on a resumed stage, e.g. "a1 and b2".

    A training with 0 as ``resumed_at`` began anew.
    """
    sources = [*(begun if facts.get("resumed_at", True) else ()), made]
    return {key: _joined([entry.get(key) for entry in sources]) for key in made}


def _joined(values: list[Any]) -> Any:
    if isinstance(values[-1], list):
        return values[-1]
    if isinstance(values[-1], Mapping):
        names = dict.fromkeys(chain(*filter(None, values)))
        return {name: _joined([(value or {}).get(name) for value in values]) for name in names}
    return JOINED_BY.join(dict.fromkeys(filter(None, values)))


def _has_begun(directory: Path) -> bool:
    notes = (underway.INPUTS, NOTE)
    blocks = [path for path in (directory / disk.BLOCKS).iterdir() if not path.name.startswith(notes)]
    return bool(blocks) or (directory / disk.CHECKPOINTS).is_dir()


class TimedTasks(Progress):
    """Forwards tasks. ``facts`` has ``done``, ``seconds`` and ``pace`` of the longest task of each name.

    ``pace`` is seconds per unit from the first to the last advance.
    """

    def __init__(self, shown: Progress):
        self._shown = shown
        self.facts: dict[str, dict[str, float]] = {}

    @contextlib.contextmanager
    def task(self, name: str, total: int | None = None, *, log: Path | None = None):
        began, done = time.monotonic(), 0
        marks: list[tuple[float, int]] = []  # (time, done) of first and last advance
        with self._shown.task(name, total, log=log) as advance:

            def advance_both(n: int = 1) -> None:
                nonlocal done
                done += n
                marks.append((time.monotonic(), done))
                del marks[1:-1]
                advance(n)

            yield advance_both
        facts: dict[str, float] = {"done": done, "seconds": round(time.monotonic() - began, 3)}
        if len(marks) == 2 and marks[1][1] > marks[0][1]:
            facts["pace"] = (marks[1][0] - marks[0][0]) / (marks[1][1] - marks[0][1])
        if name not in self.facts or facts["seconds"] > self.facts[name]["seconds"]:
            self.facts[name] = facts

    def note(self, message: str) -> None:
        self._shown.note(message)
