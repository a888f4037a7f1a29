from decimal import Decimal
from typing import get_args

import pytest

from repro.errors import UsageError
from repro.graph import Node
from repro.manifest.schema import ToleranceClass
from repro.verdicts.tolerance import implied_class, tolerance


@pytest.mark.parametrize(
    ("name", "measure", "half_width"),
    [
        ("deterministic", "RR@10", "0.0005"),
        ("re-encoded", "R(rel=2)@1000", "0.001"),
        ("retrained", "RR@100", "0.01"),
        ("retrained", "nDCG@10", "0.02"),
        ("retrained", "Success@20", "0.01"),
    ],
)
def test_classes_are_stated_as_fractions_and_given_in_the_unit_of_print(name, measure, half_width):
    assert tolerance(name, measure, "fraction").half_width == Decimal(half_width)
    assert tolerance(name, measure, "percent").half_width == 100 * Decimal(half_width)


@pytest.mark.parametrize("name", get_args(ToleranceClass))  # those that a manifest may name
@pytest.mark.parametrize("measure", ["RR@10", "nDCG@10", "R@1000", "R(rel=2)@1000", "Success@20"])
def test_every_class_covers_every_kind_of_measure_and_names_its_source(name, measure):
    found = tolerance(name, measure, "fraction")
    assert found.name == name
    assert len(found.source) > 20
    assert "\n" not in found.source


def test_classes_grow_with_what_is_done_again():
    classes = ("deterministic", "re-encoded", "retrained")
    for measure in ("RR@10", "nDCG@10", "R@1000", "Success@20"):
        widths = [tolerance(name, measure, "percent").half_width for name in classes]
        assert widths == sorted(set(widths))


def test_a_row_without_a_class_is_retrained():
    assert tolerance(None, "RR@10", "percent") == tolerance("retrained", "RR@10", "percent")


@pytest.mark.parametrize(("measure", "unit"), [("accuracy", "percent"), (None, "GB"), ("RR@10", "GB")])
def test_what_the_classes_do_not_cover_has_no_tolerance(measure, unit):
    assert tolerance("retrained", measure, unit) is None


def test_an_unknown_class_is_told_the_known_ones():
    with pytest.raises(UsageError, match=r"'retraned'.*did you mean 'retrained'.*deterministic, re-encoded"):
        tolerance("retraned", "RR@10", "percent")


def test_a_graph_implies_its_class_by_what_is_made_again_in_it():
    documents, backbone, released = (
        Node(stage, {"name": "x"}) for stage in ("corpus", "backbone", "released")
    )
    objective = {"objective": {"name": "mlm", "version": 1, "path": ""}}
    pretrained = Node("pretrain", objective, {"model": backbone})
    found = {}
    for name, model in {"backbone": backbone, "released": released, "pretrained": pretrained}.items():
        passages = Node("encode", {"kind": "passages"}, {"model": model, "texts": documents})
        found[name] = implied_class([Node("search", {"depth": 10}, {"passages": passages})])
    assert found == {"backbone": "re-encoded", "released": "re-encoded", "pretrained": "retrained"}
    tuned = Node("finetune", objective, {"model": backbone})
    assert implied_class([documents, tuned]) == "retrained"
    index = Node("lucene_index", {"multifield": False}, {"corpus": documents})
    assert implied_class([Node("bm25", {"depth": 10}, {"index": index})]) == "deterministic"
