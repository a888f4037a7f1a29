"""Text from files, records and peers is printed as one visible line without a command in it."""

import json

import pytest

from repro.errors import one_line, shortened, visible
from repro.store.results import Results
from repro.store.seal import _checksum
from tests.cli.conftest import CELL, rewrite_record
from tests.cli.test_import_run import NEAR
from tests.cli.test_import_run import file as file
from tests.cli.test_import_run import judged as judged

HOSTILE = "::error::p\n::error::q\x1b]0;t\x07\x9b31m\u202er\u2028"
UNSEEN = "\x1b\x07\x9b\u202e\u2028"


def check(*texts):
    for text in texts:
        assert not set(UNSEEN) & set(text), ascii(text)
        assert not [line for line in text.splitlines() if line.lstrip().startswith("::")], ascii(text)


def test_what_is_not_seen_is_escaped_and_the_rest_stays():
    assert visible("a\r\nb\t\x1b[31m\u202e\U000e0041") == r"a\r\nb\t\x1b[31m\u202e\U000e0041"
    assert visible("::error::p ::add-mask::x ##[group]") == r"\x3a:error::p \x3a:add-mask::x \x23#[group]"
    same = "naïve τ 訳\u00a0– a::b module:name ## head /data/run.trec:7"
    assert visible(same) == same == one_line(same)
    assert shortened("x" * 100) == "x" * 80 + "…"
    path = f"{'/folder' * 40}/run.trec:7: the score {'y' * 1000!r} is {'no number ' * 100!r}, get it again"
    assert len(one_line(path)) < 600 and "run.trec:7: the score 'yyy" in one_line(path)
    assert one_line(path).endswith("no number ', get it again")


@pytest.fixture
def hostile_run(file):
    path = file.with_name(f"{HOSTILE}.trec".replace("/", "_"))
    path.write_text(file.read_text().replace("theirs", "::error::\u202ep"))
    return path


@pytest.mark.parametrize("form", ["terminal", "markdown", "csv"])
def test_the_name_of_a_run_is_escaped_wherever_it_is_shown(repro, hostile_run, form):
    formats = [] if form == "terminal" else ["--format", form]
    said = [repro("compare", hostile_run, "toy", *formats)]
    assert "x1b" in said[0].out
    if form != "csv":
        said.append(repro("import run", hostile_run, NEAR, "--source", "x", *formats))
        said.append(repro("compare toy", *formats))
    for each in said:
        assert each.status in (0, 4)
        check(each.out, each.err)


def test_refusals_are_one_short_line(repro, file):
    file.write_text(file.read_text().replace("1.5", "\U000e0001" * 1000))
    said = repro("compare", file, "toy")
    assert said.status == 2 and len(said.sentence) < 600
    check(said.err)
    check(repro("compare", f"{HOSTILE}.trec", "toy").err)


def test_a_hostile_commit_of_a_peer_is_shown_nowhere(repro, measured):
    (measured / "results").rename(measured / "earlier")
    for path in (measured / "store").glob("*/*/artefact.json"):
        record = json.loads(path.read_text())
        record["facts"]["commit"] = f"\n::error::p\x1b[31m and {'a' * 40}-dirty"
        path.write_text(json.dumps(record | {"sha256": _checksum(record)}))
    selection = (CELL, "--scale", "tiny")
    for verb, *words in (
        ("run", *selection),
        ("compare", *selection),
        ("tables", *selection),
        ("report", "costa", "--scale", "tiny", "-o", measured / "report.html"),
        ("show", CELL),
        ("export", "records", *selection[:1], "--scale", "tiny"),
    ):
        said = repro(verb, *words)
        assert "::error" not in said.out + said.err and "\x1b" not in said.out + said.err
    [record] = Results(measured / "results").read("tiny", "costa")
    assert record.commits == ["a" * 40 + "-dirty"]


@pytest.mark.parametrize("place", ["commits", "environment"])
@pytest.mark.parametrize("commit", ["\n::error::p", "main", "a" * 65, "", 7])
def test_a_record_of_an_odd_commit_is_refused_with_its_line(repro, measured, place, commit):
    if place == "environment" and commit == "":
        return
    path = measured / "results/records/tiny/costa.jsonl"
    environment = json.loads(path.read_text())["environment"] | {"commit": commit}
    rewrite_record(path, **{place: [commit] if place == "commits" else environment})
    said = repro(f"compare {CELL} --scale tiny")
    assert said.refusal.startswith(f"{path}:1: ")
    assert "not a hexadecimal commit" in said.sentence or (place, commit) == ("commits", 7)
