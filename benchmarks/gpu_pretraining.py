"""The speed of pre-training on a GPU: each paper's objective with and without padding, beside HF's plain
Trainer on the same objective; masked language modelling alone; and the texts that fit at once.

Operations are those that the model needs, as torch counts them of each text by itself: MFU is that of the
model and not of the padding, and not of what a way computes again. Lengths are the mean of the
plan's: full ones where a corpus is cut into chunks or spans, else half of the greatest.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

import torch
from gpu_models import (
    DEVICE,
    backward,
    first,
    masked_lm,
    precision,
    pretraining,
    save_encoder,
    tokens_of,
)
from gpu_rates import GPU, HALF, measured, most_that_fits, rate, version
from needed_operations import needed_operations
from pretraining import UNSAVED, RandomTexts, Timed, matrix_product, own_cost, pretrainings
from pretraining import texts as planned_texts
from transformers import AutoTokenizer, Trainer, TrainerCallback, TrainingArguments

from repro.graph import Node
from repro.retrieval.nn.objectives import MaskedLanguageModel
from repro.retrieval.nn.padding_free import padding_free
from repro.retrieval.training.declaration import Optimisation, step_memory
from repro.retrieval.training.loop import train
from repro.retrieval.training.parts import collating_processes

ELSEWHERE = (  # tool, tokens a second, MFU, precision: to read the rates by
    ("ModernBERT-base, one H100, as stated elsewhere", "304,000", "20 to 27 %, by 6ND"),
    ("NeoBERT-like, 28 layers, one H200, as stated elsewhere", "155,000", ""),
)
Made = Callable[[], tuple[torch.nn.Module, RandomTexts]]


def pretraining_rate(paper: str):
    """A job: a paper's pre-training by the suite and by HF's Trainer, and its hours on this GPU."""

    def job(folder: Path, chosen: Namespace) -> Iterator[dict]:
        node, numbers = pretrainings()[paper], count()
        length, uneven = node.params["length"], has_uneven_texts(node)
        texts = min(chosen.texts, node.params["texts_per_batch"])

        def made() -> tuple[torch.nn.Module, RandomTexts]:
            return pretraining(paper, folder / str(next(numbers)), chosen, uneven=uneven)

        tokens, operations = of_a_text(made, length=length, sample=4 * chosen.checked)
        product = matrix_product(round(texts * tokens), chosen.hidden, HALF)

        def row(taken: float, **more: object) -> dict:
            hours = f"{planned_texts(node) / texts * taken / 3600:,.0f}" if chosen.layers == 12 else "–"
            told = {"texts a step": f"{texts} of {length}, {tokens:.0f} on average"}
            told |= {"share of the matrix product": f"{texts * operations / taken / product:.0%}"}
            told |= {"hours of the whole": hours, "the paper's own": own_cost(paper)} | more
            return rate(texts * tokens, texts * operations, taken, **told)

        def ours(free: bool) -> dict:
            return row(**our_steps(made, node.params, texts, folder / f"ours {free}", chosen, free=free))

        tools = {"ours": lambda: ours(False)}
        if uneven:
            tools["ours, without padding"] = lambda: ours(True)
        tools["transformers.Trainer, the same objective"] = lambda: row(
            their_steps(*as_dataset(*made()), texts, folder / "theirs", chosen)
        )
        yield from measured(f"pre-training, {paper}", tools, chosen)

    return job


def has_uneven_texts(node: Node) -> bool:
    """Whether the planned texts are of several lengths: not where a corpus is cut into chunks."""
    return node.inputs["tokens"].params["policy"] != "chunk"


def of_a_text(made: Made, *, length: int, sample: int) -> tuple[float, float]:
    """Tokens of a text on average, and operations that its step needs (``needed_operations``)."""
    objective, rows = made()
    examples = first(rows, sample)
    objective.to(DEVICE).train()
    with precision(HALF):
        return mean_tokens(objective, rows, examples, length), needed_operations(objective, examples) / sample


def mean_tokens(objective: torch.nn.Module, rows: RandomTexts, examples: list[dict], length: int) -> float:
    """Tokens of a text on average, cut as the objective cuts it."""
    if rows.documents:
        return tokens_of(objective.collate(examples)) / len(examples)
    return sum(min(len(example["input_ids"]) + 2, length) for example in examples) / len(examples)


def our_steps(made: Made, params: dict, texts: int, out: Path, chosen: Namespace, *, free: bool) -> dict:
    """Seconds of a step as the stage trains, and the part of a batch that fitted if it was not whole."""
    objective, rows = made()
    out.mkdir(parents=True)
    params = params | {"precision": HALF}
    how = Optimisation.of(params, batch_size=texts)
    timed = Timed()
    facts = train(
        objective,
        rows,
        replace(how, epochs=None, max_steps=chosen.steps),
        out=out,
        progress=timed,
        execution=replace(UNSAVED, padding_free=int(free)),
        memory=step_memory(objective, params),
    )
    if free and not facts.get("padding_free"):
        raise RuntimeError("no batch was read without padding")
    parts = {"remark": f"in parts of {facts['micro_batch']}"} if "micro_batch" in facts else {}
    return {"taken": settled(timed.ended)} | parts


def settled(ended: list[float]) -> float:
    """Seconds of a step, of the last two thirds: before, batches come that were made while nothing ran."""
    last = ended[len(ended) // 3 :]
    return (last[-1] - last[0]) / (len(last) - 1)


class Examples(torch.utils.data.Dataset):
    """Rows one by one, as the Trainer asks for them."""

    def __init__(self, rows: RandomTexts):
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict:
        return self.rows.__getitems__([(0, index)])[0]


class HfTrainer(Trainer):
    """HF's Trainer, whose loss is the sum of an objective's."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return sum(loss.float() for loss in model(inputs).values())


