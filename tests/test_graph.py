"""Fingerprints are identities, and rewriting keeps sharing."""

import pytest

from repro.errors import UsageError
from repro.graph import Node, canonical, check_types, distinct, rewrite, walk
from repro.stage_table import STAGES, check_choices


def _corpus(name="c", **params):
    return Node("corpus", {"dataset": name, **params})


def test_equal_graphs_have_equal_fingerprints_whatever_the_order_of_parameters():
    one = Node("search", {"depth": 10}, {"passages": _corpus("a"), "queries": _corpus("b")})
    two = Node("search", {"depth": 10}, {"queries": _corpus("b"), "passages": _corpus("a")})
    assert one.fingerprint == two.fingerprint


def test_a_parameter_or_an_input_changes_the_fingerprint():
    node = Node("search", {"depth": 10}, {"passages": _corpus("a"), "queries": _corpus("b")})
    assert node.fingerprint != Node("search", {"depth": 11}, node.inputs).fingerprint
    assert (
        node.fingerprint != Node("search", node.params, {**node.inputs, "queries": _corpus("c")}).fingerprint
    )


def test_where_the_data_was_found_is_not_part_of_the_identity():
    assert _corpus(source={"path": "/here"}).fingerprint == _corpus(source={"path": "/there"}).fingerprint
    assert _corpus(digest="1").fingerprint != _corpus(digest="2").fingerprint


def test_moving_an_objective_keeps_what_was_trained_and_raising_its_version_does_not():
    def trained(version, path):
        return Node("pretrain", {"objective": {"name": "o", "version": version, "path": path}})

    assert trained(1, "a:B").fingerprint == trained(1, "c:D").fingerprint
    assert trained(1, "a:B").fingerprint != trained(2, "a:B").fingerprint


def test_raising_a_stage_version_discards_its_artefacts(monkeypatch):
    from dataclasses import replace

    before = _corpus().fingerprint
    monkeypatch.setitem(STAGES, "corpus", replace(STAGES["corpus"], version=99))
    assert _corpus().fingerprint != before


def test_canonical_json_refuses_what_is_not_a_number():
    with pytest.raises(ValueError):
        canonical({"x": float("nan")})


def test_walk_gives_inputs_first_and_each_node_once():
    shared = _corpus()
    left = Node("lucene_index", {"multifield": False}, {"corpus": shared})
    right = Node("lucene_index", {"multifield": True}, {"corpus": Node("corpus", {"dataset": "c"})})
    order = walk([left, right])
    assert [n.stage for n in order] == ["corpus", "lucene_index", "lucene_index"]


def test_rewriting_keeps_shared_nodes_shared():
    shared, done = _corpus(), {}
    graph = Node("search", {"depth": 1}, {"passages": shared, "queries": shared})
    new = rewrite(graph, lambda n: Node(n.stage, {**n.params, "seen": True}, n.inputs), done)
    assert new.inputs["passages"] is new.inputs["queries"]
    assert new.inputs["passages"].params["seen"]


def test_of_equal_nodes_of_several_graphs_one_object_is_made():
    graphs = [
        Node("search", {"depth": d}, {"passages": _corpus("a"), "queries": _corpus("b")}) for d in (1, 1, 2)
    ]
    known, done = {}, {}
    one, same, other = (rewrite(g, lambda node: distinct(node, known), done) for g in graphs)
    assert one is same is not other
    assert one.inputs["passages"] is other.inputs["passages"] is not one.inputs["queries"]
    assert [n.fingerprint for n in (one, same, other)] == [g.fingerprint for g in graphs]


def test_a_graph_that_cannot_run_is_refused_with_stage_and_input():
    with pytest.raises(
        UsageError, match="'search' takes embeddings as input 'passages', and stage 'corpus' gives"
    ):
        check_types(Node("search", {}, {"passages": _corpus(), "queries": _corpus()}))
    with pytest.raises(UsageError, match=r"'queries' .missing: 'passages', 'queries', unknown"):
        check_types(Node("search", {}, {}))
    with pytest.raises(UsageError, match=r"'serach' is not a known stage. Did you mean search"):
        Node("serach")
    with pytest.raises(UsageError, match=r"stage 'corpus' has a parameter that is not a JSON value: .* set"):
        _ = Node("corpus", {"dataset": {1}}).fingerprint


def test_what_a_rewriting_leaves_as_it_is_stays_the_same_object():
    graph = Node("search", {"depth": 10}, {"passages": _corpus("a"), "queries": _corpus("b")})
    assert rewrite(graph, lambda node: node, {}) is graph


def test_each_value_of_a_list_is_checked():
    with pytest.raises(UsageError, match=r"'titel' is not a known value of fields\. Did you mean title"):
        check_choices("tokenize", {"fields": ["body", "titel"]})
