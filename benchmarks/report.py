"""The records of what was measured, one for each section, and RESULTS.md, rendered from all of them.

Each benchmark calls ``write``; ``python benchmarks/report.py`` renders the page again.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from measuring import BEFORE, Beside

from repro.machine.system import hardware

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
IN_DOCS = "../docs/reference/figures"  # links to the figures, as the documentation finds those below it alone
GENERATED = ("RESULTS.md", "records", "figures", IN_DOCS)  # writing them does not change the code
HEAD = """# Speed and memory

Rendered by `python benchmarks/report.py` from `benchmarks/records/`, each of which is written by the command
that its section names, with commit, hardware and load. A commit *with changes* was measured with files that
it does not have.
"""
FEW_VECTORS = "--passages 300 --queries 2 --size 8 --depth 10"
BENCHMARKS = {  # name -> script, its options on two idle cores, and those of its smallest size
    "objectives": ("objectives", "--rounds 2", "--rounds 1 --share 0.01"),
    "finetune": ("finetune", "", "--queries 2 --hidden 32 --layers 1 --length 16 --steps 1 --rounds 1"),
    "encode": ("encode", "--rounds 3", "--passages 4 --hidden 32 --layers 1 --batches 4 --rounds 1"),
    "search": ("search", "--passages 200000 50000 --queries 300", f"{FEW_VECTORS} --rounds 1"),
    "search in 1 GB": ("search", "--big", f"--big {FEW_VECTORS} --sample 1 --memory 30MB"),
    "scoring": (
        "scoring",
        "--queries 3490",
        "--queries 2 --depth 10 --rounds 1 --tools ours pytrec_eval ir_measures",
    ),
    "start": ("start", "--rounds 3", "--verbs=--help --rounds 1"),
    "step": ("step", "--steps 60 --rounds 2", "--trainings mlm --steps 4 --rounds 1"),
    "padding": (
        "padding",
        "--texts 8 --steps 7",
        "--objectives SimLM --texts 2 --steps 7 --rounds 1 --layers 2 --hidden 32 --vocabulary 200",
    ),
    "growth": (
        "growth",
        "--sizes encode=2000,10000,50000 scoring=20000,200000,2000000 store=100,1000,4000",
        "--rounds 1 --sizes encode=2,4 search=50,100 scoring=50,100 mining=50,100 planning=1,2 store=10,20",
    ),
    "pretraining": (
        "pretraining",
        "--steps 7",
        "--papers simlm --steps 7 --layers 2 --hidden 32 --vocabulary 200",
    ),
    "balance": ("balance", "", "--texts 2 --steps 1 --few 2 --trained 1 --vocabulary 999"),
}
RENEWALS = [f"python benchmarks/{script}.py {words}".strip() for script, words, _ in BENCHMARKS.values()]
OTHERS = "Measured on {date} at commit {commit}, not by `python -m benchmarks`."
COMPARED = {
    "Ours beside others": "Ours over theirs, below 1 is better: the median of the rounds, in which both take "
    "turns, and the least to the most, or – where there was one round or only the median was kept. The "
    "figure has of several peers the one beside which ours does worst.",
    "Before and after": "This version over an earlier one, by turns in one run.",
}
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


def write(
    section: str,
    rows: Sequence[Mapping[str, object]],
    *,
    beside: Sequence[Beside] = (),
    rounds: Sequence[Mapping[str, object]] = (),
    path: Path | None = None,
) -> str:
    """Write the record of a section, in place of the one it had, and the page again; return the section.

    Hardware, versions of the libraries in use, commit, date and load are added here.

    Args:
        rows: the section's table, a column for each key.
        beside: what enters the tables at the top and the figures.
        rounds: raw values, a row for each round, kept in the record.
        path: the page, ``RESULTS`` if None. Its records lie beside it.
    """
    path = path or RESULTS
    command = shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]])
    record = {"section": section, "command": without_places(command), **circumstances()}
    record |= {"rows": list(rows), "beside": [asdict(one) for one in beside], "rounds": list(rounds)}
    record = json.loads(json.dumps(record))
    _, slug = anchor(section)
    folder = path.parent / "records"
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    (folder / f"{slug}.json").write_text(text, encoding="utf-8")
    render(path)
    print(told(record))
    return told(record)


def circumstances() -> dict[str, object]:
    """The commit, day, load, hardware and versions of a measurement that ends now."""
    here, changed = commit_and_changes()
    load = Path("/proc/loadavg")
    loaded = {name: metadata.version(name) for name, module in PEERS.items() if module in sys.modules}
    return {
        "commit": here,
        "with changes": changed,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "load": float(load.read_text().split()[0]) if load.exists() else None,
        "hardware": {key: hardware()[key] for key in ("cpu", "cores", "memory_gib", "gpu")},
        "versions": {"Python": sys.version.split()[0], **loaded},
    }


def commit_and_changes() -> tuple[str, bool]:
    """The short commit of the checkout, and whether files but the generated ones differ from it.

    Without git, or in a copy that is no checkout, the commit is unknown.
    """

    def git(*words: str) -> str:
        try:
            told = subprocess.run(["git", *words], cwd=HERE, capture_output=True, text=True)
        except OSError:  # no git
            return ""
        return told.stdout.strip()

    others = [f":(exclude){name}" for name in GENERATED]
    return git("rev-parse", "--short", "HEAD") or "unknown", bool(git("status", "-s", "--", ":/", *others))


def records(path: Path = RESULTS) -> list[dict]:
    """The records beside a page, in the order of the README's scripts and then of their names."""
    named = re.findall(r"^\| `(\w+\.py)` ", (HERE / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    order = {script: place for place, script in enumerate(named)}
    files = (path.parent / "records").glob("*.json")
    found = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    return sorted(found, key=lambda one: (order.get(script_of(one["command"]), len(order)), one["section"]))


def without_places(command: str) -> str:
    """The command with the last name alone of each absolute path, since only one machine has the others."""
    return re.sub(r"(?<!\S)/\S*/", "…/", command)


def script_of(command: str) -> str:
    """The file of benchmarks/ that a command runs."""
    return next(iter(re.findall(r"\bbenchmarks/(\w+\.py)", command)), "")


def render(path: Path = RESULTS) -> str:
    """Write the page of all records beside it, and its figures; return its text."""
    from charts import draw

    found = records(path)
    compared = [(record, Beside(**one)) for record in found for one in record["beside"]]
    figures = draw(found, path.parent / "figures")
    text = HEAD
    for title, about in COMPARED.items():
        earlier = title == "Before and after"
        ratio = "now over before" if earlier else "ours over theirs"
        rows = summary((pair for pair in compared if (pair[1].other == BEFORE) is earlier), ratio)
        if rows:
            text += f"\n## {title}\n\n{about}\n\n{figures[title]}{table(rows)}\n"
    text += "".join(f"\n{told(record, figures.get(record['section'], ''))}" for record in found)
    path.write_text(text, encoding="utf-8")
    if path == RESULTS and (HERE / IN_DOCS).is_dir():
        link_figures(HERE / "figures", HERE / IN_DOCS)
    return text


def link_figures(figures: Path, folder: Path) -> None:
    """A link to each figure, which the documentation follows, and none to what is no more."""
    for link in folder.iterdir():
        link.unlink()
    for figure in figures.iterdir():
        (folder / figure.name).symlink_to(Path("../../../benchmarks/figures") / figure.name)


def summary(compared: Iterable[tuple[dict, Beside]], ratio: str) -> list[dict[str, str]]:
    """A row for each comparison, with a link to its section; ``ratio`` says what is over what."""
    rows = []
    for record, one in compared:
        _, slug = anchor(record["section"])
        many, memory = one.ratios, one.memory_ratio
        rows.append(
            {
                "path": f"[{one.path}](#{slug})" + ", out of date" * (one.path in record.get("outdated", ())),
                "beside": "" if one.other == BEFORE else one.other,
                "of": one.of,
                ratio: f"**{one.ratio:.2f}**",
                "least to most": f"{many[0]:.2f} to {many[-1]:.2f}" if len(many) > 1 else "–",
                f"memory, {ratio}": f"{memory:.2f}" if memory else "",
                "measured": f"{record['date']}, {record['commit']}",
            }
        )
    return [{key: row[key] for key in row if any(other[key] for other in rows)} for row in rows]


def told(record: Mapping, figure: str = "") -> str:
    """A section of the page: what its script measures, the table, the command, and how it was measured."""
    machine, versions = record["hardware"], record["versions"]
    gpus = ", ".join(machine["gpu"] or ["no GPU"])
    where = f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {gpus}"
    what = ", ".join(f"{name} {version}" for name, version in versions.items())
    changes = " *with changes*" if record["with changes"] else ""
    load = "" if record["load"] is None else f"; load {record['load']:.2f}"
    how = f"{where}; {what}; commit {record['commit']}{changes}; {record['date']}{load}"
    title, _ = anchor(record["section"])
    purpose = purpose_of(record["command"])
    about = f"{purpose}\n\n" if purpose else ""
    notes = [] if record["command"] in RENEWALS else [OTHERS.format(**record)]
    notes += [f"Out of date: *{row}*, since {why}." for row, why in record.get("outdated", {}).items()]
    notes = "".join(f"{note}\n\n" for note in notes)
    return f"## {title}\n\n{about}{notes}{figure}{table(record['rows'])}\n\n`{record['command']}`  \n{how}\n"


def purpose_of(command: str) -> str:
    """The first paragraph of the docstring of the script that a command runs."""
    path = HERE / script_of(command)
    if not path.is_file():
        return ""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("``", "`")


def anchor(section: str) -> tuple[str, str]:
    """The heading of a section, and what a link to it says, on GitHub as in the documentation."""
    title = section[:1].upper() + section[1:]
    return title, re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title.lower()))


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as a table of Markdown, with a column for each of their keys."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [columns, ["---"] * len(columns), *([row.get(key, "") for key in columns] for row in rows)]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


if __name__ == "__main__":
    render()
