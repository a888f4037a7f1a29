"""Take docs/report.png again: ``python docs/screenshot.py`` (needs Chromium; shows what lies in results/)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.writers.html.chromium import Chromium, found  # noqa: E402

CELL = "costa/1/bm25neg.costa/dev.rr10"


def main() -> None:
    if found() is None:
        sys.exit("no Chromium on this machine: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        places = ["--results", str(ROOT / "results"), "--store", str(Path(folder) / "store")]
        command = [sys.executable, "-m", "repro", "report", "--scale", "tiny", "-o", str(page), *places]
        subprocess.run(command, check=True, cwd=ROOT)
        browser = Chromium(Path(folder) / "profile")
        browser.show(f"{page.as_uri()}#costa", width=1200, height=1250)
        browser.ask(f"document.getElementById({CELL!r}).querySelector('button').click()")
        browser.ask("new Promise((done) => setTimeout(done, 300))")
        browser.picture(ROOT / "docs" / "report.png")
        browser.close()


if __name__ == "__main__":
    main()
