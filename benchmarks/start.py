"""Looking, planning and reporting as whole processes, beside a Python that does nothing.

Seconds are CPU seconds, of user and system; the commands take turns in every round, and the first round is
not counted. ``--beside`` is another checkout, whose commands take their turns too. The store is empty but for
the second ``gc``, which finds one artefact of 2020 there.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from measuring import BEFORE, HERE, Beside, checkout
from report import write

from repro.graph import Node
from repro.store import Store

VERBS = {
    "--help": "--help",
    "show": "show",
    "show costa --table 1": "show costa --table 1",
    "audit": "audit",
    "compare --all": "compare --all --store STORE",
    "plan costa --table 1": "plan costa --table 1 --store STORE",
    "plan --all": "plan --all --store STORE",
    "report": "report --store STORE --output STORE/report.html",
    "store gc, nothing old": "store gc --store STORE",
    "store gc, an old artefact": "store gc --store OLD",
}
BARE = "python -c pass"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC).timestamp()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--verbs", nargs="*", choices=VERBS, default=list(VERBS))
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--beside", type=checkout, help="a checkout of another version")
    chosen = options.parse_args()
    trees = {"now": HERE} | ({BEFORE: chosen.beside} if chosen.beside else {})
    with tempfile.TemporaryDirectory() as store, tempfile.TemporaryDirectory() as old:
        store_old_artefact(Path(old))
        commands = {(BARE, "now"): (["-c", "pass"], HERE)}
        for name in chosen.verbs:
            words = ["-m", "repro", *VERBS[name].replace("STORE", store).replace("OLD", old).split()]
            commands |= {(f"repro {name}", code): (words, tree) for code, tree in trees.items()}
        turns = [
            {key: measured(*command) for key, command in commands.items()} for _ in range(1 + chosen.rounds)
        ][1:]
    taken = {key: [turn[key][0] for turn in turns] for key in commands}
    peaks = {key: max(turn[key][1] for turn in turns) for key in commands}
    bare = statistics.median(taken[BARE, "now"])
    rows = [
        {
            "command": name,
            **({"code": code} if chosen.beside else {}),
            "CPU seconds, median": f"{statistics.median(seconds):.3f}",
            "least to most": f"{min(seconds):.3f} to {max(seconds):.3f}",
            "over bare Python": f"{statistics.median(seconds) / bare:.0f} x",
            "peak memory": f"{peaks[name, code] / 1e6:.0f} MB",
        }
        for (name, code), seconds in taken.items()
    ]
    beside = [
        Beside(
            name, BEFORE, "CPU seconds", taken[name, "now"], seconds, (peaks[name, "now"], peaks[name, code])
        )
        for (name, code), seconds in taken.items()
        if code == BEFORE
    ]
    write("Starting and planning, whole processes", rows, beside=beside)


def store_old_artefact(root: Path) -> None:
    """Store an artefact that nothing needs and whose files are of 2020."""
    node = Node("union", {}, {"training_sets": ()})
    artefact = Store(root).build(node, lambda folder: None)
    for path in (*artefact.iterdir(), artefact):
        os.utime(path, (LONG_AGO, LONG_AGO))


def measured(words: list[str], tree: Path) -> tuple[float, int]:
    """CPU seconds and the most memory of a process that runs in a checkout, with its results."""
    environment = os.environ | {"PYTHONPATH": str(tree), "HF_HUB_OFFLINE": "1"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, *words], cwd=tree, env=environment, **quiet)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 4):  # 4: what a plan needs is missing on this machine
        raise SystemExit(f"{' '.join(words)} failed in {tree}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


if __name__ == "__main__":
    main()
