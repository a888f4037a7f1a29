"""Each shard fills its own blocks, and the whole puts them together."""

import importlib

import pytest

from repro.machine.shard import WHOLE, Shard, only_shard
from repro.progress import Progress
from repro.retrieval.nn import cross_encoder, precision
from repro.retrieval.nn.checkpoint import save_model
from repro.running.engines.shared_work import DIVISIBLE
from repro.store.disk import BLOCKS
from tests.retrieval.nn.test_multi_view_bi_encoder import strong_model
from tests.retrieval.stages.outputs import Outputs
from tests.tiny_models import tiny_tokenizer

SIZES = {"encode": 8, "encode_views": 8, "vectors.exact_search": 4, "mine": 1 << 10}


class InShards(Outputs):
    def run(self, stage, params, **inputs):
        if stage not in DIVISIBLE:
            return self.folder(stage)
        whole, parted = self.folder(f"{stage} as a whole"), self.folder(stage)
        module = importlib.import_module(f"repro.retrieval.stages.{stage}")
        expected = module.run(params, inputs, whole, Progress())
        filled = []
        for part in (Shard(3, 3), Shard(1, 3), Shard(2, 3)):
            before = blocks(parted)
            with only_shard(part):
                module.run(params, inputs, parted, Progress())
            filled.append(blocks(parted) - before)
        assert all(filled), f"{stage}: a shard has no block"
        assert artefact(parted).keys() <= {"vectors.npy"}, f"{stage}: a shard makes more than blocks"
        facts = module.run(params, inputs, parted, Progress())
        resumed = facts.pop("resumed_at", None)
        assert facts == expected and artefact(parted) == artefact(whole), stage
        self.made[stage] = resumed
        return parted


def blocks(folder) -> set[str]:
    return {str(path) for path in (folder / BLOCKS).rglob("*") if path.is_file()}


def artefact(folder) -> dict[str, bytes]:
    paths = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {str(name): path.read_bytes() for name, path in paths.items() if name.parts[0] != BLOCKS}


@pytest.fixture
def runs(tmp_path, monkeypatch) -> InShards:
    for module, size in SIZES.items():
        monkeypatch.setattr(importlib.import_module(f"repro.retrieval.stages.{module}"), "BLOCK", size)
    monkeypatch.setattr(cross_encoder, "BLOCK", 8)
    return InShards(tmp_path)


def test_shards_of_stages_with_weights_make_the_bytes_of_the_whole(
    runs, model, reranker, corpus, queries, training_set
):
    viewed = runs.folder("viewed")
    save_model(strong_model(), tiny_tokenizer(), viewed / "model")
    runs.with_weights(model, viewed, reranker, corpus, queries, training_set)
    assert set(runs.made) == {"encode", "encode_views", "score_pairs", "rerank"}


def test_shards_of_a_large_model_make_the_bytes_of_the_whole(runs, model, corpus, monkeypatch):
    monkeypatch.setattr(precision, "SMALL", 0)
    how = {"kind": "passages", "length": 32, "separator": "[SEP]", "pooling": "cls", "normalize": True}
    runs.run("encode", how | {"precision": "fp32"}, model=model, texts=corpus)
    assert set(runs.made) == {"encode"}


def test_shards_of_searches_and_of_mining_make_the_bytes_of_the_whole(runs, corpus, queries, training_set):
    runs.rankings(corpus, queries, training_set)
    assert set(runs.made) == {"search", "search_views", "mine"}


def test_outside_a_shard_there_is_the_whole():
    from repro.machine import shard

    with only_shard(Shard(1, 2)):
        assert not shard.shard().whole
    assert shard.shard() == WHOLE
