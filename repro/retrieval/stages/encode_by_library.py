"""Stage ``encode_by_library``: vectors by sentence-transformers."""

from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from torch.nn.functional import normalize

from repro.errors import BlockedError, DataError
from repro.progress import Progress
from repro.retrieval.datasets.hub_models import base_identity, planned_checkpoint
from repro.retrieval.nn import library_encoder
from repro.retrieval.nn.checkpoint import remedy
from repro.retrieval.nn.precision import threads_for
from repro.retrieval.nn.text import PAIR, passage_text
from repro.retrieval.stages.encode import Texts, Titled
from repro.retrieval.stages.vectors import encoded_blocks, write_ids
from repro.store.disk import BLOCKS

LIBRARY = "sentence-transformers"
BLOCK = 10_000  # texts per call


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write the vectors of each text in the format of ``encode_views`` (for dense vectors also ``encode``).

    Settings are those of ``library_encoder.load``, ``identity`` is the encoder's digest or commit.
    ``prompt``, e.g. ``"title: {title} | text: "``, replaces the encoder's own unless it is null. With
    ``similarity`` cosine, vectors have length 1. With euclidean they have an extra number, so that the
    greatest inner product is the least distance.
    """
    texts = Texts.read(inputs["texts"], {"kind": params["kind"], "separator": ""})
    count, folder = len(texts.ids), out / BLOCKS
    firsts = range(0, count, BLOCK)
    with planned_checkpoint(params) as checkpoint:
        base = params["source"].get("base")
        if base and base_identity(base) != params["base"]:
            raise DataError(f"{base}, the adapter's base model, changed since planning")
        try:
            model = library_encoder.load(checkpoint, params | {"kind": params["kind_of_encoder"]})
        except DataError as error:
            raise BlockedError(str(error), remedy(checkpoint, str(error))) from error
        with threads_for(model), progress.task(f"encoding {params['kind']}", total=count) as advance:
            folder.mkdir(exist_ok=True)
            write_ids(texts.ids, out, inputs["texts"])
            encoded_blocks.check_joined(folder, firsts)
            for first in firsts:
                end = min(first + BLOCK, count)
                if not encoded_blocks.block_is_kept(folder, first, end - first):
                    strings, prompt = joined(texts.titled(first, end), params)
                    vectors = library_encoder.encode(
                        model, strings, kind=params["kind"], prompt=prompt, precision=params["precision"]
                    )
                    encoded_blocks.save_block(folder, first, _rows(vectors, params))
                advance(end - first)
    [vector] = library_encoder.encode(model, ["width"], kind=params["kind"], prompt="")
    facts = encoded_blocks.join_blocks(folder, out, firsts, vocabulary=len(vector))
    return {"texts": count, **facts, "library": f"{LIBRARY} {version(LIBRARY)}"}


def joined(titled: list[Titled], params: dict) -> tuple[list, str | None]:
    """Return joined texts (pairs for ``PAIR``), and the prompt that the library has yet to add."""
    separator, prompt = params["separator"], params["prompt"]
    if "{title}" in (prompt or ""):
        return [prompt.replace("{title}", title or "none") + text for title, text in titled], ""
    return [_joined(*pair, separator) for pair in titled], prompt


def _joined(title: str, text: str, separator: str | None) -> str | Titled:
    if separator is None:
        return text
    if separator == PAIR and title and text:
        return title, text
    return passage_text(title, text, separator=separator)


def _rows(vectors, params: dict) -> list[dict[str, np.ndarray]]:
    if vectors.is_sparse:
        return _sparse_rows(vectors.coalesce(), normalizes=params["similarity"] == "cosine")
    if params["similarity"] == "cosine":
        vectors = normalize(vectors, dim=-1)
    rows = vectors.numpy()
    if params["similarity"] == "euclidean":  # -|q - p|^2 / 2 is q·p - |p|^2 / 2 minus a constant per query
        squares = -np.square(rows.astype(np.float64)).sum(axis=1, keepdims=True) / 2
        last = np.ones_like(squares) if params["kind"] == "queries" else squares
        rows = np.hstack([rows, last.astype(np.float32)])
    return [{"vectors": row} for row in rows]


def _sparse_rows(vectors, *, normalizes: bool) -> list[dict[str, np.ndarray]]:
    rows = csr_array((vectors.values().numpy(), vectors.indices().numpy()), shape=tuple(vectors.shape))
    rows.eliminate_zeros()
    records = []
    for first, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        indices, values = rows.indices[first:end].astype(np.int32), rows.data[first:end]
        length = np.linalg.norm(values.astype(np.float64)) if normalizes else 1.0
        records.append({"indices": indices, "values": values / (length or 1.0)})
    return records
