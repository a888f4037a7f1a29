"""The figures of the page: ours over theirs, before and after, and growth.

Each is drawn from records alone, in letters that are part of the file, and follows the reader's choice of a
light or a dark page.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from measuring import BEFORE, Beside
from small_svg import small

from repro.writers.figures.charts import COLOURS, GREY, LINES, MARKERS, WIDTH, canvas, foot, legend

WIDE = 2 * WIDTH
ROW = 0.26  # inches
TIME, MEMORY = COLOURS[:2]


def draw(records: Sequence[Mapping], folder: Path) -> dict[str, str]:
    """Write the figures that the records have numbers for; return the line of Markdown of each by section."""
    compared = [Beside(**one) for record in records for one in record["beside"]]
    peers = closest([one for one in compared if one.other != BEFORE])
    figures = [("Ours beside others", "overview", "Ours over theirs, time and memory", ratios, peers)]
    earlier = [one for one in compared if one.other == BEFORE]
    figures += [("Before and after", "before-and-after", "Now over before", ratios, earlier)]
    for record in records:
        title, points = record["section"], record["rounds"]
        if points and "work" in points[0]:
            figures.append((title, "growth", "CPU seconds over the size of the work", growth, points))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lines = {}
    for title, name, caption, drawing, content in figures:
        if content:
            drawing(content, path := folder / f"{name}.svg")
            small(path)
            lines[title] = f"![{caption}](figures/{name}.svg)\n\n"
    return lines


def closest(compared: Sequence[Beside]) -> list[Beside]:
    """Return for each path its comparison with the peer beside which ours does worst."""
    paths: dict[str, list[Beside]] = {}
    for one in compared:
        paths.setdefault(one.path, []).append(one)
    return [max(peers, key=lambda one: one.ratio) for peers in paths.values()]


def ratios(compared: Sequence[Beside], path: Path) -> None:
    """A row for each comparison: time as a dot with the range over rounds, memory as a diamond."""
    with canvas(path, panels=1, panel_height=ROW * len(compared) + 0.2, width=WIDE) as (figure, (axes,)):
        axes.set_xscale("log")
        axes.axvline(1, color=GREY, linewidth=0.8)
        for place, one in enumerate(compared):
            many = one.ratios
            if len(many) > 1:
                axes.plot([many[0], many[-1]], [place, place], color=TIME, linewidth=1.6)
            axes.plot(one.ratio, place, "o", color=TIME, ms=5, label="time", clip_on=False)
            if one.memory:
                axes.plot(
                    one.memory_ratio, place, "D", mfc="none", mec=MEMORY, ms=5, label="memory", clip_on=False
                )
            if one.other != BEFORE:
                beside = {"transform": axes.get_yaxis_transform(), "color": GREY, "va": "center"}
                axes.text(1.02, place, one.other, **beside)
        axes.set_yticks(range(len(compared)), [one.path for one in compared])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(compared) - 0.4, -0.6)
        low, high = min(axes.get_xlim()[0], 0.1), max(axes.get_xlim()[1], 2)
        axes.set_xlim(low, high)
        decades = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]
        axes.set_xticks([tick for tick in decades if low <= tick <= high])
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        legend(figure, handle_length=1.0)
        foot(figure, "less is better", "lines: the least to the most of the rounds")


def growth(points: Sequence[Mapping], path: Path) -> None:
    """A panel for each work with a line for each tool, on logarithmic axes, and a cost in proportion."""
    plain = {"frameon": False, "borderpad": 0, "labelspacing": 0.2}
    works: dict[str, dict[str, list[Mapping]]] = {}
    for point in points:
        works.setdefault(point["work"], {}).setdefault(point["tool"], []).append(point)
    with canvas(path, panels=len(works), panel_height=1.7, width=WIDE) as (figure, grid):
        for (work, tools), axes in zip(works.items(), grid, strict=True):
            for number, (tool, of_tool) in enumerate(tools.items()):
                sizes, least, most = (
                    [point[key] for point in of_tool] for key in ("size", "seconds", "most")
                )
                look = {"color": COLOURS[number], "marker": MARKERS[number], "linestyle": LINES[number % 4]}
                name = tool.removeprefix(f"{work}: ")
                axes.plot(sizes, least, ms=3, linewidth=1, label=name, clip_on=False, **look)
                axes.vlines(sizes, least, most, color=COLOURS[number], linewidth=1, clip_on=False)
            axes.set(xscale="log", yscale="log", title=f"{work}, {of_tool[0]['of']}")
            axes.minorticks_off()
            first, *_, last = next(iter(tools.values()))
            in_proportion = [first["seconds"], first["seconds"] * last["size"] / first["size"]]
            axes.plot([first["size"], last["size"]], in_proportion, color=GREY, linewidth=0.6, zorder=0)
            axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5), **plain)
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_formatter(lambda value, _: f"{value:g}" if value < 1000 else f"{value:,.0f}")
        foot(figure, "size of the work", "CPU seconds, least to most; grey: in proportion to the size")
