"""Every stage on small inputs, and its output reduced to parts that are the same on every machine.

Stages that add up floats are compared by mean, mean magnitude and a projection; trainings by their losses,
since Adam makes whole steps of a gradient that is zero but for rounding; a t-SNE by ``measured``.
"""

import hashlib
import importlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from repro.progress import Progress
from repro.retrieval.evaluation.run_writer import write_run
from repro.running.recomputation import content
from repro.stage_table import STAGES
from repro.store.disk import BLOCKS, sha256
from tests.recorded import Recorded, close
from tests.retrieval.datasets.folders import planned, write, write_lines
from tests.retrieval.stages.conftest import texts_of
from tests.retrieval.stages.views_made_up import save_views
from tests.stage_inputs import fine_tuning, pretraining, texts_and_model

TABLE = Recorded(Path(__file__).with_name("outputs.json"), "repro/stage_table.py")
# what takes seconds to start, Java or a compiler, is looked at in the stage's own tests, which have an output
ELSEWHERE = ("compare", "lucene_index", "bm25")
TRAININGS = ("pretrain", "finetune")
WITH_WEIGHTS = ("backbone", "released", "initialise", "encode", "encode_views", "encode_by_library")
WITH_WEIGHTS += ("score_pairs", "rerank")
# of stages that add up floats: the share of the mean magnitude by which a number may differ
TOLERANCES = dict.fromkeys((*WITH_WEIGHTS, *TRAININGS, "project"), 1e-4)
TOLERANCES |= {"evaluate": 1e-9, "compare": 1e-9}  # logarithms, distributions
# a library's own words, the description of a method, what tells of the work and not of its result
LEFT_OUT = ("config.json", "tokenizer_config.json", "special_tokens_map.json", "run.ir_metadata.yml")
LEFT_OUT += ("lucene.log", "state.json", "dataset_info.json")
SCRATCH = ("lucene/", f"{BLOCKS}/")
PICTURE = ("project", "exhibit.json")
TRIPLES, LISTED = "msmarco-passage/train/triples-v2", "msmarco-passage/train/hard-negatives"
FP32 = {"precision": "fp32"}
POSITIONS = {"cls": False, "sep": False}


def word_lengths(folder: Path, text: str, *, length: int) -> list[tuple[str, float]]:
    return [(word, len(word) / length) for word in text.split()]


word_lengths.name, word_lengths.version = "lengths", 1


def reduced(stage: str, out: Path, facts: dict) -> dict:
    """Reduce an artefact to a ``digest`` and ``numbers``: name -> number, allowance."""
    equal, numbers, tolerance = {"facts": _counts(facts)}, {}, TOLERANCES.get(stage)
    for path in sorted(p for p in out.rglob("*") if p.is_file() and p.name not in LEFT_OUT):
        name = path.relative_to(out).as_posix()
        if path.name == "train_log.jsonl":
            losses = [json.loads(line)["loss"] for line in path.read_text().splitlines()]
            steps = ((f"loss of step {number}", loss) for number, loss in enumerate(losses, 1))
            numbers |= close(steps, share=tolerance)
        elif path.name == "tokenizer.json":
            equal[name] = json.loads(path.read_text(encoding="utf-8"))["model"]["vocab"]
        elif not (stage in TRAININGS or name.startswith(SCRATCH) or (stage, name) == PICTURE):
            structure, floats = content(path)
            equal[name] = repr(structure) + ("" if tolerance else repr(floats.tolist()))
            numbers |= _summary(name, floats.astype(np.float64).ravel(), tolerance) if tolerance else {}
    if stage == "project":
        numbers |= close(facts.items(), share=tolerance)
    text = json.dumps(equal, sort_keys=True)
    return {"digest": hashlib.sha256(text.encode()).hexdigest(), "numbers": numbers}


def _counts(facts: dict) -> dict:
    return {n: value for n, value in facts.items() if isinstance(value, int) and n != "peak_memory_kib"}


def _summary(name: str, numbers: np.ndarray, tolerance: float) -> dict[str, list[float]]:
    if not len(numbers):
        return {}
    magnitude = float(np.abs(numbers).mean())
    projection = float((numbers * np.cos(np.arange(len(numbers)))).mean())
    values = {"mean": float(numbers.mean()), "magnitude": magnitude, "projection": projection}
    return {f"{name}: {kind}": [value, tolerance * magnitude] for kind, value in values.items()}


