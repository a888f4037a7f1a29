"""``repro show`` without a name."""

from collections.abc import Iterable, Iterator

from repro.api.papers import PublishedPaper, papers
from repro.cli.printing import emit_json, say, table
from repro.manifest.cells import count_in_words, every_cell

HEAD = ("what", "kind", "cells", "recipe", "about")


def show(*, as_json: bool) -> None:
    """Print every table and figure of every paper, with its published cells and those that a recipe measures.

    JSON has the whole of what each is about.
    """
    rows = {source: list(_entries(source)) for source in papers().values()}
    if as_json:
        names = ("paper", *HEAD)
        return emit_json([dict(zip(names, (s.name, *r), strict=True)) for s in rows for r in rows[s]])
    for source, entries in rows.items():
        title = f"{source.name}: {source.title} ({source.source.manifest.venue})"
        lines = [_line(entry) for entry in entries]
        table(f"{title}, {_count([source])}", ["", *HEAD[1:]], lines, drop=(3, 1, 2))
    say(f"{_count(rows)}.")


def _count(sources: Iterable[PublishedPaper]) -> str:
    return count_in_words(cell for source in sources for cell in every_cell(source.source))


def _line(entry: tuple) -> list[str]:
    """The words of an entry, with the first sentence of what it is about; ``repro show`` has the others."""
    *values, about = entry
    return [*(str(value or "") for value in values), about.partition(". ")[0]]


def _entries(source: PublishedPaper) -> Iterator[tuple]:
    """The values below ``HEAD`` of each table and figure."""
    for number, item in source.tables.items():
        cells = [c for c in item.cells if c.counted_as == "published"]
        recipes = sum(bool(c.recipe) for c in cells)
        yield f"table {number}", item.content.kind, len(cells), recipes, item.about
    for figure in source.source.manifest.figures:
        yield f"figure {figure.id}", "figure", 0, int(figure.is_measured), figure.about
