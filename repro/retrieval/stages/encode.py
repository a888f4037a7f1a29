"""Stage ``encode``: one vector for every passage or query."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import normalize

from repro.errors import DataError
from repro.machine.shard import blocks, shard, share
from repro.progress import Progress
from repro.retrieval.datasets.arrow import ColumnTexts, read_queries, read_rows
from repro.retrieval.nn import batches, checkpoint, library_encoder, packed_texts, padding_free, precision
from repro.retrieval.nn.encoder import load_text_encoder
from repro.retrieval.nn.text import passage_rows
from repro.retrieval.stages.vectors import write_ids
from repro.retrieval.stages.vectors.encoded_blocks import (
    Arrays,
    block_is_kept,
    check_joined,
    join_blocks,
    save_block,
)
from repro.retrieval.training.process_group import everybody_waits, launched_together
from repro.stage_table import MODULES
from repro.store.disk import BLOCKS

BLOCK = 20_000  # texts sorted by length together
AHEAD = 2  # groups tokenised in advance
Titled = tuple[str, str]
TitledRows = Callable[[int, int], list[Titled]]  # of a range of rows
Batches = list[tuple[list[int], dict[str, Any]]]  # places in a group, input tensors
Prepare = Callable[[list[Titled]], Batches]
Records = Callable[[], list[Arrays]]
Encode = Callable[[Batches], Records]


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``vectors.npy``, (N, H) in the source's order (``ids.txt``), as ``numbers`` float32 or float16.

    Title and text are joined by ``separator``: ``pair`` makes them two segments, null leaves titles out.
    ``prefix``, e.g. ``"query: "``, precedes every text. ``pooling`` ``sentence-transformers`` uses a released
    encoder's own modules. ``normalize`` gives vectors length 1. On a GPU texts are read without padding if
    the model allows it, unless REPRO_PADDING_FREE is 0.
    """
    texts = Texts.read(inputs["texts"], params)
    folder = inputs["model"] / "model"
    if params["pooling"] == MODULES:
        encoder = library_encoder.released_encoder(folder)
    else:
        encoder = load_text_encoder(folder, pooling=params["pooling"])
    encoder.eval().to(precision.device())
    tokenizer = checkpoint.load_tokenizer(folder)
    checkpoint.check_fits(encoder.model, tokenizer, params["length"])
    packed = padding_free.packs(encoder, precision=params["precision"], say=progress.note)
    halving_encoder = batches.HalvingEncoder(packed_texts.without_padding(encoder, gpu=packed))
    with precision.threads_for(encoder):
        encode = _batch_encoder(halving_encoder, params)
        facts = write_encoded(texts, tokenizer, encode, params, out, progress, size=BLOCK)
    return facts | halving_encoder.facts() | ({"padding_free": 1} if packed else {})


@dataclass(frozen=True)
class Texts:
    """Passages or queries. ``titled(first, end)`` returns pairs (title, text). Queries have the title ""."""

    folder: Path
    ids: Sequence[str] | ColumnTexts
    titled: TitledRows

    @classmethod
    def read(cls, folder: Path, params: dict) -> "Texts":
        """Open passages or queries. Raises DataError if there are none."""
        ids, titled = (_queries if params["kind"] == "queries" else _passages)(folder, params)
        if not ids:
            raise DataError(f"{folder}: there is no text to encode")
        return cls(folder, ids, titled)


def _queries(folder: Path, params: dict) -> tuple[list[str], TitledRows]:
    queries = read_queries(folder)
    texts = [("", params.get("prefix", "") + query["text"]) for query in queries]
    return [query["id"] for query in queries], lambda first, end: texts[first:end]


def _passages(folder: Path, params: dict) -> tuple[ColumnTexts, TitledRows]:
    corpus, prefix = read_rows(folder), params.get("prefix", "")

    def texts(first: int, end: int) -> list[Titled]:
        rows = corpus[first:end]
        if params["separator"] is None:
            return [("", prefix + text) for text in rows["text"]]
        pairs = zip(rows["title"], rows["text"], strict=True)
        return [(prefix + title, text) if title else ("", prefix + text) for title, text in pairs]

    return ColumnTexts(corpus, "id"), texts


def outputs(encoder: Callable, group: Batches, params: dict) -> Iterator[tuple[list[int], Any]]:
    """Yield each batch's places in the group and its output, which a GPU may still be computing."""
    for places, batch in group:
        with torch.inference_mode(), precision.autocast(params["precision"]):
            output = encoder(batch)
        yield places, output


