"""Everything a manifest holds as flat objects: cells, dashes, words, hyper-parameters, examples, figures."""

from collections.abc import Iterator

from repro.manifest.cells import cells_of
from repro.manifest.papers import Paper

_PLACE = "group row label column head dataset measure"
_NUMBER = "printed value decimals unit bold marks delta role grade recipe"
_EMPTY = dict.fromkeys(f"{_PLACE} {_NUMBER}".split()) | {"head": [], "printed": "", "marks": ""}


def every_entry(source: Paper) -> Iterator[dict]:
    """One object per cell of any kind, per example and per figure; keys as of ``Cell.as_json``."""
    for cell in cells_of(source):
        yield cell.as_json()
    for table in source.manifest.tables:
        for number, entry in enumerate(table.entries, 1):
            place = {"id": f"{source.name}/{table.id}/{number}", "paper": source.name, "table": table.id}
            yield {**place, **_EMPTY, "label": entry.query or table.about, "kind": table.kind}
    for figure in source.manifest.figures:
        place = {"id": f"{source.name}/figure-{figure.id}", "paper": source.name, "table": None}
        yield {**place, **_EMPTY, "label": figure.about, "kind": "figure"}
