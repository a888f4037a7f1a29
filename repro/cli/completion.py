"""Shell completion of names, e.g. ``PAPER/1``, readings, scales and datasets."""

from collections.abc import Callable, Iterable, Iterator

from repro.manifest.cells import Cell, every_cell, is_measured
from repro.manifest.papers import Paper, papers

SCALES = ("full", "small", "tiny")


def _completer(names: Callable[..., Iterable[str]]) -> Callable[..., list[str]]:
    def complete(ctx, param, incomplete: str) -> list[str]:
        return list(dict.fromkeys(name for name in names(ctx, incomplete) if name.startswith(incomplete)))

    return complete


def _papers(ctx) -> list[Paper]:
    words = (*(ctx.params.get("names") or ()), *ctx.args, ctx.params.get("what"))
    return [papers()[word] for word in words if word in papers()] or list(papers().values())


def _cells(sources: Iterable[Paper]) -> Iterator[Cell]:
    for source in sources:
        yield from filter(is_measured, every_cell(source))


def _ids() -> Iterator[str]:
    return (c.id for c in _cells(papers().values()))


paper_names = _completer(lambda ctx, word: papers())
cells = _completer(lambda ctx, word: _ids())
papers_and_cells = _completer(lambda ctx, word: _ids() if "/" in word else papers())


@_completer
def scale_names(ctx, word: str) -> Iterable[str]:
    from repro.running.scale import known_scales

    return known_scales() if word else SCALES


@_completer
def tables(ctx, word: str) -> Iterator[str]:
    for source in _papers(ctx):
        yield from (table.id for table in source.manifest.tables)
        yield from (f"figure-{figure.id}" for figure in source.manifest.figures)


@_completer
def rows(ctx, word: str) -> Iterator[str]:
    for c in _cells(_papers(ctx)):
        if c.table.id in (ctx.params.get("tables") or [c.table.id]):
            yield from (c.row.system, c.row.id)


@_completer
def names(ctx, word: str) -> Iterable[str]:
    """Complete ``PAPER``, ``PAPER/TABLE`` or a cell."""
    if word.count("/") == 1:
        return (f"{name}/{table.id}" for name, p in papers().items() for table in p.manifest.tables)
    return _ids() if "/" in word else papers()


@_completer
def places(ctx, word: str) -> Iterable[str]:
    """Complete ``PAPER``, ``PAPER/TABLE`` or ``PAPER/TABLE/ROW``."""
    paths = [id.split("/") for id in _ids()] if "/" in word else []
    return ("/".join(parts[:depth]) for depth in (2, 3) for parts in paths) if paths else papers()


@_completer
def readings(ctx, word: str) -> Iterator[str]:
    """Complete ``ID=CHOICE`` for choices other than the default."""
    for reading in {r.id: r for source in _papers(ctx) for r in source.readings.values()}.values():
        yield from (f"{reading.id}={choice}" for choice in reading.choices if choice != reading.default)


@_completer
def datasets(ctx, word: str) -> Iterable[str]:
    from repro.retrieval.datasets.catalog import catalog

    return catalog()
