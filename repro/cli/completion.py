"""Shell completion of papers, tables, rows, cells, readings, scales and datasets, e.g. ``PAPER/1``."""

from collections.abc import Iterable, Iterator

from repro.manifest.cells import Cell, every_cell, is_measured
from repro.manifest.papers import Paper, papers


def paper_names(ctx, param, incomplete: str) -> list[str]:
    """Complete the name of a paper."""
    return _matches(papers(), incomplete)


SCALES = ("full", "small", "tiny")  # suggested before a first letter


def scale_names(ctx, param, incomplete: str) -> list[str]:
    """Complete the name of a scale."""
    from repro.running.scale import known_scales

    return _matches(known_scales() if incomplete else SCALES, incomplete)


def tables(ctx, param, incomplete: str) -> list[str]:
    """Complete a table or figure of the papers named so far, or of all papers."""
    tables = (table.id for source in _papers(ctx) for table in source.manifest.tables)
    figures = (f"figure-{figure.id}" for source in _papers(ctx) for figure in source.manifest.figures)
    return _matches((*tables, *figures), incomplete)


def rows(ctx, param, incomplete: str) -> list[str]:
    """Complete a system or row with a measurable cell of the papers and tables named so far."""
    table_ids = ctx.params.get("tables") or ()
    candidates = [c for c in _cells(_papers(ctx)) if not table_ids or c.table.id in table_ids]
    return _matches((name for c in candidates for name in (c.row.system, c.row.id)), incomplete)


def cells(ctx, param, incomplete: str) -> list[str]:
    """Complete the full name of a cell, e.g. ``PAPER/1/ROW/COLUMN``."""
    return _matches((c.id for c in _cells(papers().values())), incomplete)


def papers_and_cells(ctx, param, incomplete: str) -> list[str]:
    """Complete a paper, or a cell after a slash."""
    return (cells if "/" in incomplete else paper_names)(ctx, param, incomplete)


def names(ctx, param, incomplete: str) -> list[str]:
    """Complete a paper, a table after a slash, or a cell after two slashes."""
    by_slashes = (paper_names, paper_tables, cells)
    return by_slashes[min(incomplete.count("/"), 2)](ctx, param, incomplete)


def places(ctx, param, incomplete: str) -> list[str]:
    """Complete a paper, or one of its tables and rows after a slash."""
    if "/" not in incomplete:
        return paper_names(ctx, param, incomplete)
    paths = [c.id.split("/") for c in _cells(papers().values())]
    return _matches(("/".join(parts[:depth]) for depth in (2, 3) for parts in paths), incomplete)


def paper_tables(ctx, param, incomplete: str) -> list[str]:
    """Complete ``PAPER/N``."""
    paths = (f"{name}/{table.id}" for name, source in papers().items() for table in source.manifest.tables)
    return _matches(paths, incomplete)


def readings(ctx, param, incomplete: str) -> list[str]:
    """Complete ``ID=CHOICE`` with the other choices of the papers named so far."""
    by_id = {reading.id: reading for source in _papers(ctx) for reading in source.readings.values()}
    pairs = (f"{r.id}={choice}" for r in by_id.values() for choice in r.choices if choice != r.default)
    return _matches(pairs, incomplete)


def datasets(ctx, param, incomplete: str) -> list[str]:
    """Complete the id of a dataset of the catalogue."""
    from repro.retrieval.datasets.catalog import catalog

    return _matches(catalog(), incomplete)


def _matches(names: Iterable[str], incomplete: str) -> list[str]:
    return list(dict.fromkeys(name for name in names if name.startswith(incomplete)))


def _papers(ctx) -> list[Paper]:
    words = (*(ctx.params.get("names") or ()), *ctx.args, ctx.params.get("what"))
    return [papers()[word] for word in words if word in papers()] or list(papers().values())


def _cells(sources: Iterable[Paper]) -> Iterator[Cell]:
    for source in sources:
        yield from filter(is_measured, every_cell(source))
