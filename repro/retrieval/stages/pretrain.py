"""Stage ``pretrain``: an encoder trained on text alone."""

import os
from pathlib import Path

import numpy as np
from transformers import set_seed

from repro.errors import DataError
from repro.progress import Progress
from repro.retrieval.datasets.arrow import list_offsets, read_rows
from repro.retrieval.nn.checkpoint import check_fits, load_masked_lm, load_tokenizer
from repro.retrieval.training import declaration, loop, objective

TOKEN_COLUMNS = ("input_ids", "sentences", "spans")


class TokenRows:
    """The rows of a tokens artefact, read on demand from disk."""

    def __init__(self, folder: Path):
        tokens = read_rows(folder)
        names = [name for name in TOKEN_COLUMNS if name in tokens.column_names]
        self.table = tokens.data
        self.columns = {name: self.table.column(name) for name in names}

    def __len__(self) -> int:
        return len(self.table)

    def __getitems__(self, places: list[tuple[int, int]]) -> list[dict]:
        """Return ``{"input_ids": (n,) int64, "epoch", "index"}`` for each (epoch, index).

        The policy ``spans`` adds tokens per sentence, ``sentences``, and sentences per span, ``spans``.
        Arrays may be changed.
        """
        return [
            {name: lists[index].values.to_numpy().astype(np.int64) for name, lists in self.columns.items()}
            | {"epoch": epoch, "index": index}
            for epoch, index in places
        ]


class SpanRows:
    """The spans of all rows of policy ``spans``.

    An example is the span's row. ``index`` is its place among all spans, ``anchor`` its place in the row.
    """

    def __init__(self, folder: Path):
        self.rows = TokenRows(folder)
        self.begins = list_offsets(self.rows.columns["spans"])

    def __len__(self) -> int:
        return int(self.begins[-1])

    def __getitems__(self, places: list[tuple[int, int]]) -> list[dict]:
        rows = [int(np.searchsorted(self.begins, index, side="right")) - 1 for _, index in places]
        row_places = [(epoch, row) for (epoch, _), row in zip(places, rows, strict=True)]
        examples = self.rows.__getitems__(row_places)
        return [
            example | {"index": index, "anchor": int(index - self.begins[row])}
            for example, (_, index), row in zip(examples, places, rows, strict=True)
        ]


EXAMPLES: dict[str, type[TokenRows] | type[SpanRows]] = {"rows": TokenRows, "spans": SpanRows}


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Train ``params["objective"]`` on a tokens artefact and save it in ``model/``.

    An example is a row or, if ``examples`` is ``spans``, each span of a row. The objective may take any
    parameter, e.g. ``length``, and has the inputs ``statistics`` and ``generator`` as options, if given.
    """
    optimisation = declaration.Optimisation.of(params, batch_size=params["texts_per_batch"])
    rows = EXAMPLES[params.get("examples", "rows")](inputs["tokens"])
    if len(rows) == 0:
        raise DataError(f"{inputs['tokens']}: no texts to train on")
    options = dict(params["options"])
    if "statistics" in inputs:
        options["statistics"] = inputs["statistics"]
    if "generator" in inputs:
        options["generator"] = inputs["generator"] / "model"
    start = inputs["model"] / "model"
    return trained(rows, optimisation, params | {"options": options}, start, out, progress)


def trained(examples, optimisation, params: dict, start: Path, out: Path, progress: Progress) -> dict:
    """Train a stage's objective from the model ``start``, save it, and return facts of ``loop.train``."""
    set_seed(params["seed"])
    kind = objective.import_declared("objective", params["objective"])
    if "texts_per_batch" in params:
        model, length = load_masked_lm(start), params["length"]
    else:
        model, length = kind.load(start), max(params.get("query_length", 0), params["passage_length"])
    tokenizer, warmup = load_tokenizer(start), optimisation.warmup(optimisation.steps(len(examples)))
    check_fits(model, tokenizer, length)
    settings = params | {"start": start, "warmup_steps": warmup}
    module = objective.build(kind, model, tokenizer, params["options"], settings=settings)
    execution, memory = declaration.Execution.of(os.environ), declaration.step_memory(module, params)
    facts = loop.train(
        module, examples, optimisation, out=out, progress=progress, execution=execution, memory=memory
    )
    loop.save_model(module, out)
    return facts
