import json

import numpy as np
import pytest
import torch

from repro.progress import Progress
from tests.retrieval.datasets.folders import write_lines
from tests.tiny_models import save_tiny_model, tiny_text

DOCUMENTS, QUERIES = 40, 12


@pytest.fixture
def progress():
    return Progress()


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """40 documents d0…d39 of 3 to 60 words, every fourth without a title."""
    from datasets import Dataset

    generator = np.random.default_rng(11)
    folder = tmp_path_factory.mktemp("corpus")
    rows = {
        "id": [f"d{number}" for number in range(DOCUMENTS)],
        "title": ["" if n % 4 == 0 else tiny_text(generator, 2) for n in range(DOCUMENTS)],
        "text": [tiny_text(generator, int(words)) for words in generator.integers(3, 60, DOCUMENTS)],
    }
    Dataset.from_dict(rows).save_to_disk(str(folder / "arrow"))
    return folder


@pytest.fixture(scope="session")
def queries(tmp_path_factory):
    """12 queries q0…q11."""
    generator = np.random.default_rng(12)
    folder = tmp_path_factory.mktemp("queries")
    records = ({"id": f"q{number}", "text": tiny_text(generator, 4)} for number in range(QUERIES))
    write_lines(folder / "queries.jsonl", records)
    return folder


def bfloat16_products(monkeypatch):
    """Let the CPU search as a GPU does, with products in bfloat16 that are summed in float32."""
    from repro.retrieval.stages.vectors import exact_search, products

    for module in (products, exact_search):
        monkeypatch.setattr(module, "product_type", lambda: torch.bfloat16)
    monkeypatch.setattr(exact_search, "_faiss", lambda *_: None)
    monkeypatch.setattr(products, "multiply_bfloat16", lambda rows, columns: rows.float() @ columns.float())


def folders(root, *names):
    for name in names:
        (root / name).mkdir()
    return [root / name for name in names]


def texts_of(queries) -> list[str]:
    return [json.loads(line)["text"] for line in (queries / "queries.jsonl").read_text().splitlines()]


def logged(folder, name: str) -> list[float]:
    return [json.loads(line)[name] for line in (folder / "train_log.jsonl").read_text().splitlines()]


@pytest.fixture
def judged_training(model, training_set, corpus, queries):
    return {"model": model, "training_set": training_set, "corpus": corpus, "queries": queries}


def save_training_set(folder, rows: list[tuple[str, list[str], list[str]]]):
    """A training set with rows (query, positives, negatives)."""
    from datasets import Dataset, Features, Sequence, Value

    texts = Sequence(Value("string"))
    features = Features({"query": Value("string"), "positives": texts, "negatives": texts})
    columns = {name: [row[place] for row in rows] for place, name in enumerate(features)}
    Dataset.from_dict(columns, features=features).save_to_disk(str(folder / "arrow"))
    return folder


@pytest.fixture(scope="session")
def training_set(tmp_path_factory):
    """q0…q9: positive d<n>, the ten documents after it as negatives."""
    rows = [(f"q{n}", [f"d{n}"], [f"d{n + other}" for other in range(1, 11)]) for n in range(10)]
    return save_training_set(tmp_path_factory.mktemp("training_set"), rows)


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A random BERT of one layer with 32 dimensions."""
    folder = tmp_path_factory.mktemp("model")
    save_tiny_model(folder)
    return folder


@pytest.fixture(scope="session")
def tokens(tmp_path_factory, corpus, model):
    """The corpus in chunks of 24 tokens."""
    from repro.retrieval.stages import tokenize

    folder = tmp_path_factory.mktemp("tokens")
    params = {"length": 24, "policy": "chunk", "titles": True, "separator": " "}
    tokenize.run(params, {"corpus": corpus, "model": model}, folder, Progress())
    return folder


@pytest.fixture(scope="session")
def reranker(tmp_path_factory, model):
    """The model as a cross-encoder, its weights so large that scores differ from passage to passage."""
    import torch

    from repro.retrieval.nn.checkpoint import load_tokenizer, save_model
    from repro.retrieval.nn.cross_encoder import load_cross_encoder

    folder = tmp_path_factory.mktemp("reranker")
    with torch.random.fork_rng():
        torch.manual_seed(5)
        made = load_cross_encoder(model / "model")
    for parameter in made.parameters():
        if parameter.dim() == 2:
            parameter.data *= 8
    save_model(made, load_tokenizer(model / "model"), folder / "model")
    return folder
