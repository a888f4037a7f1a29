"""Broken manifests are refused with file and line."""

from typing import Any

import pytest
import yaml

from repro.errors import ManifestError
from repro.manifest import yaml_file
from repro.manifest.schema import Manifest, faults

GOOD = """\
paper: p
title: T
tables:
- id: "1"
  about: a table
  columns:
  - {id: a, head: [A], dataset: d, measure: RR@10}
  - {id: b, head: [B]}
  rows:
  - {id: x, label: X, cells: ["1.0", "-"]}
"""


def _read(tmp_path, text, shape=Manifest):
    path = tmp_path / "cells.yaml"
    path.write_text(text)
    return yaml_file.read(path, shape, faults=faults if shape is Manifest else lambda content: ())


def test_a_good_manifest_is_read(tmp_path):
    assert _read(tmp_path, GOOD).tables[0].rows[0].cells == ("1.0", "-")


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ('"1.0", "-"', '"1.0"', 10, "has 1 cells, the table has 2 columns"),
        ("label: X", "label: X, group: g", 10, "names group 'g'"),
        ("label: X", "label: X, delta_from: x", 10, "compared with 'x', which is not another row"),
    ],
)
def test_each_mistake_is_named_with_its_line(tmp_path, old, new, line, reason):
    with pytest.raises(ManifestError) as error:
        _read(tmp_path, GOOD.replace(old, new))
    assert str(error.value).startswith(f"{tmp_path / 'cells.yaml'}:{line}: ")
    assert reason in str(error.value)


def test_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(ManifestError, match="cannot be read"):
        yaml_file.read(tmp_path / "none.yaml", Manifest)


def test_changing_what_was_read_does_not_change_what_is_read_next(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("words: !!set {the, a}\norder: !!omap [first: {a: 1}]\nlist: [the]")
    content = yaml_file.read(path, Any)
    content["words"].add("of")
    content["order"][0][1]["a"] = 2
    content["list"].append("of")
    expected = {"words": {"the", "a"}, "order": [("first", {"a": 1})], "list": ["the"]}
    assert yaml_file.read(path, Any) == expected


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("b: 1\na: &a [x, *a]", 2, "recursive"),
        ("b: 1\na: *c", 2, "found undefined alias 'c'"),
        ("b: 1\na: 2020-13-45", 2, "'2020-13-45' is not a valid timestamp"),
        ("b: 1\na: !!pairs\n- c: 2020-02-30", 3, "'2020-02-30' is not a valid timestamp"),
    ],
)
def test_an_alias_within_itself_and_a_value_that_is_none_of_its_kind_are_named(tmp_path, text, line, reason):
    with pytest.raises(ManifestError, match=f"cells.yaml:{line}: not valid YAML: .*{reason}"):
        _read(tmp_path, text, Any)


TOO_MUCH = {
    "brackets": ("a: " + "[" * 10**5, "nested too deeply"),
    "braces": ("a: " + "{b: " * 10**5, "nested too deeply"),
    "dashes": ("- " * 10**5, "nested too deeply"),
    "bytes": ("a: " + "b" * 2**22, "it has more than 4,194,304 bytes"),
    "aliases": ("a: &a 1\nb: [" + "*a, " * 2001 + "]", "it has more than 2,000 aliases"),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_a_file_that_is_too_large_or_too_deep_is_one_sentence(tmp_path, name):
    text, reason = TOO_MUCH[name]
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ManifestError, match=rf"^{path}:.*{reason}"):
        yaml_file.read(path, Any)


def test_aliases_are_not_expanded(tmp_path):
    text = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 10}]\n" for n in range(1, 30))
    assert len(_read(tmp_path, text, Any)["a29"]) == 10


ODD = """\
base: &base {a: 1, b: [x, 2020-01-01, 1.5, ~, yes]}
more: {<<: *base, b: 3}
same: *base
tagged: !!set {c, d}
"""


def test_values_are_those_of_the_safe_loader(tmp_path):
    assert _read(tmp_path, ODD, Any) == yaml.safe_load(ODD)


def test_a_mapping_that_overrides_what_it_takes_over_is_taken_over_itself(tmp_path):
    """Its keys are not counted again after << added to them."""
    text = "c: {d: &b {<<: &a {k: 1}, k: 2}}\ne: {<<: *b, f: 3}\ng: [{<<: *b}]"
    assert _read(tmp_path, text, Any) == {"c": {"d": {"k": 2}}, "e": {"k": 2, "f": 3}, "g": [{"k": 2}]}
