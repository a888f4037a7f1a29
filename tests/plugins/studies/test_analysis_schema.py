"""analysis.yaml: what it says is read, and what is wrong in it is one sentence with its line."""

import pytest
import yaml

from repro.errors import ManifestError
from repro.manifest.papers import papers
from repro.manifest.schema import Manifest
from repro.plugins.studies.analysis_schema import Analysis, Confirmatory, analysis_of, read_analysis

MANIFEST = Manifest.model_validate(
    {
        "paper": "toy",
        "title": "Toy",
        "tables": [
            {
                "id": "1",
                "kind": "study",
                "about": "rows",
                "delta_from": "a",
                "columns": [{"id": "x"}],
                "rows": [{"id": row, "label": row} for row in "abc"],
            },
            {
                "id": "2",
                "kind": "study",
                "about": "groups",
                "columns": [{"id": "x"}],
                "groups": [{"id": "g", "label": "G"}, {"id": "h", "label": "H"}],
                "rows": [
                    {"id": "g.a", "label": "a", "group": "g"},
                    {"id": "g.b", "label": "b", "group": "g", "delta_from": "g.a"},
                    {"id": "h.a", "label": "a", "group": "h"},
                    {"id": "h.b", "label": "b", "group": "h", "delta_from": "h.a"},
                ],
            },
            {"id": "3", "about": "printed"},
        ],
    }
)
TABLE = {
    "table": "1",
    "primary": "x",
    "matters": {"x": 1.0},
    "floor": "a",
    "families": [{"id": "all", "label": "all", "rows": ["a", "b", "c"]}],
}

CLAIM = {"table": "1", "family": "all", "column": "x"}


def _read(folder, table=TABLE, **other):
    path = folder / "analysis.yaml"
    path.write_text(yaml.safe_dump({"seeds": [1, 2], "tables": [table], **other}))
    return read_analysis(folder, MANIFEST)


def test_families_are_pairs_with_one_row_or_all_pairs(tmp_path):
    against = {"id": "to-a", "label": "to a", "rows": ["b", "c"], "against": "a"}
    read = _read(tmp_path, TABLE | {"families": [*TABLE["families"], against]})
    every, to_a = read.of(MANIFEST.tables[0]).families
    assert every.pairs == (("a", "b"), ("a", "c"), ("b", "c"))
    assert to_a.pairs == (("b", "a"), ("c", "a"))


def test_without_families_rows_are_compared_with_their_own_reference_a_family_a_group(tmp_path):
    read = _read(tmp_path, {"table": "2", "primary": "x"})
    assert read.of(MANIFEST.tables[1]).primary == "x"
    assert [(f.id, f.label, f.pairs) for f in read.of(MANIFEST.tables[1]).families] == [
        ("g", "G", (("g.b", "g.a"),)),
        ("h", "H", (("h.b", "h.a"),)),
    ]
    [family] = Analysis().of(MANIFEST.tables[0]).families
    assert family.pairs == (("b", "a"), ("c", "a"))


def test_one_claim_is_confirmatory(tmp_path):
    assert _read(tmp_path, confirmatory=CLAIM).confirmatory == Confirmatory(**CLAIM)


def test_without_the_file_there_is_no_plan(tmp_path):
    assert read_analysis(tmp_path, MANIFEST) == Analysis()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"table": "3"}, "tables.0.table: the paper has no study '3'; it has 1, 2"),
        ({"primary": "y"}, "tables.0.primary: the table has no column 'y'; it has x"),
        ({"matters": {"y": 1.0}}, "tables.0.matters: the table has no column 'y'; it has x"),
        ({"matters": {"x": 0}}, "tables.0.matters.x: 0 is no difference that matters; it must be above 0"),
        ({"families": TABLE["families"] * 2}, "tables.0.families.1: family 'all' occurs twice"),
        (
            {"families": [{"id": "f", "label": "f", "rows": ["a"]}]},
            "needs row `against` or two rows at least",
        ),
        (
            {"families": [{"id": "f", "label": "f", "rows": ["a", "b"], "against": "a"}]},
            "row 'a' would be compared with itself",
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_file_and_line(tmp_path, change, said):
    with pytest.raises(ManifestError) as error:
        _read(tmp_path, TABLE | change)
    assert str(error.value).startswith(f"{tmp_path / 'analysis.yaml'}:")
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"seeds": [1]}, "seeds: needs two different seeds at least"),
        ({"level": 0.7}, "level"),
        ({"test": "t"}, "test"),
        ({"confirmatory": CLAIM | {"table": "3"}}, "table '3' is not analysed; those are: 1"),
        (
            {"confirmatory": CLAIM | {"family": "x"}},
            "confirmatory.family: the table has no family 'x'; it has all",
        ),
        (
            {"confirmatory": CLAIM | {"column": "y"}},
            "confirmatory.column: the table has no column 'y'; it has x",
        ),
        ({"tables": [TABLE, TABLE]}, "tables.1.table: table '1' occurs twice"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused(tmp_path, other, said):
    with pytest.raises(ManifestError) as error:
        _read(tmp_path, **other)
    assert said in str(error.value)


@pytest.mark.parametrize("name", papers())
def test_every_analysis_names_all_studies_of_its_paper_and_says_what_matters_in_every_column(name):
    source = papers()[name]
    studies = [table for table in source.manifest.tables if table.kind == "study"]
    assert {each.table for each in analysis_of(source).tables} == {table.id for table in studies}
    for table in studies:
        own = analysis_of(source).of(table)
        assert own.primary and own.matters.keys() == {column.id for column in table.columns}
