"""How fast a GPU is at what the suite does, each rate beside a peer's in the same process.

Tokens that a text has are counted, never the padding beside them; operations are those of the model on these
tokens by the rule of six times parameters outside the embeddings (two in encoding), so that MFU is comparable
between ways that pad and ways that do not.
"""

from __future__ import annotations

import importlib.util
import statistics
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from gpu_checks import bi_encoder, encoded, precisions
from gpu_models import (
    DEVICE,
    TYPES,
    backward,
    masked_lm,
    most_that_fits,
    precision,
    pretraining,
    queries_with_passages,
    save_encoder,
    texts,
)
from pretraining import (
    GPU,
    SKIPPED,
    UNSAVED,
    Timed,
    device,
    made,
    matrix_product,
    own_cost,
    pretrainings,
)
from pretraining import texts as planned_texts
from search import made as made_vectors
from sentence_transformers import SentenceTransformer
from sentence_transformers.losses import CachedMultipleNegativesRankingLoss
from sentence_transformers.models import Pooling, Transformer
from transformers import Trainer, TrainerCallback, TrainingArguments

from repro.nn.checkpoint import load_tokenizer
from repro.nn.cross_encoder import CrossEncoder, load_cross_encoder
from repro.progress import Progress
from repro.running.cost.throughput import PEAKS
from repro.stages import search as stage
from repro.training.loop import train
from repro.training.optimisation import Optimisation

HALF = "bf16" if GPU else "fp32"
FLASH = importlib.util.find_spec("flash_attn") is not None and GPU


def seconds(run: Callable[[], object], *, rounds: int) -> float:
    """The median of the rounds after one that warms up."""
    taken = []
    for _ in range(rounds + 1):
        started = time.perf_counter()
        run()
        if GPU:
            torch.cuda.synchronize()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken[1:])


def share_of_peak(tokens: float, model: torch.nn.Module, *, passes: int) -> str:
    """MFU against the data sheet, at ``passes`` (6 in training, 2 in encoding) operations a weight."""
    sheet = next((rate for gpu, rate in PEAKS.items() if gpu in device().lower()), None)
    weights = sum(p.numel() for name, p in model.named_parameters() if "embedding" not in name)
    return "–" if sheet is None else f"{passes * weights * tokens / sheet:.0%}"


def rate(what: str, tool: str, tokens: float, taken: float, mfu: str, **more: object) -> dict:
    peak = f"{torch.cuda.max_memory_allocated() / 1e9:.1f} GB" if GPU else "–"
    if GPU:
        torch.cuda.reset_peak_memory_stats()
    shown = {"work": what, "tool": tool, "precision": HALF, "tokens a second": f"{tokens / taken:,.0f}"}
    return shown | {"MFU (data sheet)": mfu, "peak memory": peak} | more


def pretraining_rate(paper: str):
    """A job: a paper's pre-training as the suite runs it, and the same model's MLM by HF's plain Trainer."""

    def job(folder: Path, chosen: Namespace) -> Iterator[dict]:
        node = pretrainings()[paper]
        length = node.params["length"]
        objective, rows = made(node, folder / "ours", chosen)
        how = Optimisation.of(node.params | {"precision": HALF}, batch_size=chosen.texts)
        timed = Timed()
        facts = train(
            objective,
            rows,
            replace(how, epochs=None, max_steps=chosen.steps),
            out=folder / "ours",
            progress=timed,
            execution=UNSAVED,
        )
        ended = timed.ended[SKIPPED:]
        taken = (ended[-1] - ended[0]) / (len(ended) - 1)
        tokens, achieved = chosen.texts * length, facts["flops"] / chosen.steps / taken
        shown = achieved / matrix_product(tokens, chosen.hidden, HALF)
        sheet = next((top for gpu, top in PEAKS.items() if gpu in device().lower()), None)
        hours = planned_texts(node) * length / (tokens / taken) / 3600
        more = {
            "texts a step": f"{chosen.texts} of {length}",
            "share of the matrix product": f"{shown:.0%}",
            "hours of the whole": f"{hours:,.0f}" if chosen.hidden == 768 else "–",
            "the paper's own": own_cost(paper),
        }
        mfu = "–" if sheet is None else f"{achieved / sheet:.0%}"
        yield rate(f"pre-training, {paper}", "ours", tokens, taken, mfu, **more)
        what, tool = f"pre-training, MLM of {length}", "transformers.Trainer"
        objective.to("cpu").zero_grad()

        def theirs() -> dict:
            taken, model = plain_trainer(length, folder / "plain", chosen)
            return rate(what, tool, tokens, taken, share_of_peak(tokens / taken, model, passes=6))

        yield beside(what, tool, theirs)

    return job


