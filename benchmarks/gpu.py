"""All that only a GPU shows, in one command: whether it computes what a CPU does, and how fast it is.

On one H100 or H200 at most 35 minutes, at the papers' shapes; without a GPU the same jobs at the smallest
size, so that whoever has a GPU gets the tables. Each job is a process of its own, whose rows are written to
``--out`` as soon as it ends: started again with the same folder, the command goes on behind them. A job that
fails, or for which no time is left, stands in the table with its reason. Tables go to RESULTS.md where there
is a GPU, or with ``--write``. Exit status 1 if a check does not hold or a job failed.

Anchors to read rates of pre-training by: ModernBERT-base's at about 304,000 tokens a second and H100 (20 to
27 % MFU), a NeoBERT-like model of 28 layers at 155,000 a second and H200. The papers state 288 V100 hours
(SimLM) and 784 A100 hours (CoT-MAE v2).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
PAPERS = {"layers": 12, "hidden": 768, "vocabulary": 30522, "texts": 256, "steps": 30, "checked": 16}
PAPERS |= {"queries": 64, "passages": 16, "rounds": 5, "encoded": 100_000, "vectors": 2_000_000}
PAPERS |= {"searched": 6_980, "most": 4096}
SMALLEST = {"layers": 2, "hidden": 64, "vocabulary": 600, "texts": 4, "steps": 8, "checked": 4}
SMALLEST |= {"queries": 4, "passages": 2, "rounds": 1, "encoded": 200, "vectors": 2_000}
SMALLEST |= {"searched": 20, "most": 8}
SIZES = {"paper": PAPERS, "smallest": SMALLEST}
SECTIONS = {
    "check": "On a GPU: does it compute the same",
    "rate": "On a GPU: rates",
    "fits": "On a GPU: texts that fit at once",
}
LIMIT = 300  # seconds that no job needs


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--size", choices=SIZES, help="paper where there is a GPU, else smallest")
    options.add_argument("--jobs", help="only those whose names contain this")
    options.add_argument("--minutes", type=float, default=35)
    options.add_argument("--out", type=Path, default=HERE / "gpu-results")
    options.add_argument("--write", action="store_true", help="into RESULTS.md without a GPU, too")
    options.add_argument("--child", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    chosen.size = chosen.size or ("paper" if has_gpu() else "smallest")
    for name, value in SIZES[chosen.size].items():
        setattr(chosen, name, value)
    if chosen.child:
        return child(chosen)
    found = run_all(chosen)
    show(found, write_them=chosen.write or has_gpu())
    failed = [row for rows in found.values() for row in rows if row.get("holds") == "NO" or "failed" in row]
    return 1 if failed else 0


def has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def circumstances() -> str:
    """The device and the commit in a folder's name: what others measured is not gone on with."""
    from pretraining import device
    from report import commit

    return re.sub(r"\W+", "-", f"{device()} {commit()}").lower()


def jobs() -> dict:
    """Name -> function of a folder and the sizes that yields rows, in the order in which they are run."""
    from gpu_checks import CHECKS
    from gpu_rates import FITS, RATES

    return CHECKS | RATES | FITS


def run_all(chosen: argparse.Namespace) -> dict[str, list[dict]]:
    """Run what is not in ``--out`` yet; returns every job's rows."""
    ends, found = time.monotonic() + 60 * chosen.minutes, {}
    folder = chosen.out / f"{chosen.size}-{circumstances()}"
    for name in jobs():
        if chosen.jobs and chosen.jobs not in name:
            continue
        path = folder / f"{name.replace(' ', '-')}.json"
        if not path.exists():
            rows = run_one(name, chosen, left=ends - time.monotonic())
            if any("failed" in row for row in rows):
                found[name] = rows  # tried again the next time
                continue
            folder.mkdir(parents=True, exist_ok=True)
            written = path.with_suffix(".partial")
            written.write_text(json.dumps(rows, indent=1) + "\n")
            written.replace(path)
        found[name] = json.loads(path.read_text())
    return found


def run_one(name: str, chosen: argparse.Namespace, *, left: float) -> list[dict]:
    """The rows of a job in a process of its own, or one row that says why there is none."""
    if left < 30:
        return [{"work": name, "failed": "no time was left; run the command again to go on"}]
    command = [sys.executable, __file__, "--size", chosen.size, "--child", name]
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    started = time.monotonic()
    try:
        told = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=min(LIMIT, left)
        )
    except subprocess.TimeoutExpired:
        return [{"work": name, "failed": f"did not end within {min(LIMIT, left):.0f} s"}]
    print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr)
    if told.returncode:
        lines = told.stderr.strip().splitlines() or ["it said nothing"]
        return [{"work": name, "failed": lines[-1]}]
    return json.loads(told.stdout.splitlines()[-1])


def child(chosen: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(list(jobs()[chosen.child](Path(folder), chosen))))
    return 0


def show(found: dict[str, list[dict]], *, write_them: bool) -> None:
    """Print the tables, and write them to RESULTS.md where asked."""
    from report import write

    command = " ".join(["python", "benchmarks/gpu.py", *sys.argv[1:]])
    with tempfile.TemporaryDirectory() as folder:
        for kind, title in SECTIONS.items():
            rows = [row for name, rows in found.items() if name.startswith(kind) for row in rows]
            if rows:
                place = {} if write_them else {"path": Path(folder) / "RESULTS.md"}
                write(title, rows, command, **place)


if __name__ == "__main__":
    sys.exit(main())
