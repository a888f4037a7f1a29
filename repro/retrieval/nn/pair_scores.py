"""Scores of many pairs of query and passage by a cross-encoder, in blocks that survive an interruption."""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from repro.errors import StageError
from repro.machine.shard import blocks
from repro.retrieval.nn.batches import HalvingEncoder, in_background
from repro.retrieval.nn.checkpoint import check_fits, load_tokenizer
from repro.retrieval.nn.cross_encoder import load_cross_encoder, pair_tokens
from repro.retrieval.nn.padding_free import packs, padding_free
from repro.retrieval.nn.precision import (
    autocast,
    check_precision,
    device,
    on_device,
    ready_for_device,
    threads_for,
)

BLOCK = 20_000  # pairs sorted by length together, and lost at most when interrupted
BATCH = {"cpu": 32, "cuda": 256}
TOGETHER = 8  # batches that are made tokens in one call, which uses all cores
AHEAD = 2  # such pieces that lie ready while the model is at one
Batches = list[dict[str, torch.Tensor]]


class PairScorer:
    """A cross-encoder ready to score: its logit for each pair.

    Args:
        folder: a model directory.
        length: tokens of query and passage together, with [CLS] and both [SEP].
        separator: between title and text.
        precision: ``fp32``, ``fp16`` or ``bf16``.
        packed: whether a GPU is to read the pairs of a batch end to end, without padding; None where it can.
        say: hears why it cannot, where it is asked to.

    Raises:
        BlockedError: half precision without a GPU.
        UsageError: an unknown precision, or a length beyond the model's positions.
        DataError: the model cannot be read.
    """

    def __init__(
        self,
        folder: Path,
        *,
        length: int,
        separator: str,
        precision: str,
        packed: bool | None = None,
        say: Callable[[str], None] = print,
    ):
        self.precision, self.length, self.separator = check_precision(precision), length, separator
        self.model, self.tokenizer = load_cross_encoder(folder), load_tokenizer(folder)
        check_fits(self.model, self.tokenizer, length)
        self.model.eval().to(device())
        self.packed = packs(self.model, wanted=packed, precision=precision, say=say)
        self.halved = HalvingEncoder(lambda inputs: self.model(**on_device(inputs)).logits.float().squeeze(1))

    def facts(self) -> dict[str, int]:
        """``padding_free`` where pairs are read end to end, and what ``HalvingEncoder`` says of memory."""
        return ({"padding_free": 1} if self.packed else {}) | self.halved.facts()

    def __call__(self, queries: list[str], passages: list[dict]) -> np.ndarray:
        """Scores of N queries with N passages ``{"title", "text"}``, (N,) float32; batches are of one length.

        Raises:
            StageError: a score is not finite.
        """
        scores = np.empty(len(queries), dtype=np.float32)
        for places, batches in self.prepared(queries, passages):
            scores[places] = self.score(batches)
        return scores

    def prepared(self, queries: list[str], passages: list[dict]) -> Iterator[tuple[list[int], Batches]]:
        """Yield the places of some of the pairs, the longest first, and their batches as tokens."""
        order = sorted(range(len(queries)), key=lambda n: len(passages[n]["text"]), reverse=True)
        batch = BATCH[device().type]
        for start in range(0, len(order), TOGETHER * batch):
            places = order[start : start + TOGETHER * batch]
            rows = pair_tokens(
                self.tokenizer,
                [queries[n] for n in places],
                [passages[n] for n in places],
                length=self.length,
                separator=self.separator,
            )
            firsts = range(0, len(places), batch)
            yield places, [ready_for_device(rows.inputs(slice(n, n + batch))) for n in firsts]

    def score(self, batches: Batches) -> np.ndarray:
        """The scores of the pairs of ``prepared`` batches, (n,) float32, in their order.

        Raises:
            StageError: a score is not finite.
        """
        context = padding_free(self.model, self.packed)
        with threads_for(self.model), torch.inference_mode(), autocast(self.precision), context:
            logits = [self.halved(batch) for batch in batches]
        scores = torch.cat(logits).cpu().numpy()  # (n,)
        if not np.isfinite(scores).all():
            raise StageError("the re-ranker's score of a pair is not finite")
        return scores


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


@dataclass(frozen=True)
class _Piece:
    """Some pairs of the block of ``size`` pairs that begins with pair ``first``.

    Attributes:
        places: of these pairs in the block.
        scores: of the whole block, where it is there already; ``batches`` are empty then.
        last: whether the block ends with them.
    """

    first: int
    size: int
    places: list[int]
    batches: Batches
    scores: np.ndarray | None
    last: bool


def score_pairs(
    pairs: PairTexts,
    scorer: PairScorer,
    *,
    decimals: int | None,
    scratch: Path,
    advance: Callable[[int], None],
) -> np.ndarray:
    """The score of every pair, (N,), in the pairs' order: float32, or rounded to ``decimals`` in float64.

    Pairs are read and made tokens in the background while the model scores those before. Every finished
    block lies in ``scratch`` under a name with its checksum, so that an interrupted attempt does not score
    it again. A shard scores its own blocks; what it gives for the pairs of others means nothing.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    scores = np.zeros(len(pairs), dtype=np.float32)
    with in_background(_pieces(pairs, scorer, scratch), ahead=AHEAD) as pieces:
        for piece in pieces:
            block = scores[piece.first : piece.first + piece.size]
            if piece.scores is not None:
                block[:] = piece.scores
            else:
                block[piece.places] = scorer.score(piece.batches)
                if piece.last:
                    _keep_block(scratch, piece.first, block)
            advance(len(piece.places))
    return scores if decimals is None else np.round(scores.astype(np.float64), decimals)


def _pieces(pairs: PairTexts, scorer: PairScorer, scratch: Path) -> Iterator[_Piece]:
    """The pieces of all blocks in turn; of a block that the attempt before left there is one."""
    for first in blocks(len(pairs), BLOCK):
        size = min(BLOCK, len(pairs) - first)
        if (scores := _read_block(scratch, first, size)) is not None:
            yield _Piece(first, size, list(range(size)), [], scores, last=True)
            continue
        count = 0
        for places, batches in scorer.prepared(*pairs[slice(first, first + size)]):
            count += len(places)
            yield _Piece(first, size, places, batches, None, last=count == size)


def _keep_block(scratch: Path, first: int, scores: np.ndarray) -> None:
    partial = scratch / f"{first}.partial.npy"  # of another shard there may be one
    np.save(partial, scores)
    partial.rename(scratch / f"{first}-{zlib.crc32(scores.tobytes())}.npy")


def _read_block(scratch: Path, first: int, size: int) -> np.ndarray | None:
    """A block of the attempt before, if it is as it was written."""
    for path in scratch.glob(f"{first}-*.npy"):
        try:
            part = np.load(path)
        except (OSError, ValueError, EOFError):
            continue
        if part.shape == (size,) and path.stem == f"{first}-{zlib.crc32(part.tobytes())}":
            return part
    return None
