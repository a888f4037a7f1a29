"""Stages encode end to end under REPRO_PADDING_FREE, by a kernel of a CPU."""

from pathlib import Path

import numpy as np
import pytest
from datasets import load_from_disk

from repro.errors import UsageError
from repro.retrieval.evaluation.runs import read_run
from repro.retrieval.nn import cross_encoder, padding_free
from repro.retrieval.stages import encode, encode_views, rerank, score_pairs
from tests import varlen_kernel
from tests.floats import close
from tests.retrieval.stages import test_encode, test_encode_views, test_rerank, test_score_pairs

calls = varlen_kernel.calls
views_model = test_encode_views.model
run_inputs = test_rerank.inputs


@pytest.fixture
def spared(monkeypatch, calls):
    """A function after which stages read texts end to end, and whose list says by how many calls."""

    def ask() -> list[int]:
        for module in (padding_free, cross_encoder):
            monkeypatch.setattr(module, "packs", lambda model, **how: True)
        monkeypatch.setenv("REPRO_PADDING_FREE", "1")
        monkeypatch.setenv("REPRO_SAVE_STEPS", "x")  # which is for trainings alone
        return calls

    return ask


def both(stage, params: dict, inputs: dict, folder: Path, progress, ask) -> dict[str, dict]:
    facts = {}
    for name in ("padded", "packed"):
        seen = ask() if name == "packed" else []
        (folder / name).mkdir()
        facts[name] = stage.run(params, inputs, folder / name, progress)
        assert bool(seen) == (name == "packed")
    return facts


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_vectors_are_those_of_padded_texts_and_the_record_says_so(
    model, corpus, tmp_path, progress, spared, pooling
):
    given = {"model": model, "texts": corpus}
    facts = both(encode, test_encode.params(pooling=pooling), given, tmp_path, progress, spared)
    assert facts["packed"] == facts["padded"] | {"padding_free": 1}
    padded, packed = (np.load(tmp_path / name / "vectors.npy") for name in ("padded", "packed"))
    close(packed, padded)


def test_views_are_those_of_padded_texts(views_model, corpus, tmp_path, progress, spared):
    given = {"model": views_model, "texts": corpus}
    facts = both(encode_views, test_encode_views.params(), given, tmp_path, progress, spared)
    assert facts["packed"] == facts["padded"] | {"padding_free": 1}
    padded, packed = (np.load(tmp_path / name / "vectors.npy") for name in ("padded", "packed"))
    close(packed, padded)
    padded, packed = (test_encode_views.sparse_matrix(tmp_path / name) for name in ("padded", "packed"))
    close(packed, padded)


def test_a_re_rankers_scores_are_those_of_padded_pairs(run_inputs, tmp_path, progress, spared):
    facts = both(rerank, test_rerank.PARAMS, run_inputs, tmp_path / "run", progress, spared)
    assert facts["packed"] == facts["padded"] | {"padding_free": 1}
    padded, packed = (read_run(tmp_path / "run" / name / "run.trec") for name in ("padded", "packed"))
    for query, ranking in padded.items():
        close(dict(packed[query]), dict(ranking))


def test_scores_of_a_training_set_are_those_of_padded_pairs(
    judged_training, reranker, tmp_path, progress, spared
):
    given = judged_training | {"model": reranker}
    facts = both(score_pairs, test_score_pairs.PARAMS, given, tmp_path, progress, spared)
    assert facts["packed"] == facts["padded"] | {"padding_free": 1}
    padded, packed = (load_from_disk(str(tmp_path / name / "arrow")) for name in ("padded", "packed"))
    for column in ("positive_scores", "negative_scores"):
        close(packed[column][:], padded[column][:])


def test_a_switch_that_is_neither_0_nor_1_is_refused(model, corpus, tmp_path, progress, monkeypatch):
    for value in ("yes", "2", ""):
        monkeypatch.setenv("REPRO_PADDING_FREE", value)
        with pytest.raises(UsageError, match=f"REPRO_PADDING_FREE is '{value}', but must be 1"):
            encode.run(test_encode.params(), {"model": model, "texts": corpus}, tmp_path, progress)


def test_without_a_gpu_the_switch_changes_no_bit_of_an_encoding(
    model, corpus, tmp_path, progress, monkeypatch
):
    for name in ("plain", "asked"):
        (tmp_path / name).mkdir()
        facts = encode.run(test_encode.params(), {"model": model, "texts": corpus}, tmp_path / name, progress)
        monkeypatch.setenv("REPRO_PADDING_FREE", "1")
        assert "padding_free" not in facts
    plain, asked = ((tmp_path / name / "vectors.npy").read_bytes() for name in ("plain", "asked"))
    assert plain == asked
