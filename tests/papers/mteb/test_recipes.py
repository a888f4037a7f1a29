"""What a row encodes: real texts with real weights have the vectors of sentence-transformers."""

import json
import os

import numpy as np
from datasets import Dataset

from repro.manifest.cells import cell
from repro.progress import Progress
from repro.retrieval.stages import encode, released
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import scale
from tests.floats import close

NIGHTLY = os.environ.get("REPRO_SLOW_TESTS") == "1"
COUNT = 300 if NIGHTLY else 40
ROW = "mteb/1/all-minilm-l6-v2"


def planned(name: str) -> list:
    return plan([cell(name)], scale=scale("full"), machine=Machine()).nodes


def test_documents_have_the_vectors_of_the_library(real_data, real_encoder, tmp_path):
    from sentence_transformers import SentenceTransformer

    with open(real_data / "beir/nfcorpus/corpus.jsonl", encoding="utf-8") as file:
        rows = [json.loads(line) for _, line in zip(range(COUNT), file, strict=False)]
    for row in rows[3:] if not NIGHTLY else ():  # the beginnings
        row["text"] = " ".join(row["text"].split()[:8])
    columns = {"id": [row["_id"] for row in rows]} | {n: [row[n] for row in rows] for n in ("title", "text")}
    Dataset.from_dict(columns).save_to_disk(str(tmp_path / "texts/arrow"))
    nodes = planned(f"{ROW}/nfcorpus")
    [model] = (node for node in nodes if node.stage == "released")
    [passages] = (node for node in nodes if node.params.get("kind") == "passages")
    for name in ("model", "vectors"):
        (tmp_path / name).mkdir()
    released.run(model.params, {}, tmp_path / "model", Progress())
    inputs = {"model": tmp_path / "model", "texts": tmp_path / "texts"}
    encode.run(passages.params, inputs, tmp_path / "vectors", Progress())
    texts = [f"{row['title']} {row['text']}" for row in rows]
    expected = SentenceTransformer(str(real_encoder)).encode(texts, normalize_embeddings=True)
    assert expected.shape == (COUNT, 384)
    close(np.load(tmp_path / "vectors/vectors.npy"), expected, dtype="float32")


def test_a_document_with_the_id_of_the_query_is_left_out_for_arguana_and_quora_only():
    ignoring = {
        column
        for column in ("arguana", "quora", "nfcorpus", "scidocs")
        for node in planned(f"{ROW}/{column}")
        if node.stage == "evaluate" and node.params["ignore_identical_ids"]
    }
    assert ignoring == {"arguana", "quora"}
