"""Stage ``titles``: a corpus whose titles come from a file of their own."""

from __future__ import annotations

import gzip
from pathlib import Path

from repro.errors import DataError
from repro.progress import Progress


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write the corpus with the titles of ``params["source"]``, lines of ``document id TAB title``.

    A document the file does not name keeps its own title. ``-`` is how the file says that there is none.

    Raises:
        DataError: a line without a tab, or a file that names none of the documents; names file and line.
    """
    from datasets import load_from_disk

    titles = read_titles(Path(params["source"]))
    corpus = load_from_disk(str(inputs["corpus"] / "arrow"))
    used = sum(identifier in titles for identifier in corpus["id"])
    if not used:
        raise DataError(f"{params['source']}: names none of the {len(corpus)} documents of this corpus")

    def replace(batch: dict) -> dict:
        return {"title": [titles.get(i, t) for i, t in zip(batch["id"], batch["title"], strict=True)]}

    titled = corpus.map(replace, batched=True, cache_file_name=str(out / "scratch.arrow"))
    titled.save_to_disk(str(out / "arrow"))
    (out / "scratch.arrow").unlink()
    return {"documents": len(corpus), "titled": used}


def read_titles(path: Path) -> dict[str, str]:
    """Titles by document id. Raises DataError for a line without a tab; names file and line."""
    opened = gzip.open if path.suffix == ".gz" else open
    titles = {}
    with opened(path, "rt", encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            identifier, tab, title = line.rstrip("\r\n").partition("\t")
            if not tab:
                raise DataError(f"{path}:{number}: no tab between document id and title")
            titles[identifier] = "" if title == "-" else title
    return titles
