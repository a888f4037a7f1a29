"""Table 2's multiples of steps against the operations of a step of each objective."""

import numpy as np
import pytest

from benchmarks.needed_operations import needed_operations
from repro.graph import walk
from repro.progress import SILENT
from repro.retrieval.nn.checkpoint import load_masked_lm, load_tokenizer
from repro.retrieval.stages import initialise, term_statistics
from repro.retrieval.stages.pretrain import TokenRows
from repro.retrieval.training.objective import build, import_declared
from tests.papers.head_to_head.test_recipes import OBJECTIVES, TABLES, planned, trained
from tests.tiny_models import SPECIAL

TEXTS, SPANS = 8, 6


@pytest.fixture(scope="module")
def operations(tmp_path_factory):
    """Those that a step of Table 1 needs, by row: of made-up texts at the sizes of small-cpu."""
    rows = planned("small-cpu")["1"]
    inputs = _inputs(tmp_path_factory.mktemp("operations"), trained(rows["cpdae"], "pretrain"))
    return {row: _needed(trained(rows[row], "pretrain"), inputs) for row in OBJECTIVES}


def test_every_pretraining_of_equal_flops_has_as_many_as_cpdae_at_equal_tokens(operations):
    multiples = {row.id: row.with_.get("steps", 1) for row in TABLES["2"].rows}
    wanted = {row: operations["cpdae"] / operations[row] for row in OBJECTIVES}
    assert {row: multiples[row] for row in OBJECTIVES} == pytest.approx(wanted, rel=0.05)


def _needed(node, inputs):
    from transformers import set_seed

    start = inputs["model"] / "model"
    others = {"statistics": inputs["statistics"], "generator": start}
    options = node.params["options"] | {name: others[name] for name in others if name in node.inputs}
    kind = import_declared("objective", node.params["objective"])
    set_seed(1)
    objective = build(kind, load_masked_lm(start), load_tokenizer(start), options, settings=node.params)
    policy = "spans" if node.inputs["tokens"].params["policy"] == "spans" else "chunks"
    examples = TokenRows(inputs[policy]).__getitems__([(0, row) for row in range(TEXTS)])
    return needed_operations(objective, examples) * node.params["texts_per_batch"] / TEXTS


def _inputs(folder, node):
    from datasets import Dataset
    from transformers import BertTokenizer

    [blank] = (each for each in walk([node]) if each.stage == "initialise")
    size, length = blank.inputs["tokenizer"].params["size"], node.params["length"] - 2
    words = [f"##{n}" if n % 4 == 0 else f"w{n}" for n in range(size - len(SPECIAL))]
    vocabulary = {word: place for place, word in enumerate((*SPECIAL, *words))}
    names = ("tokenizer", "model", "chunks", "spans", "statistics")
    inputs = {name: folder / name for name in names}
    inputs["statistics"].mkdir()
    BertTokenizer(vocab=vocabulary).save_pretrained(inputs["tokenizer"] / "model")
    initialise.run(blank.params, {"tokenizer": inputs["tokenizer"]}, inputs["model"], SILENT)
    generator = np.random.default_rng(1)
    for kind, spans in (("chunks", 1), ("spans", SPANS)):
        ids = generator.integers(len(SPECIAL), size, (TEXTS, spans * length)).tolist()
        columns = {"input_ids": ids}
        if kind == "spans":
            columns |= {"sentences": [[length] * spans] * TEXTS, "spans": [[1] * spans] * TEXTS}
        Dataset.from_dict(columns).save_to_disk(str(inputs[kind] / "arrow"))
    read = {"tokens": inputs["chunks"], "model": inputs["model"]}
    term_statistics.run({}, read, inputs["statistics"], SILENT)
    return inputs | {"generator": inputs["model"]}
