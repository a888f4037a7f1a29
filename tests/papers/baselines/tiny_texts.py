from __future__ import annotations

import json

import numpy as np

from tests.tiny_models import tiny_text, tiny_tokenizer


def ids(text: str) -> np.ndarray:
    return np.array(tiny_tokenizer()(text, add_special_tokens=False)["input_ids"], dtype=np.int64)


def written(input_ids) -> str:
    return " ".join(tiny_tokenizer().convert_ids_to_tokens(list(input_ids))).replace(" ##", "")


def texts(count: int, *, words: int = 40, seed: int = 5) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [ids(tiny_text(generator, int(generator.integers(1, words + 1)))) for _ in range(count)]


def rows(count: int = 5, *, words: int = 40, epoch: int = 0) -> list[dict]:
    generator = np.random.default_rng(5)
    return [
        {"input_ids": ids(tiny_text(generator, words)), "index": index, "epoch": epoch}
        for index in range(count)
    ]


def save_statistics(folder, counted: list[np.ndarray]):
    folder.mkdir(exist_ok=True)
    size = len(tiny_tokenizer())
    np.save(folder / "collection_frequency.npy", sum(np.bincount(one, minlength=size) for one in counted))
    np.save(
        folder / "document_frequency.npy", sum(np.bincount(np.unique(one), minlength=size) for one in counted)
    )
    counts = {"texts": len(counted), "tokens": sum(map(len, counted))}
    (folder / "counts.json").write_text(json.dumps(counts))
    return folder
