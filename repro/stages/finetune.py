"""Stage ``finetune``: an encoder trained on judged queries with negatives."""

from __future__ import annotations

import json
from pathlib import Path

from repro.errors import DataError
from repro.progress import Progress


class Groups:
    """Queries of a training set, each with one positive and some negatives, chosen anew every epoch.

    Attributes:
        left_out: rows without a positive or, where negatives are asked for, without a negative.
    """

    def __init__(self, training_set: Path, corpus: Path, queries: Path, *, passages: int, seed: int):
        from datasets import load_from_disk

        rows = load_from_disk(str(training_set / "arrow")).data
        self.corpus = load_from_disk(str(corpus / "arrow")).select_columns(["title", "text"])
        ids = load_from_disk(str(corpus / "arrow")).data.column("id")
        self.positives = _as_rows(rows.column("positives"), ids, training_set)
        self.negatives = _as_rows(rows.column("negatives"), ids, training_set)
        self.queries = _texts(queries, rows.column("query").to_pylist(), training_set)
        self.passages, self.seed = passages, seed
        kept = self.positives.lengths() > 0
        if passages > 1:
            kept &= self.negatives.lengths() > 0
        self.kept = kept.nonzero()[0]
        self.left_out = len(self.queries) - len(self.kept)

    def __len__(self) -> int:
        return len(self.kept)

    def __getitems__(self, places: list[tuple[int, int]]) -> list[dict]:
        """``{"query": str, "passages": [{"title", "text"}, …], "epoch", "index"}``, the positive first."""
        from repro.nn.negatives import group

        examples = []
        for epoch, place in places:
            index = int(self.kept[place])
            chosen = group(
                self.positives[index],
                self.negatives[index],
                passages=self.passages,
                seed=self.seed,
                index=index,
                epoch=epoch,
            )
            found = self.corpus[chosen]
            passages = [{"title": a, "text": b} for a, b in zip(found["title"], found["text"], strict=True)]
            query = self.queries[index]
            examples.append({"query": query, "passages": passages, "epoch": epoch, "index": index})
        return examples


class _Lists:
    """Lists of corpus rows, end to end in one array."""

    def __init__(self, values, offsets):
        self.values, self.offsets = values, offsets

    def __getitem__(self, index: int):
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def lengths(self):
        return self.offsets[1:] - self.offsets[:-1]


def _as_rows(lists, ids, training_set: Path) -> _Lists:
    """A column of lists of document ids to lists of rows of the corpus, joined inside Arrow."""
    import numpy as np
    import pyarrow.compute as pc

    documents, lengths = pc.list_flatten(lists), pc.list_value_length(lists).to_numpy()
    found = pc.index_in(documents, value_set=ids.combine_chunks())
    if found.null_count:
        missing = documents.filter(pc.is_null(found))[0].as_py()
        raise DataError(
            f"{training_set}: document {missing!r} is not in the corpus ({found.null_count} are not)"
        )
    return _Lists(found.to_numpy(), np.concatenate(([0], np.cumsum(lengths))))


def _texts(queries: Path, wanted: list[str], training_set: Path) -> list[str]:
    with open(queries / "queries.jsonl", encoding="utf-8") as file:
        texts = {record["id"]: record["text"] for record in map(json.loads, file)}
    missing = next((query for query in wanted if query not in texts), None)
    if missing is not None:
        raise DataError(f"{training_set}: query {missing!r} is not among the queries")
    return [texts[query] for query in wanted]


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Train ``params["objective"]`` on groups of passages and keep the encoder in ``model/``.

    A batch is ``queries_per_batch`` queries with ``passages_per_query`` passages each, all on one device. The
    objective is made with ``params["options"]``, ``pooling``, ``query_length``, ``passage_length``,
    ``separator`` and ``start``, the directory of the starting model. An interrupted attempt in ``out`` is
    resumed.

    Raises:
        BlockedError: half precision without a GPU.
        UsageError: the objective is not the declared one, or does not take these options, or the model
            has too few positions.
        DataError: a model cannot be read, a document or query is missing, or no query has what it needs.
        StageError: a loss is not finite.
    """
    from transformers import set_seed

    from repro.nn.checkpoint import check_length, load_encoder, load_tokenizer
    from repro.objective import built, import_objective
    from repro.train import Settings, train

    settings = Settings.of(params, batch_size=params["queries_per_batch"])
    groups = Groups(
        inputs["training_set"],
        inputs["corpus"],
        inputs["queries"],
        passages=params["passages_per_query"],
        seed=params["seed"],
    )
    if len(groups) == 0:
        raise DataError(f"{inputs['training_set']}: no query has both a positive and a negative")
    set_seed(params["seed"])
    start = inputs["model"] / "model"
    model = load_encoder(start)
    check_length(model, max(params["query_length"], params["passage_length"]))
    shapes = {name: params[name] for name in ("pooling", "query_length", "passage_length", "separator")}
    kind = import_objective(params["objective"])
    options = params["options"] | shapes | {"start": start}
    objective = built(kind, model, load_tokenizer(start), options)
    facts = train(objective, groups, settings, out=out, progress=progress)
    objective.save(out / "model")
    return facts | {"queries_left_out": groups.left_out}
