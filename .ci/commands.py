"""The commands of README.md and of the pages of docs/ that continuous integration runs.

``python .ci/commands.py ci`` prints them, a line each, in the order in which they run: those of README.md,
then those of the pages by path. A command is a line of a ```bash block below a line ``<!-- ci -->`` (or
another mark that is named); one that stands in several places comes once.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^<!-- ([a-z]+) -->\n```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)


# What docs/generated.py writes, within docs/
GENERATED = (
    "tables",
    "reference/verbs.md",
    "reference/exercises.md",
    "howto/one-gpu.md",
    "explained/head-to-head/article.html",
)


def pages() -> list[Path]:
    """README.md, then every page of the documentation by its path, but those that are generated."""
    made = {ROOT / "docs" / name for name in GENERATED}
    written = sorted((ROOT / "docs").rglob("*.md"))
    return [ROOT / "README.md", *(page for page in written if not made & {page, page.parent})]


def commands(*marks: str) -> list[str]:
    """Every command below one of the marks, once."""
    blocks = [block for page in pages() for block in BLOCK.findall(page.read_text(encoding="utf-8"))]
    lines = [line for mark, lines in blocks if mark in marks for line in lines.splitlines()]
    return list(dict.fromkeys(line for line in lines if line.strip()))


if __name__ == "__main__":
    print("\n".join(commands(*sys.argv[1:])))
