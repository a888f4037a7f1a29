"""Each ablated row differs from its reference in one switch."""

from collections.abc import Iterator, Mapping

import pytest

from papers.head_to_head import recipes
from repro.errors import ReproError
from repro.graph import Node
from repro.manifest.cells import cells_of, table_of
from repro.manifest.papers import papers
from repro.retrieval.recipe.request import Choices, Request
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import scale

STUDY = papers()["head_to_head"]
TABLE = table_of(STUDY, "6")
DECODERS, VIEWS = ("auto_encoding", "auto_regressive"), ("dense", "sparse")
SWITCHES = {  # option -> its value in the row of reference, and in the row
    "costa.temperature-1": {"temperature": (0.1, 1.0)},
    "costa.sums": {"reduction": ("mean", "sum")},
    "costa.without-projector": {"projector": ("nonlinear", "none")},
    "cpdae.without-contrast": {"contrast": ("distribution", "none"), "weight": (0.1, 0.0)},
    "cpdae.sums": {"reconstruction_reduction": ("mean", "sum")},
    "cpdae.sums-without-contrast": {"contrast": ("distribution", "none"), "weight": (0.1, 0.0)},
    "cotmae_v2.auto-encoding": {"decoders": (DECODERS, DECODERS[:1])},
    "cotmae_v2.auto-regressive": {"decoders": (DECODERS, DECODERS[1:])},
    "cotmae_v2.dense": {"views": (VIEWS, VIEWS[:1])},
    "cotmae_v2.sparse": {"views": (VIEWS, VIEWS[1:])},
}
OBJECTIVES = {  # row -> the objective of the row of reference, and its own
    "simlm.masks": ("simlm", "enc-dec-mlm"),
    "condenser.head": ("pair-mlm", "condenser"),
}


@pytest.fixture(scope="module", params=["small-cpu", "full"])
def pretrainings(request):
    tables = [table_of(STUDY, "1"), TABLE]
    planned = plan(cells_of(STUDY, tables), scale=scale(request.param), machine=Machine())
    made = {(m.cell.table.id, m.cell.row.id): _tuned(m.parts[0]) for m in planned.measurements}
    return {row: node for row, node in made.items() if node}


def _tuned(node: Node) -> Node | None:
    while node.stage != "finetune":
        following = [n for key in ("run", "passages", "model") if (n := node.inputs.get(key))]
        if not following:
            return None
        node = following[0]
    return node.inputs["model"]


def _options(params: Mapping) -> Iterator[tuple[str, object]]:
    for name, value in params.items():
        if isinstance(value, Mapping):
            yield from _options(value)
        else:
            yield name, tuple(value) if isinstance(value, list) else value


def _differences(base: Node, row: Node) -> dict[str, tuple]:
    ours, theirs = dict(_options(row.params["options"])), dict(_options(base.params["options"]))
    names = [name for name in theirs | ours if theirs.get(name) != ours.get(name)]
    return {name: (theirs.get(name), ours.get(name)) for name in names}


def test_every_row_that_is_compared_has_its_switch_stated_here():
    compared = {row.id for row in TABLE.rows if TABLE.base_of(row)}
    assert compared == SWITCHES.keys() | OBJECTIVES.keys()


@pytest.mark.parametrize("name", SWITCHES)
def test_an_ablation_differs_in_the_stated_options_alone(pretrainings, name):
    [row] = [row for row in TABLE.rows if row.id == name]
    node, base = pretrainings["6", name], pretrainings["6", TABLE.base_of(row)]
    assert _differences(base, node) == SWITCHES[name]
    rest = [{k: v for k, v in n.params.items() if k != "options"} for n in (base, node)]
    assert rest[0] == rest[1] and base.inputs == node.inputs


@pytest.mark.parametrize("name", OBJECTIVES)
def test_another_objective_has_the_same_text_training_and_shared_options(pretrainings, name):
    [row] = [row for row in TABLE.rows if row.id == name]
    node, base = pretrainings["6", name], pretrainings["6", TABLE.base_of(row)]
    assert tuple(n.params["objective"]["name"] for n in (base, node)) == OBJECTIVES[name]
    rest = [{k: v for k, v in n.params.items() if k not in ("options", "objective")} for n in (base, node)]
    assert rest[0] == rest[1]
    both = base.inputs.keys() & node.inputs.keys()
    assert both >= {"tokens", "model"} and all(base.inputs[key] == node.inputs[key] for key in both)
    theirs, ours = (dict(_options(n.params["options"])) for n in (base, node))
    shared = theirs.keys() & ours.keys()
    assert shared >= {"rate", "unit", "mask", "random"} or shared >= {
        "encoder_rate",
        "decoder_rate",
        "layers",
    }
    assert all(theirs[option] == ours[option] for option in shared)


def test_the_papers_rows_are_those_of_the_table_of_equal_tokens(pretrainings):
    own = [row.id for row in TABLE.rows if row.id.endswith(".paper")]
    assert len(own) == 4
    for name in own:
        assert pretrainings["6", name] == pretrainings["1", name.removesuffix(".paper")]


@pytest.mark.parametrize(
    ("readings", "reason"),
    [({"no-such-reading": "mean"}, "no-such-reading"), ({"loss-reduction": "median"}, "median")],
)
def test_a_reading_or_choice_that_the_paper_does_not_have_is_named(readings, reason):
    [row] = [row for row in TABLE.rows if row.id == "costa.sums"]
    asked = Request("msmarco-passage/dev/small", Choices(STUDY.readings))
    with pytest.raises(ReproError, match=reason):
        recipes.row(asked, **row.with_ | {"readings": readings})
