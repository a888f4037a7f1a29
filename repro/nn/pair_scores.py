"""Scores of many pairs of query and passage by a cross-encoder, in blocks that survive an interruption."""

import shutil
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from repro.errors import StageError
from repro.nn.checkpoint import check_length, load_tokenizer
from repro.nn.cross_encoder import load_cross_encoder, pair_inputs
from repro.nn.precision import autocast, check_precision, device, threads_for

BLOCK = 20_000  # pairs sorted by length together, and lost at most when interrupted
BATCH = {"cpu": 32, "cuda": 256}


class PairScorer:
    """A cross-encoder ready to score: its logit for each pair.

    Args:
        folder: a model directory.
        length: tokens of query and passage together, with [CLS] and both [SEP].
        separator: between title and text.
        precision: ``fp32``, ``fp16`` or ``bf16``.

    Raises:
        BlockedError: half precision without a GPU.
        UsageError: an unknown precision, or a length beyond the model's positions.
        DataError: the model cannot be read.
    """

    def __init__(self, folder: Path, *, length: int, separator: str, precision: str):
        self.precision, self.length, self.separator = check_precision(precision), length, separator
        self.model, self.tokenizer = load_cross_encoder(folder), load_tokenizer(folder)
        check_length(self.model, length)
        self.model.eval().to(device())

    def __call__(self, queries: list[str], passages: list[dict]) -> np.ndarray:
        """Scores of N queries with N passages ``{"title", "text"}``, (N,) float32; batches are of one length.

        Raises:
            StageError: a score is not finite.
        """
        scores = np.empty(len(queries), dtype=np.float32)
        order = sorted(range(len(queries)), key=lambda n: len(passages[n]["text"]), reverse=True)
        batch = BATCH[device().type]
        with threads_for(self.model):
            for start in range(0, len(order), batch):
                places = order[start : start + batch]
                scores[places] = self._batch([queries[n] for n in places], [passages[n] for n in places])
        if not np.isfinite(scores).all():
            raise StageError("the re-ranker's score of a pair is not finite")
        return scores

    def _batch(self, queries: list[str], passages: list[dict]) -> np.ndarray:
        inputs = pair_inputs(self.tokenizer, queries, passages, length=self.length, separator=self.separator)
        inputs = {name: value.to(device()) for name, value in inputs.items()}
        with torch.inference_mode(), autocast(self.precision):
            return self.model(**inputs).logits.float().squeeze(1).cpu().numpy()  # (N,)


class PairTexts:
    """Pairs of a query and a row of a corpus, as texts.

    Args:
        queries: their texts.
        corpus: directory of a corpus.
        query: (N,), a place in ``queries`` for each pair.
        row: (N,), a row of the corpus for each pair.
    """

    def __init__(self, queries: list[str], corpus: Path, *, query: np.ndarray, row: np.ndarray):
        from datasets import load_from_disk

        self.corpus = load_from_disk(str(corpus / "arrow")).select_columns(["title", "text"])
        self.queries, self.query, self.row = queries, query, row

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, block: slice) -> tuple[list[str], list[dict]]:
        """Query texts and passages ``{"title", "text"}`` of a stretch of pairs."""
        rows, places = np.unique(self.row[block], return_inverse=True)  # a passage is read once
        texts = self.corpus[rows]
        passages = [{"title": a, "text": b} for a, b in zip(texts["title"], texts["text"], strict=True)]
        return [self.queries[n] for n in self.query[block]], [passages[n] for n in places]


def scored(
    pairs: PairTexts,
    score: Callable[[list[str], list[dict]], np.ndarray],
    *,
    decimals: int | None,
    scratch: Path,
    advance: Callable[[int], None],
) -> np.ndarray:
    """The score of every pair, (N,), in the pairs' order: float32, or rounded to ``decimals`` in float64.

    Every finished block lies in ``scratch`` under a name with its checksum, so that an interrupted attempt
    does not score it again; the caller removes the folder once the result is written.
    """
    scratch.mkdir(exist_ok=True)
    parts = [np.empty(0, np.float32)]
    for first in range(0, len(pairs), BLOCK):
        size = min(BLOCK, len(pairs) - first)
        part = _kept(scratch, first, size)
        if part is None:
            part = score(*pairs[slice(first, first + size)])
            partial = scratch / "partial.npy"
            np.save(partial, part)
            partial.rename(scratch / f"{first}-{zlib.crc32(part.tobytes())}.npy")
        parts.append(part)
        advance(size)
    scores = np.concatenate(parts)
    return scores if decimals is None else np.round(scores.astype(np.float64), decimals)


def forget(scratch: Path) -> None:
    """Remove the blocks of ``scored``."""
    shutil.rmtree(scratch, ignore_errors=True)


def _kept(scratch: Path, first: int, size: int) -> np.ndarray | None:
    """A block of the attempt before, if it is as it was written."""
    for path in scratch.glob(f"{first}-*.npy"):
        try:
            part = np.load(path)
        except (OSError, ValueError, EOFError):
            continue
        if part.shape == (size,) and path.stem == f"{first}-{zlib.crc32(part.tobytes())}":
            return part
    return None
