"""Stage ``encode_views``: dense and sparse vectors of passages or queries."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from torch.nn.functional import normalize

from repro.progress import Progress
from repro.retrieval.nn import batches, checkpoint, padding_free, precision
from repro.retrieval.nn.library_encoder import SPARSE, SpladeEncoder
from repro.retrieval.nn.view_encoder import load_view_encoder, top_k
from repro.retrieval.stages.encode import Batches, Encode, Records, Texts, outputs, write_encoded
from repro.retrieval.stages.vectors.encoded_blocks import Arrays

BLOCK = 10_000


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write the ``views`` of each text, e.g. ``["dense", "sparse"]``, in the source's order (``ids.txt``).

    ``dense`` is ``vectors.npy``, (N, H) float32. ``sparse`` is CSR without zeros: ``indptr.npy`` int64,
    ``indices.npy`` int32 and ``values.npy`` float32, the ``top_k`` highest of a text unless null.
    ``views.json`` has the widths. Texts are read as in ``encode``. ``positions`` (whether [CLS] and [SEP] are
    pooled) and ``head`` are those of ``ViewEncoder``, or ``head`` is ``splade`` or ``splade-sum``.
    """
    texts = Texts.read(inputs["texts"], params)
    encoder = _encoder(inputs["model"] / "model", params)
    checkpoint.check_fits(encoder.model, encoder.tokenizer, params["length"])
    encoder.eval().to(precision.device())
    packed = padding_free.packs(encoder, precision=params["precision"], say=progress.note)
    halving_encoder = batches.HalvingEncoder(lambda inputs: encoder(precision.on_device(inputs)))
    encode = _batch_encoder(halving_encoder, params)
    vocabulary = encoder.model.config.vocab_size
    with precision.threads_for(encoder), padding_free.padding_free(encoder, packed) as packing:
        facts = write_encoded(
            texts, encoder.tokenizer, encode, params, out, progress, size=BLOCK, vocabulary=vocabulary
        )
    return facts | halving_encoder.facts() | ({"padding_free": 1} if packing.used else {})


def _encoder(folder: Path, params: dict):
    if params["head"].startswith("splade"):
        model, tokenizer = checkpoint.load_masked_lm(folder), checkpoint.load_tokenizer(folder)
        return SpladeEncoder(model, tokenizer, pooling=SPARSE[params["head"]])
    return load_view_encoder(
        folder, views=params["views"], sparse_positions=params["positions"], vocabulary_head=params["head"]
    )


def _batch_encoder(encoder: Callable, params: dict) -> Encode:
    def encode(group: Batches) -> Records:
        rows: list[Arrays] = [{}] * sum(len(places) for places, _ in group)
        for places, views in outputs(encoder, group, params):
            views = {name: vectors.float() for name, vectors in views.items()}
            if "sparse" in views and params["top_k"] is not None:
                views["sparse"] = top_k(views["sparse"], params["top_k"])
            if params["normalize"]:
                views = {name: normalize(vectors, dim=-1) for name, vectors in views.items()}
            records = _rows({name: vectors.cpu().numpy() for name, vectors in views.items()}, len(places))
            for place, row in zip(places, records, strict=True):
                rows[place] = row
        return lambda: rows

    return encode


def _rows(views: Arrays, count: int) -> list[Arrays]:
    rows: list[Arrays] = [{} for _ in range(count)]
    for row, vector in zip(rows, views.get("dense", ()), strict=False):
        row["vectors"] = vector
    for row, vector in zip(rows, views.get("sparse", ()), strict=False):
        indices = vector.nonzero()[0]
        row |= {"indices": indices.astype(np.int32), "values": vector[indices]}
    return rows
