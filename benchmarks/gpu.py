"""All that only a GPU shows, in one command: whether it computes what a CPU does, and how fast it is.

On one H100 or H200 at most 35 minutes, at the papers' shapes; without a GPU the same jobs at the smallest
size, so that whoever has a GPU gets the tables. The most telling jobs come first. Each is a process of its
own, whose rows are kept in a file below ``--out`` as they come: started again, the command goes on behind
them, unless GPU or code are others. A job that fails, or for which no time is left, stands in the table with
its reason, and in ``log.txt`` with all that it said. The tables are written beside that file after every
job; into RESULTS.md at the end of all jobs at the papers' shapes on a GPU, or with ``--write``. Exit status 1
if a check does not hold or a job failed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gpu_results import Results, told_error
from measuring import output

HERE = Path(__file__).parent
PAPERS = {"layers": 12, "hidden": 768, "vocabulary": 30522, "texts": 256, "steps": 45, "checked": 16}
PAPERS |= {"queries": 64, "passages": 16, "rounds": 5, "encoded": 100_000, "vectors": 1_000_000}
PAPERS |= {"searched": 6_980, "most": 4096}
SMALLEST = {"layers": 2, "hidden": 64, "vocabulary": 600, "texts": 4, "steps": 9, "checked": 4}
SMALLEST |= {"queries": 4, "passages": 2, "rounds": 1, "encoded": 200, "vectors": 2_000}
SMALLEST |= {"searched": 20, "most": 8}
SIZES = {"paper": PAPERS, "smallest": SMALLEST}
SECTIONS = {
    "check": "On a GPU: does it compute the same",
    "pre-training": "On a GPU: pre-training",
    "other": "On a GPU: fine-tuning, re-ranking, encoding, search",
    "fits": "On a GPU: texts that fit at once",
}
ORDER = (  # what a lease of ten minutes should have shown
    *("check simlm", "check fine-tuning", "check attention", "check resumed training in fp32"),
    *("pre-training simlm", "pre-training cotmae_v2", "other fine-tuning cached", "other encoding"),
    *("check encoding", "check cotmae_v2", "check search", "check costa", "check cpdae", "check re-ranker"),
    *(
        "pre-training costa",
        "pre-training cpdae",
        "other fine-tuning whole",
        "other re-ranker",
        "other re-ranking",
    ),
    *("other search", "other attention", "pre-training BERT"),
)
LIMIT = 300  # seconds that no job needs
LEAST = 30  # seconds with which none is begun


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--size", choices=SIZES, help="paper where there is a GPU, else smallest")
    options.add_argument("--jobs", help="only those whose names contain this")
    options.add_argument("--minutes", default="35", help="that all jobs may take together")
    options.add_argument("--out", type=Path, default=HERE / "gpu-results")
    options.add_argument(
        "--write", action="store_true", help="into RESULTS.md, whatever the size and the jobs"
    )
    options.add_argument("--child", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    chosen.size = chosen.size or ("paper" if has_gpu() else "smallest")
    for name, value in SIZES[chosen.size].items():
        setattr(chosen, name, value)
    if chosen.child:
        return child(chosen)
    if fault := wrong(chosen):
        options.exit(2, f"gpu.py: {fault}\n")
    found = run_all(chosen)
    if chosen.write or (chosen.size == "paper" and not chosen.jobs and has_gpu()):
        show(found)
    failed = [row for rows in found.values() for row in rows if row.get("holds") == "NO" or "failed" in row]
    for row in failed:
        print(f"NOT WELL: {row}", file=sys.stderr)
    return 1 if failed else 0


def wrong(chosen: argparse.Namespace) -> str:
    """Return a sentence about what is wrong with the options; empty where nothing is."""
    try:
        chosen.minutes = float(chosen.minutes)
    except ValueError:
        chosen.minutes = math.nan
    if not 0 < chosen.minutes < math.inf:
        return "--minutes takes a number above 0, such as 35"
    try:
        output(chosen.out)
    except argparse.ArgumentTypeError as error:
        return f"--out: {error}"
    if chosen.jobs is not None and not any(chosen.jobs in name for name in jobs()):
        return f"no job's name contains {chosen.jobs!r}; there are {', '.join(jobs())}"
    return ""


def has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def circumstances(size: str) -> str:
    """Size, device and code in a folder's name: what others measured is not gone on with."""
    from repro.machine.system import hardware

    digest, devices = hashlib.sha256(), " ".join(hardware()["gpu"] or ["cpu"])
    for folder in ("repro", "papers", "benchmarks"):
        for path in sorted((HERE.parent / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return re.sub(r"\W+", "-", f"{size} {devices} {digest.hexdigest()[:8]}").lower()


def jobs() -> dict:
    """Name -> function of a folder and the sizes that yields rows, in the order in which they are run."""
    import gpu_attention
    import gpu_checks
    import gpu_finetuning
    import gpu_inference
    import gpu_pretraining
    import gpu_resumed

    known = gpu_checks.CHECKS | gpu_attention.CHECKS | gpu_resumed.CHECKS | gpu_attention.RATES
    for module in (gpu_pretraining, gpu_finetuning, gpu_inference):
        known |= module.RATES | module.FITS
    return {name: known[name] for name in (*ORDER, *known)}


def run_all(chosen: argparse.Namespace) -> dict[str, list[dict]]:
    """Run what has not ended yet, and return every job's rows."""
    ends, folder = time.monotonic() + 60 * chosen.minutes, chosen.out / circumstances(chosen.size)
    results = Results(folder / "results.jsonl")
    for name in jobs():
        if chosen.jobs and chosen.jobs not in name:
            continue
        if not results.is_done(name):
            run_one(name, chosen, results, left=ends - time.monotonic())
            results.read()
            with contextlib.redirect_stdout(None):
                show(results.rows, path=folder / "RESULTS.md")
    return results.rows


def run_one(name: str, chosen: argparse.Namespace, results: Results, *, left: float) -> None:
    """Have a process of its own add a job's rows, or the reason why they are not all there."""
    if left < LEAST:
        results.add(name, "row", row={"work": name, "failed": "no time was left; run it again to go on"})
        return
    command = [sys.executable, __file__, "--size", chosen.size, "--out", str(results.path), "--child", name]
    asked = {name: value for name, value in os.environ.items() if not name.startswith("REPRO_")}
    environment = {"CUDA_VISIBLE_DEVICES": "0"} | asked | {"HF_HUB_OFFLINE": "1"}
    results.add(name, "began")
    started, limit, failed = time.monotonic(), min(LIMIT, left), ""
    try:
        done = subprocess.run(
            command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment, timeout=limit
        )
        told = done.stderr.decode(errors="replace")
        failed = told_error(told, done.returncode) if done.returncode else ""
    except subprocess.TimeoutExpired as error:
        told = (error.stderr or b"").decode(errors="replace")
        failed = f"did not end within {limit:.0f} s"
    taken = f"{name}: {time.monotonic() - started:.0f} s{', ' * bool(failed)}{failed}"
    print(taken, file=sys.stderr)
    with open(results.path.with_name("log.txt"), "a", encoding="utf-8") as log:
        log.write(f"=== {taken}\n{told}\n")
    if failed:
        results.add(name, "row", row={"work": name, "failed": failed})


def child(chosen: argparse.Namespace) -> int:
    """Run one job; it ends with the process that started it, which else would share the GPU with the next."""
    die_with_parent()
    results = Results(chosen.out)
    chosen.kept = results.measured(chosen.child)
    with tempfile.TemporaryDirectory() as folder:
        for row in jobs()[chosen.child](Path(folder), chosen):
            results.add(chosen.child, "row", row=row)
    results.add(chosen.child, "ended")
    return 0


def die_with_parent() -> None:
    """Have Linux kill this process once its parent is gone."""
    import ctypes

    parent, set_signal = os.getppid(), 1  # PR_SET_PDEATHSIG
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(set_signal, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the process that started this one is gone")


def show(found: dict[str, list[dict]], **place: Path) -> None:
    """Print the tables, and write them into a page and its records."""
    from report import write

    for kind, title in SECTIONS.items():
        if rows := [row for name, rows in found.items() if name.startswith(kind) for row in rows]:
            write(title, rows, **place)


if __name__ == "__main__":
    sys.exit(main())
