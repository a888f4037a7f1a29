"""Tevatron's fine-tuning: the texts of queries and passages, their choice for an epoch, and the loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
from torch import nn

from oracles import made_up, shims
from oracles.declaration import Compared, Declared, Mutation, main
from oracles.sides import Side, digest, gradients
from oracles.written import ConcernedNodes, ReleasedCode
from repro.retrieval.nn.bi_encoder import BiEncoderContrastive
from repro.retrieval.stages.finetune import next_window

LENGTHS = {"query_length": 8, "passage_length": 24}
ROOT = "src"  # where the package lies in a checkout


def ours(inputs: Mapping[str, Any]) -> Side:
    """Our loss and gradients for groups of passages."""
    usual = {"projector": "none", "projector_start": "new", "pooling": "cls", "separator": "[SEP]"}
    how = {"temperature": 1.0, "similarity": "dot", "negatives": "in-batch", "start": Path("none")}
    objective = BiEncoderContrastive(_model(inputs), made_up.tokenizer(), **how, **usual, **LENGTHS).train()
    examples = _examples(inputs)
    for passage in chain.from_iterable(example["passages"] for example in examples):
        passage["title"] = passage["title"] or " "  # reading untitled-passages: as the corpus has it
    loss = objective(objective.collate(examples))["contrastive"]
    loss.backward()
    return Side({"contrastive": loss.item()}, gradients(objective))


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """The released model's, over texts that the released preprocessor, data set and collator made."""
    folder = checkout / inputs["root"]
    modules = "tevatron.preprocessor.preprocessor_tsv", "tevatron.data", "tevatron.modeling"
    with shims.imported(folder, *modules, absent=ABSENT) as [preprocessor, data, modeling]:
        tokenizer = made_up.tokenizer()
        queries, documents = _prepared(preprocessor, inputs, tokenizer)
        rows = [
            {"query": query, "positives": documents[n][:1], "negatives": documents[n][1:]}
            for n, query in enumerate(queries)
        ]
        lengths = {"q_max_len": LENGTHS["query_length"], "p_max_len": LENGTHS["passage_length"]}
        args = SimpleNamespace(**lengths, train_n_passages=inputs["passages"], **UNSHUFFLED)
        trainer = SimpleNamespace(state=SimpleNamespace(epoch=0.0), args=SimpleNamespace(seed=0))
        dataset = _dataset(data, args, rows, _SlowTokenizer(tokenizer), trainer)
        collator = data.QPCollator(tokenizer, max_q_len=lengths["q_max_len"], max_p_len=lengths["p_max_len"])
        query, passage = collator([dataset[n] for n in range(len(rows))])
        training = SimpleNamespace(negatives_x_device=False, per_device_train_batch_size=len(rows))
        encoder = _model(inputs)
        model = modeling.DenseModel(encoder, encoder, data_args=args, train_args=training).train()
        loss = model(query=dict(query), passage=dict(passage)).loss
    loss.backward()
    slopes = gradients(model, lambda name: name.replace("lm_q.", "encoder.model.", 1))
    return Side({"contrastive": loss.item()}, slopes)


def our_groups(inputs: Mapping[str, Any]) -> Side:
    """The places that we choose of rows of positives and negatives."""
    chosen = []
    for index, (positives, negatives, turn) in enumerate(_lists(inputs)):
        chosen.append(next_window(positives, negatives, index=index, seed=inputs["seed"], **turn))
    return Side(values={"chosen": digest(chosen)}, compared=len(chosen))


