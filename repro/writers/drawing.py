"""Figures drawn from measured cells and stored exhibits: which panels and lines each has."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from repro.hooks import ask
from repro.manifest.cells import figure_of
from repro.manifest.schema import Column, Figure, Line
from repro.retrieval.evaluation.p_values import unpaired_t_test
from repro.running.plan import Plan
from repro.store import Store, read_json
from repro.verdicts.compared import ComparedCell
from repro.verdicts.summary import conditions, doubt_kinds
from repro.writers import figures


def draw_curves(
    compared: Sequence[ComparedCell], folder: Path, *, hours: Mapping[str, float]
) -> Iterator[Path]:
    """Every figure that is measured point by point, where at least one point was.

    Args:
        hours: of training, by cell; what is known goes beside the numbers.
    """
    cells = [c for c in compared if c.cell.table.kind == "figure"]
    for (name, identifier), group in groupby(cells, key=lambda c: (c.cell.paper.name, c.cell.table.id)):
        points = list(group)
        if any(c.measured is not None for c in points):
            path = folder / f"{name}-{identifier.replace('-', '')}.svg"
            figure = figure_of(points[0].cell.paper, identifier.removeprefix("figure-"))
            panels = _panels(figure, points, hours)
            note = "; ".join(filter(None, (*_notes(figure, points), *_tests(figure, panels))))
            figures.curves(panels, path, note=note)
            yield path
            for more in ask().drawings(figure=figure, points=points, path=path, note=note):
                yield from more


def _notes(figure: Figure, points: Sequence[ComparedCell]) -> Iterator[str]:
    """Yield what a reader has to know of the points of a figure; empty where there is nothing to say."""
    readings = {k: v for c in points for record in c.records for k, v in record.readings.items()}
    how = conditions(points)
    yield from (_note(points[0].scale, readings), how, _shared_note(points) if how else "")
    yield f"in brackets: {figure.trend.across}" if figure.trend else ""


def _shared_note(points: Sequence[ComparedCell]) -> str:
    """Tell where places on the x-axis share a measurement, as a scale caps what they stand for."""
    measured = [c for c in points if c.measured is not None and c.cell.row.with_]
    number = len({(c.cell.column.id, c.measurement) for c in measured})
    return (
        "" if number == len(measured) else f"{len(measured)} points are {number} measurements at this scale"
    )


def _tests(figure: Figure, panels: list[dict]) -> Iterator[str]:
    """Test the points of a figure of two lines whose caption names a t-test, a panel at a time."""
    if figure.test is None or figure.test.kind != "t":
        return
    for panel in panels:
        if len(panel["series"]) == 2:
            first, second = ([point[1] for point in series["points"]] for series in panel["series"])
            test = unpaired_t_test(first, second)
            if test:
                result = f"t({test.degrees}) = {test.statistic:.2f}, p = {test.p:.2g}, unpaired, two sides"
                yield f"{panel['y_label']}, {' against '.join(s['label'] for s in panel['series'])}: {result}"


def _panels(figure: Figure, points: list[ComparedCell], hours: Mapping[str, float]) -> list[dict]:
    """One panel a column, or one for each second size of its trend; one line a group of rows."""
    panels = []
    for column, title, lines in _faces(figure):
        series = []
        for line in lines:
            line_points = [c for c in points if (c.cell.column.id, c.cell.row.group) == (column.id, line.id)]
            measured_points = [c for c in line_points if c.measured is not None]
            if measured_points:
                series.append(_series(line, measured_points, hours))
        names = {"title": title, "x_label": figure.x or "", "y_label": column.head[-1]}
        panels.append(names | {"series": series})
    return panels


def _faces(figure: Figure) -> Iterator[tuple[Column, str, list[Line]]]:
    """Column, title and lines of every panel; a line without the second size of a trend is in all of them."""
    size_name = figure.trend.across if figure.trend else ""
    sizes = dict.fromkeys(line.with_[size_name] for line in figure.lines if size_name in line.with_)
    for column in figure.panels:
        if not sizes:
            yield column, column.head[0], list(figure.lines)
        for size in sizes:
            lines = [line for line in figure.lines if line.with_.get(size_name, size) == size]
            yield column, f"{column.head[0]} ({size:,g})", lines


def _series(line: Line, cells: list[ComparedCell], hours: Mapping[str, float]) -> dict:
    points = [_point(c, line.over) for c in cells]
    return {"label": line.method or line.label, "points": points, "made": [_origin(c, hours) for c in cells]}


def _point(c: ComparedCell, option: str | None) -> tuple[float | None, float, float | None, float | None]:
    """Place, value, and the extremes over seeds where there are several."""
    x = None if option is None else float(c.cell.row.with_[option])
    values = [record.measured for record in c.records]
    spread = (min(values), max(values)) if len(values) > 1 else (None, None)
    return (x, c.measured, *spread)


def _origin(c: ComparedCell, hours: Mapping[str, float]) -> tuple[str, str, str, str]:
    """Seeds, commits and hours of training behind a point, as far as they are known, and its doubts."""
    seeds = (record.seed for record in c.records if record.seed is not None)
    commits = filter(None, {record.environment.get("commit") for record in c.records})
    duration = hours.get(c.cell.id)
    time = "" if duration is None else f"{duration:.4f}"
    return " ".join(map(str, seeds)), " ".join(sorted(commits)), time, doubt_kinds([c])


def draw_exhibits(plan: Plan, store: Store, folder: Path) -> Iterator[Path]:
    """Every selected exhibit that is stored, those of one table or figure together."""
    for (name, owner), group in groupby(plan.exhibits, key=lambda s: (s.paper.name, s.owner)):
        stored_exhibits = [s for s in group if plan.states[plan.exhibits[s].fingerprint] == "stored"]
        departures = {k: v for s in stored_exhibits for k, v in plan.departures[s].items()}
        exhibits = [read_json(store.path(plan.exhibits[s]) / "exhibit.json") for s in stored_exhibits]
        pairs = list(zip((s.exhibit.label for s in stored_exhibits), exhibits, strict=True))
        if pairs:
            place = f"table{owner}" if not owner.startswith("figure-") else owner.replace("-", "")
            yield from _draw(pairs, folder / f"{name}-{place}", _note(plan.scale.name, departures))


def _draw(pairs: list[tuple[str, dict]], stem: Path, note: str) -> Iterator[Path]:
    writers = {"scatter": (figures.scatter, ".svg"), "passages": (figures.passages, ".md")}
    kind = pairs[0][1]["kind"]
    if kind in writers:
        draw, suffix = writers[kind]
        draw(pairs, stem.with_suffix(suffix), note=note)
        yield stem.with_suffix(suffix)
    else:
        for number, (_, exhibit) in enumerate(pairs, 1):
            path = stem.with_name(f"{stem.name}{'' if len(pairs) == 1 else f'-{number}'}.html")
            figures.shaded_words(exhibit, path, note=note)
            yield path


def _note(scale: str, departures: dict[str, str]) -> str:
    """The line on a drawing with its scale and the readings that are not the defaults."""
    notes = [] if scale == "full" else [f"measured at scale {scale}"]
    return "; ".join(notes + [f"{reading}: {choice}" for reading, choice in sorted(departures.items())])
