"""Shell completion of names, e.g. ``PAPER/1``, readings, scales and datasets."""

from collections.abc import Callable, Iterable, Iterator

from repro.manifest.cells import every_cell, is_measured
from repro.manifest.papers import Paper, papers

SCALES = ("full", "small", "tiny")


def _completer(names: Callable[..., Iterable[str]]) -> Callable[..., list[str]]:
    def complete(ctx, param, incomplete: str) -> list[str]:
        return list(dict.fromkeys(name for name in names(ctx, incomplete) if name.startswith(incomplete)))

    return complete


def _named_papers(ctx) -> list[Paper]:
    words = (*(ctx.params.get("names") or ()), *ctx.args, ctx.params.get("what"))
    return [papers()[word] for word in words if word in papers()] or list(papers().values())


@_completer
def scale_names(ctx, word: str) -> Iterable[str]:
    from repro.running.scale import known_scales

    return known_scales() if word else SCALES


@_completer
def tables(ctx, word: str) -> Iterator[str]:
    for source in _named_papers(ctx):
        yield from (table.id for table in source.manifest.tables)
        yield from (f"figure-{figure.id}" for figure in source.manifest.figures)


@_completer
def rows(ctx, word: str) -> Iterator[str]:
    for c in (cell for source in _named_papers(ctx) for cell in every_cell(source)):
        if is_measured(c) and c.table.id in (ctx.params.get("tables") or [c.table.id]):
            yield from (c.row.system, c.row.id)


@_completer
def names(ctx, word: str) -> Iterable[str]:
    sources = papers().values()
    if word.count("/") == 1:
        return (f"{source.name}/{table.id}" for source in sources for table in source.manifest.tables)
    cells = (cell.id for source in sources for cell in every_cell(source) if is_measured(cell))
    return cells if "/" in word else papers()


@_completer
def readings(ctx, word: str) -> Iterator[str]:
    for reading in {r.id: r for source in _named_papers(ctx) for r in source.readings.values()}.values():
        yield from (f"{reading.id}={choice}" for choice in reading.choices if choice != reading.default)


@_completer
def datasets(ctx, word: str) -> Iterable[str]:
    from repro.retrieval.datasets.catalog import catalog

    return catalog()
