"""Stage ``inspect_text``: a value that a model gives to each word of one document."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import pyarrow.compute as pc

from repro.errors import StageError
from repro.progress import Progress
from repro.retrieval.datasets.arrow import read_rows
from repro.retrieval.training.objective import import_declared

View = Callable[..., list[tuple[str, float]]]


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``exhibit.json``: the words of a text with a value each, e.g. ``["cell", 0.7]``.

    The text is the first ``words`` words of the document titled ``title``, or of the first document if none
    is. ``view`` names a function of the model's folder and the text, with ``length`` and ``options`` as
    keywords.
    """
    view: View = import_declared("view", params["view"])
    corpus = read_rows(inputs["corpus"])
    place = pc.index(corpus.data.column("title"), params["title"]).as_py()  # -1 if there is none
    document, present = corpus[max(place, 0)], place >= 0
    text = " ".join(document["text"].split()[: params["words"]])
    options = {"length": params["length"], **params["options"]}
    folder = inputs["model"] / "model"
    words = [(word, float(value)) for word, value in view(folder, text, **options)]
    if bad := [word for word, value in words if not math.isfinite(value)]:
        raise StageError(f"the value of {bad[0]!r} is not finite (bad weights or an overflow)")
    exhibit = {
        "kind": "shaded-words",
        "title": document["title"],
        "wanted": params["title"],
        "found": present,
        "words": words,
    }
    content = json.dumps(exhibit, ensure_ascii=False, sort_keys=True)
    (out / "exhibit.json").write_text(content, encoding="utf-8")
    return {"document": document["id"], "found": present, "words": len(words)}
