"""Limits on how much a reader has to hold in mind at once; the suite's whole source is counted."""

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from radon.complexity import cc_visit

from tests.weights import TABLE, heavier, weights, write

ROOT = Path(__file__).resolve().parents[1]
# through a function: McCabe's number, in which radon counts `and`, `or` and comprehensions, too
MOST_PATHS = 10
SHARE_ABOVE = 0.02
FORMATTED_BY_HAND = 10
SLACK = 0.03  # a part may be this much lighter than its number in the table of weights


def sources(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def complexities() -> dict[str, int]:
    """The complexity of every function and method, also of those inside others, by file and line."""
    counted, numbers = [], {}
    for path in sources("repro", "papers"):
        name = path.relative_to(ROOT)
        counted += [(name, block) for block in cc_visit(path.read_text(encoding="utf-8"))]
    while counted:
        name, block = counted.pop()
        if hasattr(block, "methods"):
            counted += [(name, inner) for inner in (*block.methods, *block.inner_classes)]
        else:
            numbers[f"{name}:{block.lineno} {block.name}"] = block.complexity
            counted += [(name, inner) for inner in block.closures]
    return numbers


def test_few_functions_have_more_than_ten_paths():
    numbers = complexities()
    above = {where: number for where, number in numbers.items() if number > MOST_PATHS}
    listed = "\n".join(
        f"{number} {where}" for where, number in sorted(above.items(), key=lambda item: -item[1])
    )
    assert len(numbers) > 1500 and len(above) <= SHARE_ABOVE * len(numbers), listed


def test_hardly_any_line_is_kept_from_the_formatter():
    mark = "# fmt: " + "skip"
    lines = [
        path for path in sources("repro", "papers", "tests") for _ in range(path.read_text().count(mark))
    ]
    assert len(lines) <= FORMATTED_BY_HAND, lines


@pytest.fixture(scope="module")
def table() -> dict[str, dict]:
    return yaml.safe_load(TABLE.read_text(encoding="utf-8"))


def test_no_part_of_the_house_is_heavier_than_the_table_says(table):
    assert heavier(weights(), table) == [], "python -m tests.weights --because …"


def test_whoever_makes_a_part_lighter_lowers_its_number(table):
    assert heavier(table, weights(), slack=SLACK) == [], "python -m tests.weights"


def test_a_number_rises_for_a_reason_only(table, tmp_path, monkeypatch):
    light = {part: {**units, "verbs": 1} if "verbs" in units else units for part, units in table.items()}
    monkeypatch.setattr("tests.weights.TABLE", written := tmp_path / "weights.yaml")
    monkeypatch.setattr("tests.weights.weights", lambda: table)
    written.write_text(yaml.safe_dump(light))
    refused = CliRunner().invoke(write, [])
    assert refused.exit_code == 1 and "verbs, in the other table 1\n" in refused.output
    assert yaml.safe_load(written.read_text()) == light
    assert CliRunner().invoke(write, ["--because", "of a test"]).exit_code == 0
    raised = {"the command line": {**table["the command line"], "because": "of a test"}}
    assert yaml.safe_load(written.read_text()) == {**table, **raised}
