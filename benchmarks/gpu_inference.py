"""The speed of encoding and of searching on a GPU, beside sentence-transformers, torch and faiss."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
from datasets import Dataset
from gpu_finetuning import peer
from gpu_models import DEVICE, TYPES, masked_lm, precision, save_encoder, sentence_transformer, texts
from gpu_rates import GPU, HALF, fits, measured, parts, rate, seconds, weights
from search import made as made_vectors

from repro.progress import Progress
from repro.retrieval.nn import packed_texts
from repro.retrieval.nn.checkpoint import load_tokenizer
from repro.retrieval.nn.cross_encoder import PairScorer
from repro.retrieval.nn.encoder import load_text_encoder
from repro.retrieval.nn.text import passage_rows
from repro.retrieval.stages import encode
from repro.retrieval.stages import search as stage

LENGTH, PAIR = 144, 192
TOGETHER = 512  # queries that torch multiplies at a time, so that their products fit


class Notes(Progress):
    """The lines that a stage prints on its way."""

    def __init__(self):
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)


def could_be_packed(name: str) -> bool:
    """Whether the stage encodes without padding on this device in that precision, if that is asked for."""
    return not GPU or name != "fp32"


def encoded(start: Path, read: list[str], out: Path, name: str, *, free: bool) -> tuple[np.ndarray, dict]:
    """The vectors of texts as the stage makes them, (N, H), and ``by_stage``'s facts."""
    inputs = {"model": linked(start, out / "of"), "texts": stored(read, out / "texts")}
    told = by_stage(inputs, out / "vectors", name, free=free)
    return np.load(out / "vectors" / "vectors.npy"), told


def linked(start: Path, folder: Path) -> Path:
    """A model directory as the stage reads it."""
    folder.mkdir(parents=True)
    (folder / "model").symlink_to(start.resolve())
    return folder


def stored(read: list[str], folder: Path) -> Path:
    """Texts as the stage reads them."""
    columns = {"id": [str(n) for n in range(len(read))], "title": [""] * len(read), "text": read}
    Dataset.from_dict(columns).save_to_disk(str(folder / "arrow"))
    return folder


def by_stage(inputs: dict[str, Path], out: Path, name: str, *, free: bool) -> dict:
    """Encode into ``out``: ``packed``, whether texts were read end to end, and ``why`` not, where asked for.

    A GPU is asked by the variable of the environment; on a CPU a model of any size does as a large one.
    """
    out.mkdir(parents=True)
    params = {"kind": "passages", "length": LENGTH, "separator": " ", "pooling": "cls", "normalize": False}
    asked = {"REPRO_PADDING_FREE": "1"} if free else {}
    notes = Notes()
    with patch.dict(os.environ, asked), patch.object(packed_texts, "is_small", lambda model: not free):
        facts = encode.run(params | {"precision": name}, inputs, out, notes)
    if "padding_free" in facts and not free:
        raise RuntimeError("texts were read without padding, though nobody asked for it")
    return {"packed": free and (not GPU or "padding_free" in facts), "why": " ".join(notes.said)}


