"""How long looking and planning take as whole processes, beside a Python that does nothing."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

from report import write

VERBS = {
    "--help": ["--help"],
    "list": ["list"],
    "show costa --table 1": ["show", "costa", "--table", "1"],
    "audit": ["audit"],
    "compare --all": ["compare", "--all"],
    "plan costa --table 1": ["plan", "costa", "--table", "1"],
    "plan --all": ["plan", "--all"],
}
STORED = ("compare", "plan")


def main() -> None:
    with tempfile.TemporaryDirectory() as store:
        commands = {"python -c pass": [sys.executable, "-c", "pass"]}
        for name, words in VERBS.items():
            extra = ["--store", store] if words[0] in STORED else []
            commands[f"repro {name}"] = [sys.executable, "-m", "repro", *words, *extra]
        found = {name: _measured(command) for name, command in commands.items()}
    bare = found["python -c pass"][0]
    rows = [
        {
            "command": name,
            "seconds": f"{seconds:.3f}",
            "over bare Python": f"{seconds / bare:.0f} x",
            "peak memory": f"{peak / 1e6:.0f} MB",
        }
        for name, (seconds, peak) in found.items()
    ]
    write("Starting and planning, whole processes", rows, "python benchmarks/start.py")


def _measured(command: list[str]) -> tuple[float, int]:
    """The median of five runs after one that is not counted, and the most memory of any."""
    taken, peaks = [], []
    for _ in range(6):
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        taken.append(time.perf_counter() - started)
        peaks.append(usage.ru_maxrss * 1024)
        if os.waitstatus_to_exitcode(status) not in (0, 4):  # 4: what a plan needs is missing on this machine
            raise SystemExit(f"{' '.join(command)} failed")
    return statistics.median(taken[1:]), max(peaks)


if __name__ == "__main__":
    main()