def official_groups(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """Those of the released data set, whose hash, shuffles and draws are ours."""
    tokenizer, chosen = SimpleNamespace(encode_plus=lambda place, **how: place), []
    with shims.imported(checkout / inputs["root"], "tevatron.data", absent=ABSENT) as [data]:
        for index, (positives, negatives, turn) in enumerate(_lists(inputs)):
            same = _SameDraws(inputs["seed"], index, turn["epoch"], len(negatives))
            args = SimpleNamespace(q_max_len=8, p_max_len=8, train_n_passages=turn["passages"], **UNSHUFFLED)
            state = SimpleNamespace(epoch=float(turn["epoch"]))
            trainer = SimpleNamespace(state=state, args=SimpleNamespace(seed=inputs["seed"]))
            row = {"query": 0, "positives": positives, "negatives": negatives}
            with mock.patch.multiple(data, create=True, hash=same.hash, random=same):
                chosen.append(_dataset(data, args, {index: row}, tokenizer, trainer)[index][1])
    return Side(values={"chosen": digest(chosen)}, compared=len(chosen))


UNSHUFFLED = {"positive_passage_no_shuffle": False, "negative_passage_no_shuffle": False}
ABSENT = ("tevatron.arguments", "tevatron.trainer")


class _SameDraws:
    """A stand-in for ``hash`` and ``random`` that gives the draws of ours for a row and an epoch."""

    def __init__(self, seed: int, index: int, epoch: int, available: int):
        own = np.random.default_rng((seed, index))
        self.start = int(own.integers(2**31))
        self.order, self.seeds = own.permutation(available).tolist(), (seed, index, epoch)

    def hash(self, value: int) -> int:
        return self.start

    def Random(self, seed: int) -> _SameDraws:
        return self

    def shuffle(self, values: list) -> None:
        values[:] = [values[place] for place in self.order]

    def choices(self, values: list, k: int) -> list:
        return [values[n] for n in np.random.default_rng(self.seeds).integers(len(values), size=k)]


class _SlowTokenizer:
    """Token ids framed by [CLS] and [SEP], as tokenizers of transformers 4.x framed what they were given."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def encode_plus(self, ids: list[int], *, max_length: int, **_) -> dict[str, list[int]]:
        return {
            "input_ids": [self.tokenizer.cls_token_id, *ids[: max_length - 2], self.tokenizer.sep_token_id]
        }


def _dataset(data, args, rows, tokenizer, trainer):
    """The released data set over rows that are there; its constructor would read files."""
    dataset = data.TrainDataset.__new__(data.TrainDataset)
    dataset.data_args, dataset.train_data, dataset.tok, dataset.trainer = args, rows, tokenizer, trainer
    return dataset


def _examples(inputs: Mapping[str, Any]) -> list[dict]:
    """A query with its passages each, the positive first."""
    generator = np.random.default_rng(inputs["seed"])
    examples = []
    for _ in range(inputs["queries"]):
        query = made_up.text(generator, int(generator.integers(2, 9)))
        found = made_up.passages(generator, inputs["passages"], words=(4, 24))
        if inputs["untitled"]:
            found = [{"title": "" if n % 2 else p["title"], "text": p["text"]} for n, p in enumerate(found)]
        examples.append({"query": query, "passages": found})
    return examples


def _prepared(preprocessor, inputs, tokenizer) -> tuple[list[list[int]], list[list[list[int]]]]:
    """Token ids of queries, and of the passages of each, by the released preprocessor."""
    examples = _examples(inputs)
    made = preprocessor.SimpleTrainPreProcessor.__new__(preprocessor.SimpleTrainPreProcessor)
    made.tokenizer = tokenizer
    made.queries = [example["query"] for example in examples]
    made.collection = [passage for example in examples for passage in example["passages"]]
    size = inputs["passages"]
    documents = [[made.get_passage(n * size + k) for k in range(size)] for n in range(len(examples))]
    # an epoch takes all negatives where as many are wanted, in an order on which no loss depends
    return [made.get_query(n) for n in range(len(examples))], documents


def _model(inputs: Mapping[str, Any]) -> nn.Module:
    from transformers import BertModel

    return made_up.weighted(BertModel(made_up.bert(layers=2)), seed=inputs["seed"])


def _lists(inputs: Mapping[str, Any]) -> Iterator[tuple[list[int], list[int], dict[str, int]]]:
    generator = np.random.default_rng(inputs["seed"])
    for _ in range(inputs["rows"]):
        sizes = generator.integers((1, 1, 1, 0), (5, 14, 10, 7)).tolist()
        positives, negatives, passages, epoch = sizes
        places = list(range(positives + negatives))
        yield places[:positives], places[positives:], {"passages": passages, "epoch": epoch}


def cases(root: str) -> dict[str, Compared]:
    """The comparisons, for the package as it lies in a checkout."""
    loss = {"seed": 9, "queries": 6, "passages": 4, "untitled": False, "root": root}
    rows = {"seed": 13, "rows": 1000, "root": root}
    return {
        "in-batch": Compared("dot products, all passages of the batch", loss, ours, official),
        "one-passage": Compared("no negatives of one's own", loss | {"passages": 1}, ours, official),
        "untitled": Compared(
            "half of the passages untitled, read with a blank title here (untitled-passages)",
            loss | {"untitled": True},
            ours,
            official,
        ),
        "groups": Compared("the passages of an epoch", rows, our_groups, official_groups, dtype=""),
    }


NODES = (
    ConcernedNodes(
        stage="finetune",
        params={
            "objective.name": ("contrastive",),
            "options.similarity": ("dot",),
            "options.temperature": (1, 1.0),
            "options.negatives": ("in-batch",),
            "options.projector": ("none",),
            "negative_choice": (None,),
            "separator": ("[SEP]",),
            "pooling": ("cls",),
        },
    ),
)
MUTATIONS = (
    Mutation(
        "repro.retrieval.nn.contrastive:in_batch_contrastive",
        "similarity=similarity) / temp",
        "similarity=similarity) / -temp",
    ),
    Mutation(
        "repro.retrieval.nn.contrastive:in_batch_contrastive", "(total // count)", "(total // count) + 1"
    ),
    Mutation("repro.retrieval.nn.text:passage_text", "{title}{separator}{text}", "{text}{separator}{title}"),
    Mutation(
        "repro.retrieval.stages.finetune:next_window", "integers(2**31)) + epoch", "integers(2**31)) - epoch"
    ),
    Mutation("repro.retrieval.stages.finetune:next_window", "(first + place)", "(first - place)"),
)
SHIMS = (
    "the modules for arguments and the trainer, of which no formula uses anything, are empty",
    "token ids are framed by [CLS] and [SEP] as slow tokenizers of transformers 4.x did",
)
FILES = ("loss.py", "modeling.py", "data.py", "preprocessor/preprocessor_tsv.py")
ORACLE = Declared(
    file="baselines/tevatron",
    objective="Tevatron's fine-tuning: texts, passages of an epoch, in-batch contrastive loss",
    code=ReleasedCode(
        repository="texttron/tevatron",
        commit="fef1f846949cada591e444b30871d9319b30a7b9",
        files=tuple(f"{ROOT}/tevatron/{file}" for file in FILES),
    ),
    nodes=NODES,
    cases=cases(ROOT),
    mutations=MUTATIONS,
    shims=SHIMS,
)

if __name__ == "__main__":
    main(ORACLE)
