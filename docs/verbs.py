"""Write docs/reference/verbs.md again, from the commands themselves: ``python docs/verbs.py``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from repro.cli import VERBS, cli  # noqa: E402

PAGE = ROOT / "docs/reference/verbs.md"
HEAD = """\
# Every verb

What `repro VERB --help` says, for every verb; `python docs/verbs.py` writes this page. Exit statuses and
variables of the environment stand in [Environment and files](environment.md).
"""


def page() -> str:
    """The page, a section for each group of verbs."""
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
    for name, sub in getattr(command, "commands", {}).items():
        sections.append(_verb(sub, (*path, name), sub.get_short_help_str(90).rstrip(".")))
    return "\n".join(sections)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
