"""Measured tables into RESULTS.md: a section each, replaced when its benchmark runs again."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from repro.machine.system import hardware

RESULTS = Path(__file__).parent / "RESULTS.md"
HEAD = "# Measured\n\nGenerated: each section is written by the command it names.\n"
PEERS = {  # distribution -> module
    "faiss-cpu": "faiss",
    "ir_measures": "ir_measures",
    "numpy": "numpy",
    "pytrec_eval-terrier": "pytrec_eval",
    "ranx": "ranx",
    "scipy": "scipy",
    "sentence-transformers": "sentence_transformers",
    "torch": "torch",
    "transformers": "transformers",
}


def write(section: str, rows: Sequence[Mapping[str, object]], command: str, *, path: Path = RESULTS) -> str:
    """Insert or replace a section: a table with a column for each key of the rows, and how it was measured.

    Hardware, versions of the libraries in use, commit, date and load are added here. Returns the section,
    which is also printed.
    """
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [columns, ["---"] * len(columns), *([row.get(key, "") for key in columns] for row in rows)]
    table = "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
    first, last = f"<!-- begin {section} -->", f"<!-- end {section} -->"
    text = f"{first}\n## {section}\n\n{table}\n\n`{command}`  \n{_circumstances()}\n{last}\n"
    before = path.read_text(encoding="utf-8") if path.exists() else HEAD
    old = re.compile(re.escape(first) + ".*?" + re.escape(last) + "\n", re.DOTALL)
    after = old.sub(lambda _: text, before) if old.search(before) else f"{before}\n{text}"
    path.write_text(after, encoding="utf-8")
    print(text)
    return text


def _circumstances() -> str:
    machine = hardware()
    gpus = ", ".join(machine["gpu"] or ["no GPU"])
    where = f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {gpus}"
    loaded = [name for name, module in PEERS.items() if module in sys.modules]
    versions = [f"Python {sys.version.split()[0]}", *(f"{name} {metadata.version(name)}" for name in loaded)]
    busy = f"load {Path('/proc/loadavg').read_text().split()[0]}" if Path("/proc/loadavg").exists() else ""
    return f"{where}; {', '.join(versions)}; commit {commit()}; {datetime.now(UTC):%Y-%m-%d}; {busy}"


def commit() -> str:
    """The short commit of the checkout, with `` with changes`` where files but RESULTS.md differ."""

    def git(*words: str) -> str:
        told = subprocess.run(["git", *words], cwd=RESULTS.parent, capture_output=True, text=True)
        return told.stdout.strip()

    here = git("rev-parse", "--short", "HEAD") or "unknown"
    changed = git("status", "-s", "--", ":/", f":(exclude){RESULTS.name}")
    return f"{here} with changes" if changed else here
