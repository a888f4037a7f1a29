"""``repro demo``."""

import re
from pathlib import Path

import click
import pytest

from repro.cli.verbs import demo
from repro.errors import BlockedError


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(demo, "_measure_tiny", lambda cell, workspace: 0)
    page = click.Command(
        "page", callback=lambda names, output, opened: Path(output).write_text(" ".join(names))
    )
    monkeypatch.setattr("repro.cli.verbs.report.page", page)


def test_without_consent_nothing_is_fetched_and_the_page_has_the_measured_paper(repro, quick, tmp_path):
    said = repro("demo -o", tmp_path / "r.html")
    assert (said.status, (tmp_path / "r.html").read_text()) == (0, "costa"), said.err
    assert "2.8 MB to download, CC BY-NC 2.0" in said.out and "SciFact was left out." in said.out
    assert not (tmp_path / "user/repro-bench/collections").exists()
    assert re.findall("^    repro (\\w+)", said.out, re.MULTILINE) == ["run", "show", "compare"]


@pytest.mark.parametrize("file", ["", "absent/r.html"])
def test_a_report_that_could_not_be_written_is_refused_before_anything_is_measured(repro, tmp_path, file):
    assert str(tmp_path) in repro("demo -o", tmp_path / file).refusal


def test_without_a_network_the_report_is_written_and_the_status_says_that_data_are_missing(
    repro, quick, tmp_path, monkeypatch
):
    def unreachable(yes):
        raise BlockedError("the archive could not be downloaded", "try again later")

    monkeypatch.setattr(demo, "_fetch_scifact", unreachable)
    said = repro("demo --yes -o", tmp_path / "r.html")
    assert said.status == 4 and (tmp_path / "r.html").is_file()
    assert "left out: the archive could not be downloaded; try again later" in said.err


def test_the_published_number_of_bm25_on_scifact_is_what_is_compared():
    rehearsed, compared = demo._cells()
    assert rehearsed.id == "costa/1/sparse.bm25/dev.rr10"
    assert (compared.id, compared.printed.plain) == ("cotmae_v2/3/bm25/scifact", "66.5")
