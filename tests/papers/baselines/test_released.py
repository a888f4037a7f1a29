"""Released encoders become graphs of the stages that exist, at full scale only."""

import pytest

from papers.baselines.released import FILE, retriever
from repro.errors import UsageError
from repro.graph import check_types, walk
from repro.manifest.cells import cell
from repro.manifest.papers import papers, released_models
from repro.retrieval.recipe.request import Choices, Request
from repro.running.recipe_calls import not_at
from repro.running.scale import scale, scales

ENTRIES = released_models(FILE)
READINGS = papers()["costa"].readings


def made(system, dataset="msmarco-passage/dev/small", readings=READINGS, data=None, **how):
    choices = Choices(readings, {}, data, **how)
    return retriever(Request(dataset, choices), system=system), choices


@pytest.mark.parametrize("system", sorted(ENTRIES))
def test_every_entry_is_a_graph_that_uses_what_the_entry_says(system):
    entry, (run, choices) = ENTRIES[system], made(system)
    for node in walk([run]):
        check_types(node)
    passages, queries = run.inputs["passages"], run.inputs["queries"]
    assert passages.params["length"] == entry.lengths.passage
    assert queries.params["length"] == entry.lengths.query
    assert passages.params["separator"] == entry.separator
    assert passages.params.get("prefix", "") == entry.passage_prefix
    assert queries.params.get("prefix", "") == entry.query_prefix
    assert passages.params["normalize"] == (entry.similarity == "cosine")
    assert passages.inputs["model"].params["name"] == entry.passages.model
    assert queries.inputs["model"].params["name"] == (entry.queries or entry.passages).model
    assert run.stage == ("search_views" if entry.kind.startswith("splade") else "search")
    assert not {"pretrain", "finetune"} & {n.stage for n in walk([run])}
    assert choices.measured_as  # as the paper's own rows: the readings on recall were asked


def test_both_sides_share_one_checkpoint_unless_the_entry_names_two():
    for system, entry in ENTRIES.items():
        run, _ = made(system)
        count = len({n.fingerprint for n in walk([run]) if n.stage == "released"})
        assert count == (1 if entry.queries is None else 2)


def test_titles_are_read_where_the_encoder_reads_them_and_they_are_at_hand(tmp_path):
    (tmp_path / "msmarco-passage/rocketqa").mkdir(parents=True)
    (tmp_path / "msmarco-passage/rocketqa/corpus.jsonl").touch()
    for system, entry in ENTRIES.items():
        for data in (None, tmp_path):
            run, _ = made(system, data=data)
            corpus = run.inputs["passages"].inputs["texts"].params["dataset"]
            wanted = data is not None and entry.separator is not None
            assert corpus == ("msmarco-passage/rocketqa" if wanted else "msmarco-passage")


def test_at_full_scale_the_titles_that_an_encoder_reads_are_never_left_out_silently():
    for system, entry in ENTRIES.items():
        run, choices = made(system, originals_only=True)
        corpus = run.inputs["passages"].inputs["texts"].params["dataset"]
        assert (corpus == "msmarco-passage/rocketqa") is (entry.separator is not None)
        assert not choices.substitutes


def test_zero_shot_collections_leave_out_what_the_reading_says():
    run, choices = made(next(iter(ENTRIES)), "beir/arguana", papers()["cotmae_v2"].readings)
    assert run.inputs["passages"].inputs["texts"].params["dataset"] == "beir/arguana"
    assert "dense-identical-ids" in choices.used and "ignore_identical_ids" in choices.scoring


def test_an_unknown_system_is_named():
    with pytest.raises(UsageError, match="'nobody' is not a known released encoder"):
        made("nobody")


def test_cells_of_released_encoders_are_left_to_full_scale():
    path = "papers.baselines.released:retriever"
    ids = [
        f"{p.name}/{t.id}/{r.id}/{c.id}"
        for p in papers().values()
        for t in p.manifest.tables
        for r in t.rows
        for c in t.columns
        if (c.recipe or r.recipe) == path
    ]
    assert len(ids) > 50
    for name in scales():
        why = {not_at(cell(identifier), scale(name)) for identifier in ids}
        below = "a released checkpoint is measured at full scale only"
        assert why == {"" if scale(name).has_originals else below}
