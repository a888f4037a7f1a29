"""Renew the records of all benchmarks that need no GPU, and RESULTS.md, in at most 30 minutes.

    python -m benchmarks                          on two cores without other work
    python -m benchmarks --only search scoring    some of them
    python -m benchmarks --smallest FOLDER        each at its smallest size, its records in FOLDER

One benchmark runs at a time, and takes turns with its peers. Each has one thread, pre-training has two.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
report = import_module("report")
BENCHMARKS = report.BENCHMARKS
MINUTES = 30
BUSY = 0.5  # a load that a figure shows
TWO_THREADS = ("pretraining",)
QUIET = {
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "PYTHONWARNINGS": "ignore::DeprecationWarning",
    "TRANSFORMERS_VERBOSITY": "error",
}
LIBRARIES = ("torch", "transformers", "datasets", "sentence_transformers", "faiss")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--only", nargs="+", choices=BENCHMARKS, default=list(BENCHMARKS))
    options.add_argument("--smallest", type=Path, metavar="FOLDER")
    chosen = options.parse_args()
    failed = smallest(chosen.only, chosen.smallest) if chosen.smallest else renewed(chosen.only)
    for name, reason in failed.items():
        print(f"{name}: {reason}", file=sys.stderr)
    return 1 if failed else 0


def renewed(names: list[str]) -> dict[str, str]:
    """Run benchmarks one after another. Returns a reason for each that has no new record."""
    ends, failed = time.monotonic() + 60 * MINUTES, {}
    if (load := os.getloadavg()[0]) > BUSY:
        print(f"The load is {load:.2f}. Stop other work, or figures are too high.", file=sys.stderr)
    for name in names:
        script, words, _ = BENCHMARKS[name]
        threads = {"OMP_NUM_THREADS": "2" if script in TWO_THREADS else "1"}
        command = [sys.executable, str(HERE / f"{script}.py"), *words.split()]
        environment = os.environ | QUIET | threads | {"PYTHONPATH": str(HERE.parent)}
        started = time.monotonic()
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, start_new_session=True
        )
        try:
            if status := process.wait(timeout=max(0, ends - started)):
                failed[name] = f"exit status {status}"
        except subprocess.TimeoutExpired:
            failed[name] = f"not done after {MINUTES} minutes. Run it alone with --only."
        finally:  # also on Ctrl-C, which a process of another session does not get
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr)
    return failed


def smallest(names: list[str], folder: Path) -> dict[str, str]:
    """Run benchmarks at their smallest size in forks of this process, which has loaded the libraries."""
    os.environ |= QUIET | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    import measuring

    measuring.FORKS, report.RESULTS, report.render = True, folder / "RESULTS.md", lambda path: None
    for module in (*LIBRARIES, *dict.fromkeys(script for script, *_ in BENCHMARKS.values())):
        import_module(module)
    import_module("pretraining").pretrainings()  # remembered
    gc.freeze()  # a collection would copy its memory into each fork
    failed = {}
    for name in names:
        script, _, words = BENCHMARKS[name]
        started = os.times()
        try:
            measuring.forked(str(HERE / f"{script}.py"), words.split(), {})
        except SystemExit as error:
            failed[name] = str(error)
        taken = sum(os.times()[2:4]) - sum(started[2:4])
        print(f"{name}: {taken:.1f} CPU seconds", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
