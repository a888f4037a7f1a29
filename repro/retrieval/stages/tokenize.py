"""Stage ``tokenize``: a corpus as token ids."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from repro.errors import DataError, UsageError
from repro.locations import data_folder
from repro.progress import Progress
from repro.retrieval.datasets.arrow import BATCH, BLOCK, RowBlocks, read_rows
from repro.retrieval.datasets.sentence_splitting import SentenceSplitter, packed, sentence_splitter
from repro.retrieval.nn import checkpoint
from repro.retrieval.nn.text import passage_text
from repro.retrieval.nn.tokens import paired_rows
from repro.store.disk import BLOCKS

FIELDS = {"url": "url", "title": "title", "body": "text"}  # to columns of a corpus
SPAN_LISTS = ("input_ids", "sentences", "spans")  # columns of policy ``spans``


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``arrow/``: documents as chunks of at most ``length`` - 2 tokens, without [CLS] and [SEP].

    The policy ``chunk`` keeps all chunks, ``whole-chunks`` drops a shorter last one unless it is the only
    one, ``truncate`` keeps the first. ``truncate-pair`` cuts the longer one of title and text, with [SEP]
    between them. A document with fewer than ``fewest_tokens``, or none, gives no row.

    ``spans`` keeps a document in one row, with tokens per sentence in ``sentences`` and sentences per span in
    ``spans``. ``fields``, e.g. ``["title", "body"]``, are joined, split by ``splitter`` and packed by
    ``span_packing``, towards ``length`` tokens if a span may overshoot and otherwise ``length`` - 2. A
    document with fewer than ``minimum_spans`` gives no row.
    """
    if params["length"] < 3:
        raise UsageError(f"a length of {params['length']} tokens has no room between [CLS] and [SEP]")
    splitter = _splitter(params) if params["policy"] == "spans" else None
    corpus = read_rows(inputs["corpus"])
    tokenizer = checkpoint.load_tokenizer(inputs["model"] / "model")
    id_type = str(np.promote_types(np.uint16, np.min_scalar_type(len(tokenizer) - 1)))
    lists = {name: ["int32"] for name in SPAN_LISTS[1:]} if splitter else {}
    columns = {"document": "string", "chunk": "int32", "input_ids": [id_type], **lists}
    blocks = RowBlocks(out / BLOCKS, columns, origin=id_type)
    facts = blocks.completed(out / "arrow")
    if facts is None:
        with progress.task("tokenising", total=len(corpus)) as advance:
            if splitter:
                rows = _packer(tokenizer, splitter, params, advance)
            else:
                rows = _chunker(tokenizer, params, advance)
            facts = _fill(blocks, corpus, rows, advance)
    if not facts["chunks"]:
        requirement = f"{params['span_packing']['minimum_spans']} spans" if splitter else "any token"
        raise DataError(f"{inputs['corpus']}: no document has {requirement}")
    blocks.join(out / "arrow", fingerprint="tokens")
    others = len(corpus) - facts["documents"]
    if splitter:
        return facts | {"documents_of_too_few_spans": others, "splitter": splitter.identity}
    return facts | {"documents_without_tokens": others}


def _fill(blocks: RowBlocks, corpus, rows: Callable[..., dict], advance: Callable[[int], None]) -> dict:
    firsts, total = range(0, len(corpus), BLOCK), {"chunks": 0, "documents": 0}
    for first in firsts:
        if (facts := blocks.kept(first)) is None:
            facts = dict.fromkeys(total, 0)
            blocks.write(first, _batches(corpus, rows, first, facts), facts)
        else:
            advance(min(BLOCK, len(corpus) - first))
        total = {name: total[name] + facts[name] for name in total}
    blocks.complete(firsts, total)
    return total


def _batches(corpus, rows: Callable[..., dict], first: int, facts: dict) -> Iterator[dict]:
    end = min(first + BLOCK, len(corpus))
    for begin in range(first, end, BATCH):
        places = list(range(begin, min(begin + BATCH, end)))
        batch = rows(corpus[begin : places[-1] + 1], places)
        facts["chunks"] += len(batch["chunk"])
        facts["documents"] += batch["chunk"].count(0)
        yield batch


def _chunker(tokenizer, params: dict, advance: Callable[[int], None]) -> Callable[..., dict]:
    room, pairs = params["length"] - 2, params["policy"] == "truncate-pair"

    def count(tokens: int) -> int:
        if tokens < params.get("fewest_tokens", 0):
            return 0
        if pairs or params["policy"] == "truncate":
            return min(tokens, 1)
        whole, remainder = divmod(tokens, room)
        return whole + bool(remainder and (params["policy"] == "chunk" or not whole))

    def chunk_batch(batch: dict, _: list[int]) -> dict:
        titles = batch["title"] if params["titles"] else [""] * len(batch["text"])
        if pairs:
            inputs = paired_rows(tokenizer, titles, batch["text"], length=params["length"])
            token_lists = [ids[1:-1].tolist() for ids in inputs.each()]
        else:
            passages = zip(titles, batch["text"], strict=True)
            texts = [passage_text(title, text, separator=params["separator"]) for title, text in passages]
            token_lists = _token_ids(tokenizer, texts)
        advance(len(token_lists))
        rows: dict[str, list] = {"document": [], "chunk": [], "input_ids": []}
        for document, ids in zip(batch["id"], token_lists, strict=True):
            for chunk in range(count(len(ids))):
                rows["document"].append(document)
                rows["chunk"].append(chunk)
                rows["input_ids"].append(ids[chunk * room : (chunk + 1) * room])
        return rows

    return chunk_batch


def _packer(
    tokenizer, splitter: SentenceSplitter, params: dict, advance: Callable[[int], None]
) -> Callable[..., dict]:
    packing, columns = params["span_packing"], [FIELDS[field] for field in params["fields"]]
    target = params["length"] if packing["overshoot"] else params["length"] - 2
    options = {"target": target, **{name: packing[name] for name in ("overshoot", "short_probability")}}

    def pack_batch(batch: dict, places: list[int]) -> dict:
        fields = [batch[column] if column in batch else [""] * len(places) for column in columns]
        texts = [" ".join(filter(None, parts)) for parts in zip(*fields, strict=True)]
        documents = [splitter.split(text) for text in texts]
        flat = iter(_token_ids(tokenizer, [sentence for document in documents for sentence in document]))
        rows: dict[str, list] = {name: [] for name in ("document", "chunk", *SPAN_LISTS)}
        for name, place, document in zip(batch["id"], places, documents, strict=True):
            sentences = [ids for ids in itertools.islice(flat, len(document)) if ids]
            lengths = [len(ids) for ids in sentences]
            generator = np.random.default_rng((params["seed"], place))
            spans = packed(lengths, generator=generator, **options)
            if len(spans) < packing["minimum_spans"]:
                continue
            row = (name, 0, list(itertools.chain.from_iterable(sentences)), lengths, spans)
            for column, value in zip(rows.values(), row, strict=True):
                column.append(value)
        advance(len(places))
        return rows

    return pack_batch


def _token_ids(tokenizer, texts: list[str]) -> list[list[int]]:
    if not texts:
        return []
    options = ("add_special_tokens", "return_token_type_ids", "return_attention_mask", "verbose")
    return tokenizer(texts, **dict.fromkeys(options, False))["input_ids"]


def _splitter(params: dict) -> SentenceSplitter:
    splitter = sentence_splitter(params["splitter"], data_folder())
    if splitter.model != params.get("identity"):
        change = f"the model of the sentence splitter {params['splitter']} changed since planning"
        raise DataError(f"{change}. Run the same command again")
    return splitter