def _batch_encoder(encoder: Callable, params: dict) -> Encode:
    def encode(group: Batches) -> Records:
        order: list[int] = []
        parts = []
        for places, output in outputs(encoder, group, params):
            order += places
            vectors = output.float()  # (n, H)
            parts.append(normalize(vectors, dim=-1) if params["normalize"] else vectors)
        wait = precision.to_host(torch.cat(parts))  # (N, H)

        def records() -> list[Arrays]:
            rows = rounded(wait().numpy(), params.get("numbers", "float32"))
            return [{"vectors": rows[row]} for row in np.argsort(order)]

        return records

    return encode


def rounded(vectors: np.ndarray, numbers: str) -> np.ndarray:
    with np.errstate(over="ignore"):
        return vectors.astype(numbers, copy=False)


def write_encoded(
    texts: Texts,
    tokenizer: Any,
    encode: Encode,
    params: dict,
    out: Path,
    progress: Progress,
    *,
    size: int,
    vocabulary: int | None = None,
) -> dict[str, int]:
    """Write ``ids.txt`` and the arrays of encoded texts, in blocks of ``size`` texts.

    Under torchrun with n processes, each encodes every n-th block, and the first joins them, unless it is a
    shard. Returns ``texts``, facts of ``join_blocks``, and ``resumed_at``, the first row encoded, unless 0.
    """
    count, folder = len(texts.ids), out / BLOCKS
    firsts = range(0, count, size)
    with launched_together() as (rank, ranks):
        leads = rank == 0 and shard().whole
        folder.mkdir(exist_ok=True)
        if leads:
            write_ids(texts.ids, out, texts.folder)
            check_joined(folder, firsts)
        everybody_waits()
        bar = progress if rank == 0 else Progress()  # several bars would overwrite each other
        own = blocks(count, size, rank=rank, ranks=ranks)
        ranges = [(first, min(first + size, count)) for first in own]
        prepare = partial(_prepared_batches, tokenizer, params=params)
        with bar.task(f"encoding {params['kind']}", total=share(count, size, ranks=ranks)) as advance:
            done = write_blocks(folder, ranges, texts.titled, prepare, encode, advance)
        everybody_waits()
        facts = {"texts": count} | (join_blocks(folder, out, firsts, vocabulary=vocabulary) if leads else {})
        everybody_waits()
    resumed_at = min(done, default=count)
    return facts | ({"resumed_at": resumed_at} if resumed_at else {})


def write_blocks(
    folder: Path,
    ranges: Iterable[tuple[int, int]],
    texts: TitledRows,
    prepare: Prepare,
    encode: Encode,
    advance: Callable[[int], object],
) -> list[int]:
    """Encode and write the ranges of rows that have no kept block. Returns the first row of each."""
    done, rows = [], dict[int, Arrays]()
    with batches.in_background(_groups(folder, ranges, texts, prepare), ahead=AHEAD) as groups:
        for group, records in _in_turn(groups, encode):
            if records is not None:
                rows |= zip(group.places, records(), strict=True)
                if len(rows) == group.size:
                    save_block(folder, group.first, [rows[place] for place in range(group.size)])
                    done.append(group.first)
                    rows = {}
            advance(len(group.places))
    return done


@dataclass(frozen=True)
class _TextGroup:
    first: int
    size: int
    places: Sequence[int]
    batches: Batches | None


def _groups(
    folder: Path, ranges: Iterable[tuple[int, int]], texts: TitledRows, prepare: Prepare
) -> Iterator[_TextGroup]:
    for first, end in ranges:
        if block_is_kept(folder, first, end - first):
            yield _TextGroup(first, end - first, range(end - first), None)
            continue
        block = texts(first, end)
        for places in batches.tokenised_together(block):
            yield _TextGroup(first, end - first, places, prepare([block[place] for place in places]))


def _in_turn(groups: Iterable[_TextGroup], encode: Encode) -> Iterator[tuple[_TextGroup, Records | None]]:
    begun = ((group, None if group.batches is None else encode(group.batches)) for group in groups)
    yield from (previous for previous, _ in pairwise(chain(begun, [None])) if previous)


def _prepared_batches(tokenizer: Any, texts: Sequence[Titled], params: dict) -> Batches:
    titles, bodies = zip(*texts, strict=True)
    rows = passage_rows(tokenizer, titles, bodies, length=params["length"], separator=params["separator"])
    return [(places, precision.ready_for_device(batch)) for places, batch in batches.token_batches(rows)]