def plain_trainer(length: int, folder: Path, chosen: Namespace) -> tuple[float, torch.nn.Module]:
    """Seconds of a step of masked language modelling by HF's Trainer, its loss over all positions."""
    ended: list[float] = []

    class Steps(TrainerCallback):
        def on_step_end(self, *_, **__):
            if GPU:
                torch.cuda.synchronize()
            ended.append(time.perf_counter())

    model = masked_lm(chosen)
    random = torch.Generator().manual_seed(1)
    ids = torch.randint(5, chosen.vocabulary, (chosen.texts * 4, length), generator=random)
    rows = [{"input_ids": text, "labels": text.where(text % 7 == 0, -100)} for text in ids]
    arguments = TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=chosen.texts,
        max_steps=chosen.steps,
        bf16=HALF == "bf16",
        use_cpu=not GPU,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        logging_strategy="no",
    )
    Trainer(model, arguments, train_dataset=rows, callbacks=[Steps()]).train()
    between = [after - before for before, after in pairwise(ended[2:])]
    return statistics.median(between), model


def pretraining_fits(paper: str):
    """A job: the most texts, a power of two, of which one step's gradient fits at once."""

    def job(folder: Path, chosen: Namespace) -> Iterator[dict]:
        objective, examples = pretraining(paper, folder, chosen)

        def attempt(size: int) -> None:
            some = [examples[n % len(examples)] | {"index": n} for n in range(size)]
            backward(objective, [objective.collate(some)], name=HALF)

        most, limited = most_that_fits(attempt, limit=chosen.most)
        length = pretrainings()[paper].params["length"]
        yield {
            "work": f"pre-training, {paper}",
            "precision": HALF,
            "texts that fit": f"{'≥ ' * limited}{most:,} of {length}",
        }

    return job


