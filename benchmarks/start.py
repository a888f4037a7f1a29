"""How long the looking verbs take as whole processes, beside a Python that does nothing."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time

VERBS = {
    "--help": ["--help"],
    "list": ["list"],
    "show": ["show", "costa", "--table", "1"],
    "compare --all": ["compare", "--all"],
}


def main() -> None:
    with tempfile.TemporaryDirectory() as store:
        bare = _seconds([sys.executable, "-c", "pass"])
        print(f"{'python -c pass':16} {bare:.3f} s")
        for name, arguments in VERBS.items():
            extra = ["--store", store] if name.startswith("compare") else []
            taken = _seconds([sys.executable, "-m", "repro", *arguments, *extra])
            print(f"{'repro ' + name:22} {taken:.3f} s = {taken / bare:.0f} x")


def _seconds(command: list[str]) -> float:
    """The median of five runs after one that is not counted."""
    taken = []
    for _ in range(6):
        started = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        taken.append(time.perf_counter() - started)
    return statistics.median(taken[1:])


if __name__ == "__main__":
    main()
