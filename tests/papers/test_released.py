"""papers/baselines/released.yaml: what others released, and the rows that are measured with it."""

import functools
import re

import pytest

from repro.errors import ManifestError
from repro.manifest.cells import cells_of, select
from repro.manifest.papers import ROOT, known_checkpoints, papers, released_models
from repro.retrieval.datasets.hub_models import readable
from repro.running.plan import plan
from repro.running.recipe_calls import recipe_path
from repro.running.requirements import Machine
from repro.running.scale import scale

PATH = ROOT / "baselines" / "released.yaml"
RECIPE = "papers.baselines.released:retriever"
ENTRIES = released_models(PATH)
CELLS = [
    c
    for source in papers().values()
    for c in cells_of(source)
    if c.is_numeric and c.recipe and recipe_path(c) == RECIPE
]


def chosen_by_readings() -> set[str]:
    readings = [r for source in papers().values() for r in source.readings.values()]
    values = [r.choices[choice] for r in readings for choice in r.released]
    return {v if isinstance(v, str) else v["retriever"] for v in values} & set(ENTRIES)


def test_every_row_that_uses_a_release_names_an_entry_and_every_entry_is_used():
    assert {c.options["system"] for c in CELLS} | chosen_by_readings() == set(ENTRIES)
    assert len(CELLS) > 90 and all(
        {"system"} <= set(c.options) <= {"system", "recall", "read"} for c in CELLS
    )


def test_only_cited_cells_and_starred_reruns_are_measured_with_a_release():
    own = {(c.paper.name, c.row.system) for c in CELLS if c.role != "cited"}
    assert own == {("simlm", "cocondenser")}


@pytest.mark.parametrize("system", sorted(ENTRIES))
def test_an_entry_serves_one_kind_of_text(system):
    served = {
        re.split("[-/]", c.column.dataset)[0]
        for c in CELLS
        if c.options["system"] == system and c.column.dataset
    }
    if system in chosen_by_readings():  # all of them in rows of MS MARCO's passages
        served |= {"msmarco"}
    assert len(served) == 1 and served <= {"msmarco", "beir", "dpr"}
    assert not any(c.column.dataset.startswith("msmarco-document") for c in CELLS if c.column.dataset)


@pytest.mark.parametrize("system", sorted(ENTRIES))
def test_sources_on_a_code_host_are_fixed_at_a_commit(system):
    source = ENTRIES[system].source
    assert "github.com" not in source or re.search(r"/blob/[0-9a-f]{40}/", source)


def _broken(tmp_path, old: str, new: str):
    text = PATH.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "released.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("pooling: cls", "pooling: max", "'cls', 'mean' or 'sentence-transformers'"),
        ("pooling: cls", "pooling: null", "a dense encoder states its pooling"),
        ("model: facebook/contriever-msmarco", "model: contriever", "passages.model"),
        ("source: https://", "source: see ", "source"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_line(tmp_path, old, new, told):
    with pytest.raises(ManifestError, match=r"released\.yaml:\d+: ") as refused:
        released_models(_broken(tmp_path, old, new))
    assert told in str(refused.value)


@functools.cache
def named_by_plans() -> dict[str, str]:
    made = plan(select((), tables=(), rows=(), cells=()), scale=scale("full"), machine=Machine(None, None))
    return {n.params["name"]: n.stage for n in made.nodes if n.stage in ("backbone", "released")}


def test_the_architecture_of_every_checkpoint_is_known_before_it_is_here_and_is_one_that_its_stage_reads():
    known = known_checkpoints()
    assert named_by_plans().keys() - known.keys() == set()
    assert [n for n, stage in named_by_plans().items() if not readable(known[n].model_type, stage)] == []
    assert not readable("half_a_bert", "backbone")


def test_every_checkpoint_that_a_choice_of_a_reading_names_is_known():
    values = [v for p in papers().values() for r in p.readings.values() for v in r.choices.values()]
    named = {
        v for v in values if isinstance(v, str) and re.fullmatch(r"[\w.-]+/[\w.-]*(bert|mae|seed)[\w.-]*", v)
    }
    assert named and named <= known_checkpoints().keys()