def encoding(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """Passages through the stage, with reading and writing, and through sentence-transformers' encode."""
    start, read, numbers = save_encoder(folder / "start", chosen), texts(chosen.encoded, chosen), count()
    tokens = sum(map(len, load_tokenizer(start)(read, truncation=True, max_length=LENGTH)["input_ids"]))
    operations = 2 * weights(masked_lm(chosen).bert) * tokens
    inputs = {"model": linked(start, folder / "of"), "texts": stored(read, folder / "texts")}

    def row(run: Callable[[], object]) -> dict:
        shape = {"texts a step": f"{chosen.encoded:,} texts of {LENGTH}, half full"}
        return rate(tokens, operations, seconds(run, rounds=2), **shape)

    def ours(free: bool) -> dict:
        told: dict = {}
        found = row(lambda: told.update(by_stage(inputs, folder / str(next(numbers)), HALF, free=free)))
        if free and not told["packed"]:
            raise RuntimeError(told["why"])
        return found

    def theirs(batch: int) -> dict:
        model = sentence_transformer(start).to(TYPES[HALF])
        return row(lambda: model.encode(read, batch_size=batch, show_progress_bar=False))

    tools = {"ours": partial(ours, False), "ours, without padding": partial(ours, True)}
    for batch in (128, 1024) if GPU else (32,):
        tools[peer(f"batches of {batch}", start)] = partial(theirs, batch)
    yield from measured("encoding", tools, chosen)


def encoding_fits(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """The most texts, a power of two, that are encoded at once."""
    start = save_encoder(folder / "start", chosen)
    read = texts(8 * chosen.most, chosen)

    def fitting(encode_some: Callable[[list[str]], object]) -> dict:
        def step(some: list[str]) -> None:
            with torch.inference_mode(), precision(HALF):
                encode_some(some)

        return fits(step, read, f"texts of {LENGTH}, half full")

    def ours() -> dict:
        encoder, tokenizer = load_text_encoder(start, pooling="cls").eval().to(DEVICE), load_tokenizer(start)
        how = {"length": LENGTH, "separator": " "}

        def encode_some(some: list[str]) -> None:
            inputs = passage_rows(tokenizer, [""] * len(some), some, **how).inputs()
            encoder({name: values.to(DEVICE) for name, values in inputs.items()})

        return fitting(encode_some)

    def theirs() -> dict:
        model = sentence_transformer(start).to(TYPES[HALF])
        return fitting(lambda some: model.encode(some, batch_size=len(some), show_progress_bar=False))

    yield from measured("encoding", {"ours": ours, peer("one batch", start): theirs}, chosen)


def re_ranking(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """Scores of pairs as the stage makes them, and by sentence-transformers' CrossEncoder."""
    start, many = save_encoder(folder / "start", chosen), max(chosen.queries, chosen.encoded // 5)
    queries, read = texts(many, chosen, mean=9, most=30), texts(many, chosen)
    tokenizer = load_tokenizer(start)
    tokens = sum(map(len, tokenizer(queries, read, truncation=True, max_length=PAIR)["input_ids"]))
    operations = 2 * weights(masked_lm(chosen).bert) * tokens

    def row(run: Callable[[], object]) -> dict:
        return rate(
            tokens, operations, seconds(run, rounds=2), **{"texts a step": f"{many:,} pairs of {PAIR}"}
        )

    def ours(free: bool) -> dict:
        said: list[str] = []
        how = {"length": PAIR, "separator": " ", "precision": HALF}
        scorer = PairScorer(start, **how, packed=free, say=said.append)
        if free and not scorer.packed:
            raise RuntimeError(" ".join(said))
        passages = [{"title": "", "text": text} for text in read]
        return row(lambda: scorer(queries, passages))

    def theirs() -> dict:
        from sentence_transformers import CrossEncoder

        how = {"num_labels": 1, "max_length": PAIR, "device": DEVICE.type}
        model = CrossEncoder(str(start), **how, model_kwargs={"attn_implementation": "sdpa"})
        model.to(TYPES[HALF])
        pairs, size = list(zip(queries, read, strict=True)), 256 if GPU else 32
        return row(lambda: model.predict(pairs, batch_size=size, show_progress_bar=False))

    tools = {"ours": partial(ours, False)}
    if GPU:  # a CPU pads pairs
        tools["ours, without padding"] = partial(ours, True)
    yield from measured("re-ranking", tools | {"sentence-transformers, CrossEncoder, sdpa": theirs}, chosen)


def search(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """Queries a second of the stage, beside torch's product and greatest values, and faiss' flat index."""
    made_vectors(folder / "passages", "d", chosen.vectors, chosen.hidden)
    made_vectors(folder / "queries", "q", chosen.searched, chosen.hidden)
    inputs, numbers = {n: folder / n for n in ("passages", "queries")}, count()
    depth = min(1000, chosen.vectors)

    def read() -> tuple[np.ndarray, np.ndarray]:
        return np.load(folder / "queries/vectors.npy"), np.load(folder / "passages/vectors.npy")

    def ours() -> None:
        out = folder / str(next(numbers))
        out.mkdir()
        stage.run({"depth": depth}, inputs, out, Progress())

    def by_torch() -> None:
        asked, passages = (torch.from_numpy(some).to(DEVICE) for some in read())
        for some in parts(asked, TOGETHER):
            (some @ passages.T).topk(depth)

    def by_faiss() -> None:
        import faiss

        asked, passages = read()
        faiss.knn(asked, passages, depth, metric=faiss.METRIC_INNER_PRODUCT)

    tools = {"ours, exact, with the run's file": ours}
    tools |= {"torch, product and topk": by_torch, "faiss.knn on the CPU": by_faiss}
    shape = f"{chosen.searched:,} queries in {chosen.vectors:,} vectors of {chosen.hidden}, depth {depth}"

    def row(run: Callable[[], object]) -> dict:
        taken = seconds(run, rounds=1)
        return {"queries a second": f"{chosen.searched / taken:,.0f}", "texts a step": shape}

    yield from measured(
        "search", {tool: partial(row, run) for tool, run in tools.items()}, chosen, precision="fp32"
    )


RATES = {"other encoding": encoding, "other re-ranking": re_ranking, "other search": search}
FITS = {"fits encoding": encoding_fits}
