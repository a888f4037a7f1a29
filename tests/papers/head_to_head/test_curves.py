"""The learning curves: one setting at a time, on training queries alone."""

import pytest

from papers.head_to_head.curves import from_scratch
from repro.graph import walk
from repro.manifest.cells import cells_of, figure_tables
from repro.manifest.papers import papers
from repro.progress import Progress
from repro.retrieval.datasets.catalog import dataset
from repro.retrieval.recipe.request import Choices, Request
from repro.running.engines.inline import run_node
from repro.running.measurement import evaluation
from repro.running.plan import plan
from repro.running.recipe_calls import not_at
from repro.running.requirements import Machine
from repro.running.scale import scale
from repro.store import Store, make_writable
from repro.store.seal import read_json
from tests.once import take_what_is_finished

STUDY = papers()["head_to_head"]
FIGURES = figure_tables(STUDY)
BASES = [figure.settings for figure in STUDY.manifest.figures if figure.settings]
SCALED = {line.id: line.with_ for figure in STUDY.manifest.figures if figure.across for line in figure.lines}
NARROW = {"width": 64, "objective_steps": 2, "steps": 0}


@pytest.fixture(scope="module")
def planned():
    cells = [c for c in cells_of(STUDY, FIGURES) if c.row.group != "bm25"]
    return plan(cells, scale=scale("curves"), machine=Machine())


def test_no_curve_reads_a_test_set(planned):
    read = {n.params["dataset"] for n in planned.nodes if "dataset" in n.params}
    topics = {name for name in read if name.count("/") > 1}
    pool = "msmarco-passage/train-pool-12k/train"
    assert topics == {f"{pool}/fitting", f"{pool}/validation", "beir/scifact/train", "beir/nfcorpus/dev"}


def test_held_out_queries_are_not_trained_on(planned):
    trained = [n for n in planned.nodes if n.stage == "finetune"]
    read = {n.params.get("dataset", "") for n in walk(trained)}
    assert trained and not any(name.endswith("/validation") for name in read)


def test_every_line_is_a_base_but_for_what_its_name_says():
    """A line has at most two settings of its own, and its pooling, beside the one that the x-axis varies."""
    for figure in STUDY.manifest.figures:
        for line in figure.lines:
            own = [
                {key for key in base.keys() & line.with_ if base[key] != line.with_[key]} for base in BASES
            ]
            others = min(own, key=len)
            assert len(others - {"pooling"}) <= 2 and line.over not in others, (figure.id, line.id, others)


def test_the_scale_leaves_every_setting_as_it_is_stated(planned):
    """Curves that coincide would show a cap of the scale, not the model."""
    for table in FIGURES:
        of_table = planned.of_table("head_to_head", table.id).measurements
        every = {(m.cell.row.id, m.cell.column.id): m.fingerprint for m in of_table}
        untrained = [f for (row, _), f in every.items() if row.endswith(".0")]
        assert len(set(every.values())) >= len(every) - len(untrained), table.id


def test_every_pretraining_of_the_study_has_a_line_and_all_begin_with_one_backbone(planned):
    table = STUDY.manifest.tables[0]
    [figure] = (f for f in STUDY.manifest.figures if f.id == "objectives")
    rows = {row.id: row.with_ for row in table.rows if "encoder" in row.with_}
    lines = {line.id: line.with_ for line in figure.lines if line.over}
    assert rows and lines.keys() == rows.keys()
    assert all(lines[name].items() >= of_row.items() for name, of_row in rows.items())
    of_figure = planned.of_table("head_to_head", "figure-objectives").nodes
    starts = [n.inputs["model"] for n in of_figure if n.stage == "pretrain"]
    backbones = [start.fingerprint for start in starts if start.stage == "pretrain"]
    assert len(backbones) == 2 * len(lines) and len(set(backbones)) == 1


def test_the_points_of_the_scaling_figure_at_the_studys_size_are_those_of_the_objectives(planned):
    """Each objective is trained once for both figures; at the other width there is one more backbone."""
    points = {
        name: {m.fingerprint for m in planned.of_table("head_to_head", f"figure-{name}").measurements}
        for name in ("objectives", "scaling")
    }
    both, own = points["scaling"] & points["objectives"], points["scaling"] - points["objectives"]
    assert len(both) == len(own) == 3 * (5 * 2 + 1)


@pytest.mark.parametrize("name", ["full", "small", "tiny"])
def test_curves_are_of_their_own_scale_alone(name):
    for cell in cells_of(STUDY, FIGURES):
        assert "only at scale curves" in not_at(cell, scale(name)) and not not_at(cell, scale("curves"))


@pytest.mark.parametrize(
    "settings",
    [
        {"layers": 0, "steps": 2},
        {"pretraining": "neighbours", "pretraining_steps": 2, "steps": 0},
        {"encoder": "papers.simlm.encoders:simlm", "objective_steps": 2, "steps": 0},
        {"encoder": "papers.costa.recipes:costa", "options": SCALED["costa-64"]["options"], **NARROW},
        {"encoder": "papers.cpdae.recipes:cpdae", **NARROW},
        {"encoder": "papers.cotmae_v2.encoders:second_version", "texts_per_row": 2, **NARROW},
    ],
)
def test_a_point_of_a_curve_is_measured(settings, tmp_path_factory):
    validation = "msmarco-passage/train-pool-12k/train/validation"
    run = from_scratch(
        Request(validation, Choices({})), **BASES[0] | {"vocabulary": 600, "queries": 20} | settings
    )
    asked = evaluation(run, dataset(validation), "RR@10", {})
    store = Store(tmp_path_factory.getbasetemp() / "curves")
    end = Machine().resolve(scale("smoke").rewriter()(asked))
    make_writable(store.root)
    store.remember(walk([end]))
    take_what_is_finished([n for n in walk([end]) if store.state(n) != "stored"], store)
    for node in walk([end]):
        if store.state(node) != "stored":
            run_node(node, store, Progress())
    scores = read_json(store.path(end) / "scores.json")
    assert len(scores["queries"]) == 40
