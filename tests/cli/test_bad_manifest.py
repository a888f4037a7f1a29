"""A broken manifest is one sentence with its file and line, and exit status 2."""

import pytest

PLAN = ("plan", "toy", "--scale", "tiny", "--json")
# name: (what is replaced, by what, the line at fault, words of the sentence)
BROKEN = {
    "a missing key": ("title: A toy\n", "", 1, "title: Field required"),
    "a misspelt key": ("label: Other", "lable: Other", 12, "rows.1.lable: Extra inputs are not permitted"),
    "a cell too few": ('"-"]', "]", 12, "row 'other' has 1 cells, the table has 2 columns"),
    "a number for a printed string": ('["0.1", "-"]', '[0.1, "-"]', 12, "should be a valid string"),
    "a key twice": ("title: A toy", "title: A toy\ntitle: B", 3, "key 'title' occurs twice"),
    "a key that is no word": ("title: A toy", "title: A toy\n[1]: x", 3, "a key is not a word"),
    "a row twice": ("{id: other", "{id: bm25", 12, "row 'bm25' occurs twice"),
    "a column twice": ("{id: dl,", "{id: dev,", 9, "column 'dev' occurs twice"),
    "no YAML": (
        "title: A toy",
        "title: 'A toy",
        13,
        "end of stream (while scanning a quoted scalar on line 2)",
    ),
    "a tab": ("title: A toy", "title:\n\tA toy", 3, "not valid YAML"),
    "a mark without meaning": ('"0.2*"', '"0.2†"', 11, "row 'bm25' marks '0.2†' with '†'"),
    "another paper's name": ("paper: toy", "paper: tyo", 1, "says paper 'tyo'"),
    "a slash in an id": ("{id: dl,", "{id: d/l,", 9, "may hold only letters"),
    "an average of nothing": (
        "dataset: msmarco-passage/dev/small, measure: RR@10",
        "mean_of: [x]",
        8,
        "averages 'x'",
    ),
    "an unknown recipe": (
        "recipe: words",
        "recipe: word",
        11,
        "recipe 'papers.toy.recipes:word' does not exist",
    ),
    "a recipe in no module": (
        "recipe: words",
        'recipe: "papers.no:x"',
        11,
        "recipe 'papers.no:x' does not exist",
    ),
    "a recipe without a module": ("recipe: words", 'recipe: ":x"', 11, "recipe ':x' does not exist"),
    "an option of no recipe": (
        "{depth: 10}",
        "{depth: 10, dept: 1}",
        11,
        "unexpected keyword argument 'dept'",
    ),
    "an option left out": ("with: {depth: 10}, ", "", 11, "missing a required argument: 'depth'"),
    "an unknown dataset": (
        "dataset: msmarco-passage/dev/small",
        "dataset: msmarco",
        8,
        "no dataset 'msmarco'",
    ),
    "an unknown measure": ("measure: RR@10", "measure: MRR@10", 8, "no measure 'MRR@10'"),
    "an unknown unit": (
        "  columns:",
        "  unit: per cent\n  columns:",
        7,
        "no unit of this measure 'per cent'",
    ),
    "a unit of something else": (
        "measure: RR@10",
        "measure: RR@10, unit: GB",
        8,
        "unit of this measure 'GB'; known: fraction, percent",
    ),
}


def test_the_toy_is_sound(repro, toy):
    assert {node["state"] for node in repro(*PLAN).json} == {"missing"}
    assert [cell["id"] for cell in repro("cells", "--json").json] == [
        "toy/1/bm25/dev",
        "toy/1/bm25/dl",
        "toy/1/other/dev",
    ]


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_manifest_names_file_and_line(repro, toy, name):
    old, new, line, words = BROKEN[name]
    assert toy.read_text().count(old) == 1
    toy.write_text(toy.read_text().replace(old, new))
    said = repro(*PLAN)
    assert said.status == 2
    assert said.sentence.startswith(f"{toy}:{line}: ")
    assert words in said.sentence


@pytest.mark.parametrize("name", ["an unknown recipe", "an unknown dataset", "an unknown measure"])
def test_what_only_a_plan_finds_names_the_cell(repro, toy, name):
    toy.write_text(toy.read_text().replace(*BROKEN[name][:2]))
    assert "cell toy/1/bm25/dev: " in repro(*PLAN).sentence


def test_text_that_is_not_utf8_names_its_line(repro, toy):
    toy.write_bytes(toy.read_bytes().replace(b"A toy", b"A t\xffy"))
    said = repro("list")
    assert (said.status, said.sentence) == (2, f"{toy}:2: not UTF-8 text")


def test_an_empty_manifest_is_told(repro, toy):
    toy.write_text("")
    said = repro("list")
    assert said.status == 2 and said.sentence.startswith(f"{toy}:1: top level: ")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (
            "- {id: a, kind: silence, where: x, paper: y, choices: {one: 1}, default: two}\n",
            1,
            "default 'two'",
        ),
        ("- id: a\n  kind: whim\n", 2, "should be 'silence'"),
        ("- [\n", 2, "not valid YAML"),
    ],
)
def test_broken_readings_name_file_and_line(repro, toy, text, line, words):
    path = toy.with_name("readings.yaml")
    path.write_text(text)
    said = repro("readings", "toy")
    assert said.status == 2
    assert said.sentence.startswith(f"{path}:{line}: ") and words in said.sentence
