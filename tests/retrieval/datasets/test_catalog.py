import json
from importlib.resources import files

import pytest

from repro.errors import UsageError
from repro.retrieval.datasets import reading
from repro.retrieval.datasets.catalog import FILE, FITTING, PIECES, VALIDATION, catalog, dataset, in_fold
from repro.retrieval.datasets.sources import locate

ENTRIES = list(catalog().values())


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_every_reference_leads_somewhere(entry):
    for id in [entry.corpus_id, *entry.members, *entry.parts, *entry.at.values()]:
        assert id in catalog()
    assert set(entry.pieces) <= set(PIECES)
    assert entry.source in ("ir_datasets", "datasets", "web", "embedded", "none")
    assert bool(entry.address) == bool(entry.md5) == (entry.source == "web")
    assert entry.how or entry.source != "none" or entry.parts
    assert entry.licence and entry.title and entry.version


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_what_takes_the_place_of_topics_lies_over_what_takes_the_place_of_their_corpus(entry):
    corpus = dataset(entry.corpus_id)
    for scale, substitute in entry.at.items():
        assert dataset(substitute).corpus_id == dataset(corpus.at[scale]).corpus_id
        if entry.members:
            assert dataset(substitute).members
        elif "queries" in entry.pieces:
            assert {"queries", *entry.pieces} <= {"documents", *dataset(substitute).pieces}
            assert entry.judgements == dataset(substitute).judgements
            assert entry.answers == dataset(substitute).answers


def test_every_collection_of_the_papers_has_a_substitute_at_tiny_scale():
    ours = ("tiny/", "text/", "cranfield", "msmarco-passage/train-pool-12k")
    without = [entry.id for entry in ENTRIES if "tiny" not in entry.at and not entry.id.startswith(ours)]
    assert without == ["beir/nfcorpus/train"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("fold: validation", "fold: validaton", r"not a known fold\. .*Known: fitting, validation\.$"),
        (
            "  documents: 8",
            "  docments: 8",
            r"not a known key of msmarco-passage in .*Did you mean documents",
        ),
        ("tiny/passage,", "tiny/pasage,", "'tiny/pasage' is not a known stand-in of msmarco-passage in"),
    ],
)
def test_what_an_entry_has_wrong_is_refused_when_the_catalogue_is_read(monkeypatch, tmp_path, old, new, told):
    text = FILE.read_text(encoding="utf-8")
    misspelt = tmp_path / "catalog.yaml"
    misspelt.write_text(text.replace(old, new, 1), encoding="utf-8")
    monkeypatch.setattr("repro.retrieval.datasets.catalog.FILE", misspelt)
    with pytest.raises(UsageError, match=told):
        catalog.__wrapped__()


def test_only_beir_and_its_likeness_ignore_identical_ids():
    for entry in ENTRIES:
        ours = entry.id.startswith(("beir/", "tiny/beir", "tiny/cqadupstack"))
        assert entry.ignore_identical_ids == ours


def test_counts_and_sizes_are_those_of_ir_datasets():
    metadata = json.loads((files("ir_datasets") / "etc/metadata.json").read_text())
    names = {"documents": "docs", "queries": "queries", "qrels": "qrels", "triples": "docpairs"}
    for entry in ENTRIES:
        if entry.source != "ir_datasets" or entry.members:
            continue
        known = metadata[entry.id]
        for piece, count in entry.counts.items():
            facts = known[names[piece]]
            while "_ref" in facts:
                facts = metadata[facts["_ref"]][names[piece]]
            assert count == facts["count"], (entry.id, piece)


def test_sizes_of_beir_are_those_of_its_archives():
    downloads = json.loads((files("ir_datasets") / "etc/downloads.json").read_text())["beir"]
    for entry in ENTRIES:
        if entry.id.startswith("beir/") and "documents" in entry.pieces:
            name = entry.id.removeprefix("beir/")
            assert entry.size == downloads["cqadupstack" if "cqadupstack" in name else name]["size_hint"]


POOL = "msmarco-passage/train-pool-12k"


def _fold_queries(split: str, data) -> set[str]:
    return {query.id for query in reading.queries(locate(f"{POOL}/{split}", "queries", data))}


def test_an_id_is_in_one_fold_by_its_crc32_alone_and_always_in_the_whole():
    ids = [str(n) for n in range(60)]
    assert [id for id in ids if in_fold(id, VALIDATION)] == ["9", "12", "15", "32", "34", "47"]
    assert all(in_fold(id, FITTING) is not in_fold(id, VALIDATION) for id in ids)
    assert all(in_fold(id, None) for id in ids)


def test_queries_of_training_are_either_fitted_on_or_held_out_and_none_is_a_test_query(real_data):
    fitting, held_out = (_fold_queries(f"train/{fold}", real_data) for fold in ("fitting", "validation"))
    assert not fitting & held_out and fitting | held_out == _fold_queries("train", real_data)
    assert not (fitting | held_out) & _fold_queries("dev", real_data)


def test_a_fold_has_the_judgements_of_its_queries(real_data):
    judged = {}
    for fold in ("train/fitting", "train/validation"):
        source = locate(f"{POOL}/{fold}", "qrels", real_data)
        judged[fold] = {judgement.query for judgement in reading.judgement_rows(source)}
        assert judged[fold] == _fold_queries(fold, real_data)
        assert len(judged[fold]) == dataset(f"{POOL}/{fold}").counts["queries"]