class Steps(TrainerCallback):
    """When each step ended."""

    def __init__(self):
        self.timed = Timed()

    def on_step_end(self, *_, **__) -> None:
        self.timed._advance()


def as_dataset(objective: torch.nn.Module, rows: RandomTexts) -> tuple:
    """Return an objective of the suite, with its texts, as the first arguments of ``their_steps``."""
    return HfTrainer, objective, Examples(rows), objective.collate


def their_steps(
    kind: type[Trainer], model, dataset, collate, texts: int, out: Path, chosen: Namespace, **options
) -> float:
    """Seconds of a step by HF's Trainer: fused AdamW, bf16, and as many processes that collate as ours."""
    steps = Steps()
    arguments = TrainingArguments(
        output_dir=str(out),
        per_device_train_batch_size=texts,
        max_steps=chosen.steps,
        bf16=HALF == "bf16",
        use_cpu=not GPU,
        dataloader_num_workers=collating_processes(gpu=GPU),
        remove_unused_columns=False,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        logging_strategy="no",
        **options,
    )
    trainer = kind(model, arguments, train_dataset=dataset, data_collator=collate, callbacks=[steps])
    steps.timed.ended.append(time.perf_counter())
    trainer.train()
    return settled(steps.timed.ended)


def masked_language_modelling(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """BERT's objective on full texts of 512 tokens by the suite, by HF's model and Trainer, and compiled."""
    length, texts, numbers = 512, max(1, chosen.texts // 4), count()
    tokenizer = AutoTokenizer.from_pretrained(save_encoder(folder / "start", chosen))
    rows = RandomTexts(vocabulary=chosen.vocabulary, length=length, documents=False)
    how = {"masking": {"rate": 0.15, "mask": 0.8, "random": 0.1}, "reduction": "mean"}

    def made() -> tuple[torch.nn.Module, RandomTexts]:
        return MaskedLanguageModel(masked_lm(chosen), tokenizer, **how, length=length, seed=1), rows

    tokens, operations = of_a_text(made, length=length, sample=8)

    def row(taken: float, **more: object) -> dict:
        more = {"texts a step": f"{texts} of {length}"} | more
        return rate(texts * tokens, texts * operations, taken, **more)

    def theirs(**options: object) -> dict:
        objective, _ = made()

        def collate(examples: list[dict]) -> dict:
            batch = objective.collate(examples)
            return {"input_ids": batch["masked_ids"]} | {k: batch[k] for k in ("attention_mask", "labels")}

        given = (Trainer, masked_lm(chosen), Examples(rows), collate, texts)
        return row(their_steps(*given, folder / f"out {next(numbers)}", chosen, **options))

    params = pretrainings()["costa"].params
    tools = {"ours": lambda: row(**our_steps(made, params, texts, folder / "ours", chosen, free=False))}
    tools[f"Trainer of {version('transformers')}"] = theirs
    if GPU:  # where compiling pays
        tools[f"Trainer of {version('transformers')}, torch_compile"] = partial(theirs, torch_compile=True)
    yield from measured("pre-training, masked language modelling", tools, chosen)
    for tool, stated, share in ELSEWHERE:
        where = {"work": "pre-training, masked language modelling", "tool": tool, "precision": "bf16"}
        yield where | {"tokens a second": stated, "MFU (data sheet)": share}


def pretraining_fits(paper: str):
    """A job: the most texts, a power of two, of which one step's gradient fits at once."""

    def job(folder: Path, chosen: Namespace) -> Iterator[dict]:
        node = pretrainings()[paper]
        length, uneven = node.params["length"], has_uneven_texts(node)

        def fits(free: bool) -> dict:
            objective, rows = pretraining(paper, folder / f"made {free}", chosen, uneven=uneven)
            mean = mean_tokens(objective, rows, first(rows, 8 * chosen.checked), length)

            def attempt(size: int) -> None:
                with padding_free(objective, free):
                    backward(objective, [objective.collate(first(rows, size))], name=HALF)

            most, limited = most_that_fits(attempt, limit=chosen.most)
            return {"that fit": f"{'≥ ' * limited}{most:,} texts of {length}, {mean:.0f} on average"}

        def of_bert() -> dict:
            model = masked_lm(chosen).to(DEVICE).train()

            def attempt(size: int) -> None:
                ids = torch.randint(5, chosen.vocabulary, (size, length), device=DEVICE)
                labels = ids.where(ids % 7 == 0, -100)
                model.zero_grad()
                with precision(HALF):
                    loss = model(input_ids=ids, labels=labels).loss
                loss.backward()

            most, limited = most_that_fits(attempt, limit=chosen.most)
            return {"that fit": f"{'≥ ' * limited}{most:,} texts of {length}"}

        tools = {"ours": lambda: fits(False)}
        if uneven:
            tools["ours, without padding"] = lambda: fits(True)
        yield from measured(
            f"pre-training, {paper}", tools | {"transformers, BERT's MLM alone": of_bert}, chosen
        )

    return job


RATES = {f"pre-training {paper}": pretraining_rate(paper) for paper in pretrainings()}
RATES["pre-training BERT"] = masked_language_modelling
FITS = {f"fits {paper}": pretraining_fits(paper) for paper in pretrainings()}