def check(stage: str, out: Path, facts: dict, *, renew: bool) -> None:
    """Hold an output against the table, or put it there; a changed one only under a higher version."""
    TABLE.check(stage, STAGES[stage].version, reduced(stage, out, facts), renew=renew)


class Outputs:
    """Runs stages below a folder; ``made`` has the reduced output of each by its name."""

    def __init__(self, root: Path):
        self.root = root
        self.made: dict[str, dict] = {}

    def run(self, stage: str, params: dict, **inputs) -> Path:
        out = self.folder(stage)
        run: Callable = importlib.import_module(f"repro.retrieval.stages.{stage}").run
        facts = run(params, inputs, out, Progress()) or {}
        self.made[stage] = reduced(stage, out, facts)
        return out

    def folder(self, name: str) -> Path:
        path = self.root / name
        path.mkdir()
        return path

    def sources(self) -> None:
        for stage in ("corpus", "queries", "qrels"):
            self.run(stage, planned(stage, dataset="tiny/wiki" if stage == "corpus" else "tiny/wiki/dev"))
        triples = [(q, p, str(n)) for q, p in (("30", "7"), ("4", "8"), ("30", "9")) for n in range(10, 60)]
        file = "msmarco-passage/qidpidtriples.train.full.2.tsv"
        write(self.root / file, "".join("\t".join(row) + "\n" for row in triples))
        how = {"dataset": TRIPLES, "per_query": 30, "seed": 1}
        self.run("official_negatives", planned("official_negatives", self.root, **how))
        negatives = {"bm25": [{"pid": str(n), "ce-score": n - 9.5} for n in range(12)]}
        listed = [{"qid": q, "pos": [{"pid": "99", "ce-score": 4.0}], "neg": negatives} for q in ("30", "4")]
        write_lines(self.root / "msmarco-passage/msmarco-hard-negatives.jsonl", listed)
        how = {"dataset": LISTED, "margin": 3.0, "per_system": 5, "systems": None}
        self.run("listed_negatives", planned("listed_negatives", self.root, **how))
        theirs = write(self.root / "theirs", "q Q0 a 0 1 t\nq Q0 c 1 1 t\nq Q0 b 2 2 t\n")
        how = {"dataset": "some/topics", "sha256": sha256(theirs), "name": "theirs", "source": str(theirs)}
        self.run("imported_run", how)

    def models(self, model: Path, corpus: Path, weigher: Path) -> None:
        source = {"source": {"kind": "folder", "path": str(model / "model")}}
        source |= {"name": "a/b", "revision": "main"}
        self.run("backbone", planned("backbone", **source))
        self.run("released", planned("released", **source, kind="splade", pooling="cls"))
        how = {"kind": "passages", "kind_of_encoder": "dense", "similarity": "cosine", "separator": " "}
        how |= dict.fromkeys(("prompt", "pooling", "length", "truncate_dim", "precision"))
        self.run("encode_by_library", planned("encode_by_library", **source, **how, cap=32), texts=corpus)
        how = {"length": 24, "scale": 100, "precision": "fp32"}
        self.run("weigh_terms", how, model=weigher, corpus=corpus)
        self.run("vocabulary", {"size": 120}, corpus=corpus)
        size = {"hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 32, "max_positions": 64}
        self.run("initialise", size | {"dropout": 0, "seed": 42}, tokenizer=model)
        how = {"length": 24, "policy": "chunk", "titles": True, "separator": " "}
        self.run("tokenize", how, corpus=corpus, model=model)
        view = {"name": "lengths", "version": 1, "path": f"{__name__}:word_lengths"}
        how = {"view": view, "options": {}, "title": "none", "words": 5, "length": 24}
        self.run("inspect_text", how, model=model, corpus=corpus)

    def trainings(self, corpus: Path, queries: Path, training_set: Path) -> None:
        generator = np.random.default_rng(5)
        rows = [{"input_ids": generator.integers(5, 77, 20).tolist()} for _ in range(40)]
        given = texts_and_model(self.folder("training"), rows)
        from tests.tiny_models import tiny_masked_lm

        tiny_masked_lm(dropout=0.0).save_pretrained(given["model"] / "model")
        self.run("term_statistics", {}, **given)
        options = {"masking": {"rate": 0.15, "mask": 0.8, "random": 0.1}, "reduction": "mean"}
        path = "repro.retrieval.nn.objectives:MaskedLanguageModel"
        self.run("pretrain", pretraining("mlm", path, options, max_steps=4), **given)
        options = {"temperature": 1.0, "similarity": "dot", "negatives": "in-batch"}
        options |= {"projector": "none", "projector_start": "new"}
        path = "repro.retrieval.nn.bi_encoder:BiEncoderContrastive"
        how = fine_tuning("contrastive", path, options, max_steps=4)
        pairs = {"corpus": corpus, "queries": queries, "training_set": training_set}
        self.run("finetune", how, model=given["model"], **pairs)

    def with_weights(
        self, model: Path, viewed: Path, reranker: Path, corpus: Path, queries: Path, training_set: Path
    ) -> None:
        how = {"kind": "passages", "length": 32, "separator": "[SEP]", "normalize": False} | FP32
        self.run("encode", how | {"pooling": "cls"}, model=model, texts=corpus)
        views = {"views": ["dense", "sparse"], "top_k": 12, "positions": POSITIONS, "head": "transform"}
        self.run("encode_views", how | views, model=viewed, texts=corpus)
        how = {"length": 32, "separator": ": ", "decimals": None} | FP32
        texts = {"model": reranker, "corpus": corpus, "queries": queries}
        self.run("score_pairs", how | {"per_query": 4}, **texts, training_set=training_set)
        run = {f"q{n}": [(f"d{(3 * n + rank) % 40}", 50.0 - rank) for rank in range(20)] for n in range(5)}
        write_run(first := self.folder("first"), run, tag="first")
        self.run("rerank", how | {"depth": 8, "keep": 12}, **texts, run=first)

    def rankings(self, corpus: Path, queries: Path, training_set: Path) -> None:
        generator = np.random.default_rng(6)
        sides = {}
        for name, prefix, count in (("passages", "d", 40), ("queries", "q", 12)):
            dense, sparse = (generator.integers(-64, 65, (count, 8)) / 64 for _ in range(2))
            views = {"dense": dense, "sparse": np.maximum(sparse, 0)}
            sides[name] = save_views(self.root / f"sides/{name}", prefix, **views)
        run = self.run("search", {"depth": 20}, **sides)
        how = {"depth": 20, "terms": ["dense", "sparse"], "mode": "exact", "list_depth": None}
        self.run("search_views", how, **sides)
        self.run("index_size", {"bytes_per_number": 4, "bytes_per_gb": 1000}, passages=sides["passages"])
        qrels = self.folder("judgements")
        lines = (f"q{q} 0 d{(5 * q + place) % 40} {place % 3}\n" for q in range(12) for place in range(9))
        write(qrels / "qrels.trec", "".join(lines))
        judged = {"run": run, "qrels": qrels}
        measures = {"measures": ["RR@10", "nDCG@10", "R@20"], "ignore_identical_ids": False}
        self.run("evaluate", measures | {"judgements": "qrels"}, **judged)
        how = {"depth": 15, "per_query": 6, "seed": 42, "random_added": 2}
        self.run("mine", how, **judged, corpus=corpus)
        self.run("judged_examples", {"negative_grade": 0}, qrels=qrels)
        self.run("union", {}, training_sets=[training_set, training_set])
        how = {"queries": 4, "sample": 1, "method": "random", "seed": 3}
        self.run("sample", how, training_set=training_set)
        how = {"query": "q3", "candidates": 15, "grade": 1, "perplexity": 5.0, "seed": 42, "method": "t-sne"}
        self.run("project", how, **judged, **sides)
        texts = {"queries": queries, "corpus": corpus}
        how = {"queries": texts_of(queries)[:2], "depth": 2}
        self.run("top_passages", how, **judged, **texts)
        self._answers(judged, corpus)

    def _answers(self, judged: dict[str, Path], corpus: Path) -> None:
        questions = self.folder("questions")
        lines = ({"id": f"q{n}", "text": "?", "answers": ["river", "queen"][: 1 + n % 2]} for n in range(12))
        write_lines(questions / "queries.jsonl", lines)
        how = {"depth": 20, "per_query": 8, "seed": 1, "extra_positives": True}
        self.run("mine_answers", how, **judged, corpus=corpus, queries=questions)
