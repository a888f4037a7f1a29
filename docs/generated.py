"""Write what the site has beside pages that are committed: ``python docs/generated.py``, before its build.

That is the page of the verbs, the list of exercises, the page of one GPU, the head-to-head study as one file,
and a page for each table. Each follows from the code, from manifests or from results/; none is committed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from papers.head_to_head import pages  # noqa: E402
from repro.cli import VERBS, cli  # noqa: E402
from repro.plugins.exercises import exercises  # noqa: E402

VERBS_PAGE = ROOT / "docs/reference/verbs.md"
EXERCISES_PAGE = ROOT / "docs/reference/exercises.md"
STUDY = ROOT / "docs/explained/head-to-head"
SCRIPTS = (["docs/one_gpu.py"], ["-m", "repro", "report", "site", "-o", "docs/tables"])
HEAD = """\
# Every verb

The output of `repro VERB --help` for every verb. [Environment and files](environment.md) lists exit statuses
and environment variables.
"""


def verbs() -> str:
    """Return the page of the verbs, a section for each group."""
    parts = [HEAD]
    for title, group in VERBS.items():
        parts.append(f"## {title.capitalize()}\n")
        parts += [_verb(cli.get_command(None, verb), (verb,), says) for verb, says in group.items()]
    return "\n".join(parts)


def _verb(command: click.Command, path: tuple[str, ...], says: str) -> str:
    """The section of a verb, and of what stands below it."""
    called = " ".join(path)
    options = {"terminal_width": 90, "help_option_names": ["-h", "--help"]}
    told = command.get_help(click.Context(command, info_name=f"repro {called}", **options))
    sections = [f"### {called}\n\n{says[0].upper()}{says[1:]}.\n\n```text\n{told}\n```\n"]
    for name in command.list_commands(None) if isinstance(command, click.Group) else ():
        sub = command.get_command(None, name)
        sections.append(_verb(sub, (*path, name), sub.get_short_help_str(90).rstrip(".")))
    return "\n".join(sections)


def exercise_list() -> str:
    """Return the page of the exercises, a section for each paper."""
    parts, paper = ["# Exercises\n\n[Teach with exercises](../howto/teach.md) explains their use.\n"], ""
    head = "| exercise | title | source | difficulty | extra | wrong solutions |\n|---|---|---|---|---|---|"
    for name, task in exercises().items():
        if not name.startswith(f"{paper}/"):
            paper = name.partition("/")[0]
            parts.append(f"\n## {paper}\n\n{head}\n")
        facts = (f"`{name}`", task.title, task.source, task.difficulty, task.extra, len(task.wrong))
        parts.append(f"| {' | '.join(map(str, facts))} |\n")
    return "".join(parts)


def study() -> str:
    """Return the committed article of the study as one file, with its drawings."""
    return pages.page(pages.joined(STUDY), STUDY)


if __name__ == "__main__":
    VERBS_PAGE.write_text(verbs(), encoding="utf-8")
    EXERCISES_PAGE.write_text(exercise_list(), encoding="utf-8")
    (STUDY / "article.html").write_text(study(), encoding="utf-8")
    for script in SCRIPTS:
        subprocess.run([sys.executable, *script], cwd=ROOT, check=True)
