"""Stage ``inspect_text``: what a model says of each word of one document."""

from __future__ import annotations

import inspect
import json
import math
from pathlib import Path

from repro.errors import DataError, StageError, UsageError
from repro.progress import Progress


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``exhibit.json``: the words of a text with a value each.

    The text is the first ``words`` words of the document titled ``title``, or of the first document where
    there is none. The values come from ``view`` ({name, version, path}), a function of the model's folder and
    the text, with ``length`` and ``options``.

    Raises:
        UsageError: there is no such view, or its options are others.
        DataError: the corpus is empty, or the model is none that the view can read.
        StageError: a value is not finite.
    """
    from datasets import load_from_disk

    from repro.objective import import_objective

    view = import_objective(params["view"])
    corpus = load_from_disk(str(inputs["corpus"] / "arrow"))
    if len(corpus) == 0:
        raise DataError(f"{inputs['corpus']}: no document to look at")
    place, found = _place(corpus, params["title"])
    document = corpus[place]
    text = " ".join(document["text"].split()[: params["words"]])
    try:
        inspect.signature(view).bind("", text, length=params["length"], **params["options"])
    except TypeError as error:
        raise UsageError(f"view {view.name!r}: {error}") from error
    words = view(inputs["model"] / "model", text, length=params["length"], **params["options"])
    if not all(math.isfinite(value) for _, value in words):
        raise StageError(f"view {view.name!r} gives a word a value that is not finite")
    exhibit = {
        "kind": "shaded-words", "title": document["title"], "found": found,
        "words": [[word, float(value)] for word, value in words],
    }  # fmt: skip
    text = json.dumps(exhibit, ensure_ascii=False, sort_keys=True)
    (out / "exhibit.json").write_text(text, encoding="utf-8")
    return {"document": document["id"], "found": found, "words": len(words)}


def _place(corpus, title: str) -> tuple[int, bool]:
    """The row of the document with a title, joined inside Arrow: there are millions."""
    import pyarrow.compute as pc

    place = pc.index(corpus.data.column("title"), title).as_py()
    return (0, False) if place < 0 else (place, True)