def fine_tuning(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """A step of fine-tuning, its gradient cached by both, beside sentence-transformers at its best."""
    objective, examples = bi_encoder(folder, chosen, passages=chosen.passages)
    size = max(1, chosen.queries // 4)
    tokens = count_tokens(objective.tokenizer, examples)
    what = f"fine-tuning, {chosen.queries} queries x {chosen.passages}, gradient cached"

    def ours() -> None:
        parts = [objective.collate(examples[n : n + size]) for n in range(0, len(examples), size)]
        backward(objective, parts, name=HALF)

    taken = seconds(ours, rounds=chosen.rounds)
    yield rate(what, "ours", tokens, taken, share_of_peak(tokens / taken, objective, passes=6))
    objective.to("cpu").zero_grad()
    yield beside(what, peer_name(), lambda: their_step(folder / "start", examples, chosen, what, tokens))


def their_step(folder: Path, examples: list[dict], chosen: Namespace, what: str, tokens: int) -> dict:
    """The same step by sentence-transformers, as a row."""
    peer, size = sentence_transformer(folder, chosen), max(1, chosen.queries // 4)
    loss = CachedMultipleNegativesRankingLoss(peer, mini_batch_size=size * chosen.passages)
    columns = [[e["query"] for e in examples]]
    columns += [[e["passages"][k]["text"] for e in examples] for k in range(chosen.passages)]

    def step() -> None:
        peer.zero_grad()
        told = [peer.tokenize(column) for column in columns]
        features = [{k: v.to(DEVICE) for k, v in one.items() if torch.is_tensor(v)} for one in told]
        with precision(HALF):
            loss(features, None).backward()

    taken = seconds(step, rounds=chosen.rounds)
    return rate(what, peer_name(), tokens, taken, share_of_peak(tokens / taken, peer, passes=6))


def count_tokens(tokenizer, examples: list[dict]) -> int:
    """Tokens of queries, cut to 32, and passages, cut to 144."""
    asked = tokenizer([e["query"] for e in examples], truncation=True, max_length=32)
    read = [passage["text"] for e in examples for passage in e["passages"]]
    passages = tokenizer(read, truncation=True, max_length=144)
    return sum(map(len, asked["input_ids"])) + sum(map(len, passages["input_ids"]))


def beside(what: str, tool: str, measure: Callable[[], dict]) -> dict:
    """A peer's row, or one that says why there is none: its failure is none of ours."""
    if GPU:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    try:
        return measure()
    except (RuntimeError, ValueError, ImportError) as error:
        return {"work": what, "tool": f"{tool}: {str(error).splitlines()[0]}"}


def sentence_transformer(folder: Path, chosen: Namespace) -> SentenceTransformer:
    """The peer with the same weights; with flash attention it flattens its inputs."""
    attention = "flash_attention_2" if FLASH else "sdpa"
    how = {"attn_implementation": attention} | ({"dtype": TYPES[HALF]} if FLASH else {})
    transformer = Transformer(str(folder), max_seq_length=144, model_args=how)
    pooling = Pooling(transformer.get_embedding_dimension(), "cls")
    return SentenceTransformer(modules=[transformer, pooling], device=DEVICE.type)


def peer_name() -> str:
    return "sentence-transformers" + (", flash attention, flattened" if FLASH else ", sdpa")


def re_ranker(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """A step of the re-ranker's training, beside the same model's classification loss without the suite."""
    start = save_encoder(folder / "start", chosen)
    model, tokenizer = load_cross_encoder(start), load_tokenizer(start)
    how = {"trained_passages": chosen.passages, "regulariser": "none"}
    objective = CrossEncoder(model, tokenizer, **how, passage_length=192, separator=" ")
    examples = queries_with_passages(chosen, passages=chosen.passages)
    tokens = count_tokens(tokenizer, examples)
    what = f"re-ranker, {chosen.queries} queries x {chosen.passages}"
    taken = seconds(
        lambda: backward(objective, [objective.collate(examples)], name=HALF), rounds=chosen.rounds
    )
    yield rate(what, "ours", tokens, taken, share_of_peak(tokens / taken, model, passes=6))
    pairs = [(e["query"], passage["text"]) for e in examples for passage in e["passages"]]

    def plain() -> None:
        first, second = map(list, zip(*pairs, strict=True))
        inputs = tokenizer(first, second, truncation=True, max_length=192, padding=True, return_tensors="pt")
        inputs = inputs.to(DEVICE)
        model.zero_grad()
        with precision(HALF):
            scores = model(**inputs).logits.view(-1, chosen.passages)
        target = torch.zeros(len(scores), dtype=torch.long, device=DEVICE)
        torch.nn.functional.cross_entropy(scores.float(), target).backward()

    taken = seconds(plain, rounds=chosen.rounds)
    yield rate(what, "transformers, padded", tokens, taken, share_of_peak(tokens / taken, model, passes=6))


def encoding(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """Passages through the stage, with reading and writing, and through sentence-transformers' encode."""
    start, read = save_encoder(folder / "start", chosen), texts(chosen.encoded, chosen)
    tokenizer, name = load_tokenizer(start), precisions()[-1]
    tokens = sum(map(len, tokenizer(read, truncation=True, max_length=144)["input_ids"]))
    what, numbers = f"encoding, {chosen.encoded:,} passages", iter(range(99))
    taken = seconds(lambda: encoded(start, read, folder / str(next(numbers)), name), rounds=2)
    model = masked_lm(chosen).bert
    yield rate(what, "ours", tokens, taken, share_of_peak(tokens / taken, model, passes=2))

    def theirs() -> dict:
        peer, batch = sentence_transformer(start, chosen).to(TYPES[name]), 512 if GPU else 32
        taken = seconds(lambda: peer.encode(read, batch_size=batch, show_progress_bar=False), rounds=2)
        return rate(what, peer_name(), tokens, taken, share_of_peak(tokens / taken, model, passes=2))

    yield beside(what, peer_name(), theirs)


def search(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """Queries a second of the stage, beside a product and its greatest values in torch."""
    made_vectors(folder / "passages", "d", chosen.vectors, chosen.hidden)
    made_vectors(folder / "queries", "q", chosen.searched, chosen.hidden)
    inputs, numbers = {n: folder / n for n in ("passages", "queries")}, iter(range(99))

    def ours() -> None:
        out = folder / str(next(numbers))
        out.mkdir()
        stage.run({"depth": 1000}, inputs, out, Progress())

    def theirs() -> None:
        asked, read = (torch.from_numpy(np.load(folder / n / "vectors.npy")) for n in ("queries", "passages"))
        (asked.to(DEVICE) @ read.to(DEVICE).T).topk(min(1000, len(read)))

    for tool, run in (("ours, exact, with the run", ours), ("torch, product and topk", theirs)):
        taken = seconds(run, rounds=2)
        yield {
            "work": f"search, {chosen.searched:,} queries in {chosen.vectors:,} vectors of {chosen.hidden}",
            "tool": tool,
            "queries a second": f"{chosen.searched / taken:,.0f}",
        }


RATES = {f"rate {paper}": pretraining_rate(paper) for paper in pretrainings()} | {
    "rate fine-tuning": fine_tuning,
    "rate re-ranker": re_ranker,
    "rate encoding": encoding,
    "rate search": search,
}
FITS = {f"fits {paper}": pretraining_fits(paper) for paper in pretrainings()}
