import pytest

PLAN = "plan toy --scale tiny --format json"
FIGURE = """\
- {id: "1", about: a figure, panels: [{id: dev, dataset: msmarco-passage/dev/small, measure: RR@10}], %s,
   lines: [%s]}
"""
LINE = "{id: l, label: L, recipe: words, over: depth}"
READING = "- {id: a, kind: silence, where: x, paper: y, choices: {one: 1}, default: one}\n"
# name: (what is replaced, by what, the line at fault, words of the sentence)
BROKEN = {
    "a missing key": ("title: A toy\n", "", 1, "title: this key is missing"),
    "a misspelt key": (
        "label: Other",
        "lable: Other",
        12,
        "rows.1.lable: 'lable' is not a known key. Did you mean label?",
    ),
    "a number for a printed string": ('["0.1", "-"]', '[0.1, "-"]', 12, "0.1 is not text. Put it in quotes."),
    "a key twice": ("title: A toy", "title: A toy\ntitle: B", 3, "key 'title' occurs twice"),
    "a percentage where fractions are": (
        '"0.1", "-"',
        '"33.1", "-"',
        8,
        "column 'dev' has the number 33.1, but its unit fraction allows at most 1",
    ),
    "a mark over no row": (
        "over: [other]",
        "over: [othr]",
        6,
        "tables.0.marks.*.over: 'othr' is not a known row or system of the table. Did you mean other?",
    ),
    "a point twice": (
        "tables:",
        "figures:\n" + FIGURE % ("points: [1000001, 1000002]", LINE) + "tables:",
        4,
        "point 1e+06 occurs twice when rounded to six digits",
    ),
    "readings of no package": (
        "title: A toy",
        "title: A toy\nreadings_of: [papers.none]",
        3,
        "readings_of.0: No module named 'papers.none'",
    ),
    "no YAML": (
        "title: A toy",
        "title: 'A toy",
        13,
        "end of stream (while scanning a quoted scalar on line 2)",
    ),
    "a mark without meaning": ('"0.2*"', '"0.2†"', 11, "row 'bm25' marks '0.2†' with '†'"),
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
    "an option of no recipe": (
        "{depth: 10}",
        "{depth: 10, dept: 1}",
        11,
        "'dept' is not a known option. Did you mean depth? Known: depth",
    ),
    "an unknown dataset": (
        "dataset: msmarco-passage/dev/small",
        "dataset: msmarco",
        8,
        "'msmarco' is not a known dataset",
    ),
    "an unknown measure": ("measure: RR@10", "measure: MRR@10", 8, "'MRR@10' is not a known measure"),
    "a unit of something else": (
        "measure: RR@10",
        "measure: RR@10, unit: GB",
        8,
        "'GB' is not a known unit of this measure. Known: fraction, percent",
    ),
}


def test_the_toy_is_sound(repro, toy):
    assert {n["state"] for n in repro(PLAN).json} == {"missing"}
    assert [c["id"] for c in repro("show cells --format json").json] == [
        "toy/1/bm25/dev",
        "toy/1/bm25/dl",
        "toy/1/other/dev",
    ]


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_manifest_names_file_and_line(repro, toy, name):
    old, new, line, words = BROKEN[name]
    assert toy.read_text().count(old) == 1
    toy.write_text(toy.read_text().replace(old, new))
    said = repro(PLAN)
    assert said.refusal.startswith(f"{toy}:{line}: ")
    assert words in said.sentence


@pytest.mark.parametrize("name", ["an unknown recipe", "an unknown dataset", "an unknown measure"])
def test_what_only_a_plan_finds_names_the_cell(repro, toy, name):
    toy.write_text(toy.read_text().replace(*BROKEN[name][:2]))
    assert "cell toy/1/bm25/dev: " in repro(PLAN).sentence


def test_text_that_is_not_utf8_names_its_line(repro, toy):
    toy.write_bytes(toy.read_bytes().replace(b"A toy", b"A t\xffy"))
    said = repro("show")
    assert (said.status, said.sentence) == (2, f"{toy}:2: not UTF-8 text")


def test_an_empty_manifest_is_told(repro, toy):
    toy.write_text("")
    assert repro("show").refusal.startswith(f"{toy}:1: top level: ")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (READING.replace("default: one", "default: two"), 1, "default 'two'"),
        ("- id: a\n  kind: whim\n", 2, "should be 'silence'"),
        ("- [\n", 2, "not valid YAML"),
        (READING * 2, 2, "unspecified choice 'a' occurs twice"),
        (
            READING.replace("where", "were"),
            1,
            "'were' is not a known key. Did you mean where? Known: where, ",
        ),
    ],
)
def test_broken_readings_name_file_and_line(repro, toy, text, line, words):
    path = toy.with_name("readings.yaml")
    path.write_text(text)
    said = repro("show readings toy")
    assert said.refusal.startswith(f"{path}:{line}: ") and words in said.sentence


INPUT = "recipe.corpus('msmarco-passage')"
# name: (what is replaced in recipes.py, by what, words of the sentence behind the recipe's name)
FAULTY = {
    "nothing returned": ("    return recipe", "    recipe", " returns None instead of a node or Runs"),
    "a slip of syntax": ("return", "retrun", " cannot be loaded: {file}:{line}: SyntaxError: "),
    "a reading that there is not": (
        "    return recipe",
        "    request.reading('k')\n    return recipe",
        ": 'k' is not a known reading",
    ),
    "a number that makes no sense": (
        "depth=depth",
        "depth=0",
        ": depth is 0, but must be a whole number from 1",
    ),
    "a share above one": (
        "    return recipe",
        f"    return recipe.sample({INPUT}, sample=1, method='block', seed=1, share=2)\n    return recipe",
        ": share is 2, but must be a number from 0 to 1",
    ),
    "a run that ends before the measure does": (
        "depth=depth",
        "depth=9",
        ": its run has 9 documents per query, but RR@10 needs 10",
    ),
    "a stage's artefact of another kind": (
        "    return recipe",
        f"    return {INPUT}\n    return recipe",
        ": stage 'evaluate' takes run as input 'run', and stage 'corpus' gives corpus",
    ),
}


@pytest.mark.parametrize("name", FAULTY)
def test_a_faulty_recipe_names_its_row_and_its_own_line(repro, toy, name):
    old, new, words = FAULTY[name]
    file = toy.with_name("recipes.py")
    before, _, _ = (text := file.read_text()).partition(old)
    file.write_text(text.replace(old, new))
    said = repro(PLAN)
    assert (said.status, said.err.count("\n")) == (2, 1)
    assert said.sentence.startswith(f"{toy}:11: tables.0.rows.0.recipe: cell toy/1/bm25/dev: ")
    expected = words.format(file=file, line=before.count("\n") + 1)
    assert f"recipe 'papers.toy.recipes:words'{expected}" in said.sentence
