"""``repro demo``."""

from pathlib import Path

import click
import pytest

from repro.cli.verbs import demo
from repro.errors import BlockedError


@pytest.mark.nightly
def test_bm25_is_measured_the_rest_is_told_and_nothing_is_fetched_without_consent(repro, measured):
    said = repro("demo -o", measured / "r.html")
    assert said.status == 0, said.err
    first, second, third = (
        said.out.split("\n\n2. ")[0],
        said.out.split("\n2. ")[1],
        said.out.split("\n3. ")[1],
    )
    assert "costa/1 at scale tiny" in first and "BM25" in first
    assert "has no record of a trained row" in " ".join(first.split())
    assert "2.8 MB to download, CC BY-NC 2.0" in second
    assert "left out: `repro demo --yes` fetches it" in second
    assert (measured / "r.html").is_file() and str(measured / "r.html") in third
    commands = [line.strip() for line in third.split("Next:\n")[1].splitlines() if " repro " in line]
    assert [command.split()[1] for command in commands] == ["run", "show", "compare"]
    for command in commands[:2]:
        assert repro(*command.split()[1:], *(["--dry-run"] if "run " in command else [])).status in (0, 4)
    assert not (measured / "user" / "repro-bench" / "collections").exists()


@pytest.mark.parametrize("file", ["", "absent/r.html"])
def test_a_report_that_could_not_be_written_is_refused_before_anything_is_measured(repro, tmp_path, file):
    assert str(tmp_path) in repro("demo -o", tmp_path / file).refusal


def test_without_a_network_the_report_is_written_and_the_status_says_that_data_are_missing(
    repro, tmp_path, monkeypatch
):
    def unreachable(yes):
        raise BlockedError("the archive could not be downloaded", "try again later")

    monkeypatch.setattr(demo, "_fetch_scifact", unreachable)
    monkeypatch.setattr(demo, "_measure_tiny", lambda cell, workspace: 0)
    page = click.Command("page", callback=lambda output, opened: Path(output).touch())
    monkeypatch.setattr("repro.cli.verbs.report.page", page)
    said = repro("demo --yes -o", tmp_path / "r.html")
    assert said.status == 4 and (tmp_path / "r.html").is_file()
    assert "left out: the archive could not be downloaded; try again later" in said.err


def test_the_published_number_of_bm25_on_scifact_is_what_is_compared():
    rehearsed, compared = demo._cells()
    assert rehearsed.id == "costa/1/sparse.bm25/dev.rr10"
    assert (compared.id, compared.printed.plain) == ("cotmae_v2/3/bm25/scifact", "66.5")
