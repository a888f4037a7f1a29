"""The history of a checkout: when a file was last changed, and whether a commit contains another."""

import functools
import re
import subprocess
from pathlib import Path


def last_change(path: Path) -> tuple[str, str] | None:
    """The commit that last changed a file, and its day; None where no commit holds the file as it is."""
    if _git(path.parent, "status", "--porcelain", "--", path.name) != "":
        return None
    answer = _git(path.parent, "log", "-1", "--format=%H %cs", "--", path.name)
    commit, _, day = (answer or "").partition(" ")
    return (commit, day) if commit else None


def contains(folder: Path, commit: str, earlier: str) -> bool | None:
    """Whether ``commit`` contains ``earlier``; None where the checkout of ``folder`` does not know both."""
    command = ["git", "-C", str(folder), "merge-base", "--is-ancestor", earlier, commit]
    try:
        status = subprocess.run(command, capture_output=True, timeout=60).returncode
    except (OSError, subprocess.TimeoutExpired):
        return None
    return {0: True, 1: False}.get(status)


@functools.cache
def is_in_history(folder: Path, commit: str) -> bool | None:
    """Whether a checkout has the commit in its past; None without a checkout, or without all of its past."""
    if not (folder / ".git").exists() or _git(folder, "rev-parse", "--is-shallow-repository") != "false":
        return None
    if not re.fullmatch("[0-9a-f]{7,64}", commit):
        return False
    known = contains(folder, "HEAD", commit)
    return known if known is not None or _git(folder, "cat-file", "-t", commit) else False


def _git(folder: Path, *words: str) -> str | None:
    try:
        answer = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None
