"""The functions of the article's template that draw: each writes files and returns what shows them."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, product
from pathlib import Path

from repro.manifest.schema import Figure
from repro.plugins.studies import slide
from repro.plugins.studies.contrasts import Contrast
from repro.plugins.studies.slide import Panel, Point
from repro.plugins.studies.trend_charts import markdown, panel_trends
from repro.plugins.studies.words import capitalised
from repro.verdicts.compared import ComparedCell
from repro.verdicts.summary import doubt_kinds

NOT_MEASURED = "*not measured yet*"
SEEDS = ("column", "system", "seed", "score", "doubts")  # heads of a CSV
DIFFERENCES = ("column", "system", "against", "difference", "low", "high", "p (Holm)", "verdict", "doubts")
MEANS = ("mean", "lowest", "highest", "doubts")


class Pictures:
    """The pictures of the article; titles and notes that say nothing of numbers are the template's."""

    def __init__(self, article, folder: Path):
        self._article, self._folder = article, folder

    def scores(self, table: str, levels: Sequence[str], title: str, note: str) -> str:
        """Draw every row of a table with each seed a dot; the rows ``levels`` are lines."""
        study, cells = self._article.tables[table], self._article.cells
        labels, of_table = {row.id: row.label for row in study.rows}, product(study.columns, study.rows)
        places = [(c.label, row.label, cells[f"{table}/{row.id}/{c.id}"]) for c, row in of_table]
        rows = [(*names, r.seed, r.measured, doubt_kinds([c])) for *names, c in places for r in c.records]
        systems = [label for row, label in labels.items() if row not in levels]
        seeds = _seeds(Counter(row[:2] for row in rows if row[1] in systems).values())
        lines, columns = list(map(labels.get, levels)), [column.label for column in study.columns]
        draw = partial(slide.seeds, columns, systems, lines, rows)
        return self._put(draw, f"scores-{table}", title, note.format(seeds), SEEDS, rows)

    def differences(self, table: str, references: Sequence[str], note: str) -> str:
        """Draw the difference of every compared row to each of the references, with intervals."""
        study, outcome, rows = self._article.tables[table], self._article.studies[table], []
        labels, contrasts = {row.id: row.label for row in study.rows}, [*self._contrasts(table, references)]
        for column, c in contrasts:
            if c.difference is None:
                continue
            estimate = [100 * x for x in (c.difference.mean, *c.difference.interval())]
            doubts = doubt_kinds(self._article.cells[f"{table}/{r}/{c.column}"] for r in (c.row, c.against))
            rows.append((column, labels[c.row], labels[c.against], *estimate, c.holm, c.verdict, doubts))
        names, systems = [labels[row] for row in references], [*dict.fromkeys(row[1] for row in rows)]
        matters = {column.label: outcome.analysis.matters[column.id] for column in study.columns}
        seeds = _seeds(c.difference.seeds for _, c in contrasts if c.difference)
        floor = [c for c in matters if {row[7] for row in rows if row[0] == c} == {"at the floor"}]
        early = f"{outcome.preliminary.capitalize()}. " if outcome.preliminary else ""
        note = f"{early}{note.format(seeds)}"
        note += f" At the floor, so that nothing is concluded: {', '.join(floor)}." if floor else ""
        draw = partial(slide.differences, matters, systems, names, rows)
        title = f"Table {table}: difference to {' and to '.join(names)}"
        return self._put(draw, f"differences-{table}", title, note, DIFFERENCES, rows)

    def _contrasts(self, table: str, references: Sequence[str]) -> Iterator[tuple[str, Contrast]]:
        """Yield every comparison of a row with a reference that has an interval, under its column's label."""
        study = self._article.tables[table]
        for column, row, other in product(study.columns, study.rows, references):
            c = self._article.studies[table].contrast(row.id, other, column.id)
            if c is not None and c.difference is not None and c.row == row.id:
                yield column.label, c

    def work(self, column: str, tables: Sequence[str], title: str, note: str) -> str:
        """Draw the score over the FLOPs of pre-training; points of a row in several tables are joined."""
        points = self._points(column, tables, lambda row: (self._article.flops(row) or 0) / 1e12)
        panel = Panel("", "FLOPs of the pre-training itself, in 10^12", points, (), True, tables[1:])
        head = "table", "system", "10^12 FLOPs", *MEANS
        return self._put(partial(slide.lines, [panel], slide.Layout()), "work", title, note, head, points)

    def shares(self, column: str, tables: Sequence[str], title: str, note: str) -> str:
        """Draw the score over the share of training queries that rows of all tables are fine-tuned on."""

        def percent(row: str) -> float:
            shares = (node.params["share"] for node in self._article.stages(row) if "share" in node.params)
            return 100 * min(shares, default=1) if self._article.stages(row, "finetune") else 0

        rows = [self._article.tables[table].rows for table in tables]
        shared = set.intersection(*({row.label for row in of_table} for of_table in rows))
        points = [point for point in self._points(column, tables, percent) if point.name in shared]
        stages = {row.label: self._article.stages(f"{tables[0]}/{row.id}", "pretrain") for row in rows[0]}
        ordered = sorted(points, key=lambda point: -len(stages[point.name]))  # in the colours of the others
        draw = partial(slide.lines, [Panel("", "percent of the training queries", ordered)], slide.Layout())
        return self._put(
            draw, "shares", title, note, ("table", "system", "percent of queries", *MEANS), points
        )

    def curves(self, *identifiers: str, without: Sequence[str] = ()) -> str:
        """Draw the first panel of figures, without some level lines; what is not measured is said beneath."""
        figures, alone = [self._article.figures[i] for i in identifiers], not identifiers[1:]
        panels: list[Panel] = []
        points: list[Point] = []
        gaps: list[str] = []
        first = figures[0]
        title = f"{first.panels[0].label} by {first.x}" if alone else "Learning curves, one setting at a time"
        note = f"{capitalised(first.about)}. " if alone else ""
        for figure in figures:
            of, levels = self._curve(figure)
            note += "".join(f"Not drawn: {name} at {y:.1f}. " for name, y in levels if name in without)
            levels = [level for level in levels if level[0] not in without]
            axis = figure.x or ""
            above = "" if alone else "\n".join(textwrap.wrap(capitalised(axis), 28))
            panels += [Panel(above, axis if alone else "", of, levels)] if of else []
            points, gaps = points + of, gaps + missing_points(figure, of)
        layout = slide.Layout(min(4, max(1, -(-len(panels) // 2))), not alone, alone)
        draw, head = partial(slide.lines, panels, layout), ("figure", "line", "x", *MEANS)
        picture = self._put(draw, f"curves-{identifiers[0]}", title, note + _data(points), head, points)
        return f"{picture}\n\nNot measured yet: {'; '.join(gaps)}." if gaps and points else picture

    def growth(self, identifier: str) -> str:
        """Draw a figure with a trend, a panel a size, and say what follows."""
        figure = self._article.figures[identifier]
        points, panels = self._sizes(figure)
        draw = partial(slide.lines, panels, slide.Layout(len(panels), share_y=True))
        title, head = (
            f"{figure.panels[0].label} as models and texts grow",
            ("size", "of", "system", "x", *MEANS),
        )
        across = figure.trend.across if figure.trend else ""
        picture = self._put(draw, f"growth-{identifier}", title, _data(points), head, points, first=(across,))
        trends = panel_trends(figure, self._cells(figure))
        if not any(trend.methods for trend in trends):
            return f"{picture}\n\nWhat follows for larger ones: {NOT_MEASURED}."
        return f"{picture}\n\n{markdown(figure, trends)}"

    def _sizes(self, figure: Figure) -> tuple[list[Point], list[Panel]]:
        """Return the points of a figure with a trend, by the size that it is over and its methods."""
        (points, levels), panels = self._curve(figure), []
        across = figure.trend.across if figure.trend else ""
        lines = {line.label: (line.with_[across], line.method) for line in figure.lines if line.method}
        points = [p._replace(of=lines[p.name][0], name=lines[p.name][1]) for p in points if p.name in lines]
        points.sort(key=lambda point: float(point.of))
        for size, places in groupby(points, key=lambda point: float(point.of)):
            level_lines = [(lines[n][1], y) for n, y in levels if lines.get(n, (None,))[0] == size]
            panels.append(Panel(f"{across} {size:g}", figure.x or "", list(places), level_lines))
        return points, panels

    def _put(self, draw: Callable, name: str, title: str, note: str, head, rows: Sequence, first=()) -> str:
        """Draw for either ground, with the numbers beside it and, of points, what they rest on beneath."""
        if not rows:
            return f"Figure ({title}): {NOT_MEASURED}."
        scale = self._article.scale
        if isinstance(rows[0], Point):
            cells = [point.cell for point in rows if point.cell]
            counts, scale = [len(c.records) for c in cells], cells[0].scale
            many = "; upright lines: lowest to highest seed" if max(counts) > 1 else ""
            note, rows = f"{note} {_seeds(counts)}{many}.", [(*first, *point[:7]) for point in rows]
        stem = self._folder / f"{self._article.source.name}-{name}"
        return slide.write(draw, stem, title, f"{note} Scale {scale}.", head, rows)

    def _points(self, column: str, tables: Sequence[str], x: Callable[[str], float]) -> list[Point]:
        """Return the measured rows of tables in a column, where ``x`` of ``table/row`` is not 0."""
        points = []
        for table in tables:
            for row in self._article.tables[table].rows:
                c, number = self._article.cells[f"{table}/{row.id}/{column}"], x(f"{table}/{row.id}")
                points += [_point(table, row.label, number, c)] if c.measured is not None and number else []
        return points

    def _cells(self, figure: Figure) -> list[ComparedCell]:
        return [c for c in self._article.points.values() if c.cell.table.id == f"figure-{figure.id}"]

    def _curve(self, figure: Figure) -> tuple[list[Point], list[tuple[str, float]]]:
        """Return the points of a figure's first panel, line by line from the left, and its level lines."""
        points: list[Point] = []
        levels: dict[str, float | None] = {}
        panel = figure.panels[0].id
        cells = [c for c in self._cells(figure) if c.measured is not None and c.cell.column.id == panel]
        for line, c in ((line, c) for line in figure.lines for c in cells if c.cell.row.group == line.id):
            if line.over:
                points.append(_point(figure.id, line.label, float(c.cell.row.with_[line.over]), c))
            else:
                levels.setdefault(line.label, c.measured)
        return points, [(name, score) for name, score in levels.items() if score is not None]


def _point(of: str, name: str, x: float, c: ComparedCell) -> Point:
    values = [record.measured for record in c.records]
    assert c.measured is not None, c.cell.id
    return Point(of, name, x, c.measured, min(values), max(values), doubt_kinds([c]), c)


def missing_points(figure: Figure, points: Iterable[Point]) -> list[str]:
    """Return the lines of a figure of which places are not measured, with these."""
    found, lines = {(p.name, p.x) for p in points}, [line.label for line in figure.lines if line.over]
    gaps = {name: [f"{x:g}" for x in figure.points if (name, x) not in found] for name in lines}
    return [f"{figure.x}, {name} at {', '.join(places)}" for name, places in gaps.items() if places]


def _data(points: Iterable[Point]) -> str:
    """Return the measures of points, their units, and the queries that they were measured on."""
    cells = ((point.cell.cell, point.cell.measured_on) for point in points if point.cell)
    return " ".join(dict.fromkeys(f"{c.column.label}, {c.unit}, on {', '.join(on)}." for c, on in cells))


def _seeds(counts: Iterable[int]) -> str:
    numbers = sorted(set(counts)) or [1]
    text = " to ".join(map(str, dict.fromkeys((numbers[0], numbers[-1]))))
    return f"{text} seed{'' if numbers[-1] == 1 else 's'}"
