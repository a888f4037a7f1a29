"""A browser, started once for the tests of a worker, and the page that it shows."""

from dataclasses import replace

import pytest

from repro.writers.html.page import page
from tests.writers.html import chromium
from tests.writers.html.toy import draw, report


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    if chromium.found() is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    opened = chromium.Chromium(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def address(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("page")
    files, add = {"full": "report.html", "tiny": "report-tiny.html"}, " <b>and a long label that goes on</b>"
    full, tiny = report(draw(folder), add=add), report(add=add, scale="tiny", scaled=True)
    tiny = replace(tiny, parts=[replace(part, home="report.html") for part in tiny.parts])
    for made in (full, tiny):
        (folder / files[made.scale]).write_text(page(made, files), encoding="utf-8")
    return (folder / "report.html").as_uri()
