"""Charts as SVG and CSV, e.g. curves."""

import csv
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Okabe and Ito's palette for the colour-blind
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
WIDTH = 3.4  # inches, one column of a page
GREY = "#555555"
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 8,
    **dict.fromkeys(("axes.titlesize", "axes.labelsize", "legend.fontsize"), 9),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
    **dict.fromkeys(("axes.linewidth", "xtick.major.width", "ytick.major.width"), 0.6),
    **dict.fromkeys(("xtick.major.size", "ytick.major.size"), 2.5),
    "axes.titlepad": 4,
    "axes.labelpad": 2,
    "text.parse_math": False,
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.w_pad": 0.02,
    "savefig.dpi": 200,
    "svg.hashsalt": "repro",
    "svg.fonttype": "path",
}
LOOKS = {
    "other": {"marker": "o", "s": 11, "facecolors": "none", "edgecolors": "#8a8a8a", "linewidths": 0.7},
    "relevant": {"marker": "s", "s": 15, "facecolors": COLOURS[1], "edgecolors": "white", "linewidths": 0.3},
    "query": {"marker": "*", "s": 95, "facecolors": COLOURS[0], "edgecolors": "white", "linewidths": 0.5},
}  # drawn in this order


def scatter(panels: Sequence[tuple[str, dict]], path: Path, *, note: str) -> None:
    """Draw points of a query and its candidates, a panel per (label, exhibit), and write a .csv."""
    rows, exhibits = [], [exhibit for _, exhibit in panels]
    panel_height = {1: 2.6}.get(len(panels), 1.75)
    with canvas(path, panels=len(panels), panel_height=panel_height) as (figure, grid):
        for axes, (label, exhibit) in zip(grid, panels, strict=True):
            for role, look in LOOKS.items():
                points = [point for point in exhibit["points"] if point["role"] == role]
                x, y = ([point[axis] for point in points] for axis in "xy")
                axes.scatter(x, y, label=role, **look)
                rows += [(label, p["id"], role, p["grade"], p["x"], p["y"]) for p in points]
            auc = exhibit.get("measured", {}).get("auc")
            below = "no AUC" if auc is None else f"AUC {auc:.2f}"
            axes.set(title=label, xlabel=below, xticks=[], yticks=[])
            axes.set_aspect("equal", adjustable="datalim")
            axes.spines[["top", "right"]].set_visible(True)
        legend(figure, handle_length=1.0)
        foot(figure, "", *_notes(exhibits), note)
    write_csv(path, ("system", "id", "role", "grade", "x", "y"), rows)


def _notes(exhibits: Sequence[dict]) -> tuple[str, str]:
    queries = sorted({exhibit["query"] for exhibit in exhibits if "query" in exhibit})
    perplexities = sorted({exhibit["perplexity"] for exhibit in exhibits if "perplexity" in exhibit})
    parts = [f"query {', '.join(queries)}"] if queries else []
    if perplexities:
        parts.append(f"t-SNE, perplexity {', '.join(f'{value:g}' for value in perplexities)}")
    return "; ".join(parts), "AUC of the vectors: how often a relevant one scores above another"


Point = tuple[float | None, float, float | None, float | None]  # x, y, low, high
MADE = ("seeds", "commit", "hours", "doubts")


def curves(panels: Sequence[dict], path: Path, *, note: str) -> None:
    """Draw lines, and write their .csv. The x-axis is logarithmic if it spans a factor of ten.

    ``panels`` are {"title", "x_label", "y_label", "series": [{"label", "points": [(x, y, low, high), …]}]}. A
    single point with x None is a horizontal line. A band shows low and high. The optional "made" of a series
    has the fields ``MADE`` for each point.
    """
    x_labels, rows = {panel["x_label"] for panel in panels}, _rows(panels)
    names = list(dict.fromkeys(row[2] for row in rows))
    with canvas(path, panels=len(panels), panel_height=1.9 if len(panels) == 1 else 1.5) as (figure, grid):
        for axes, panel in zip(grid, panels, strict=True):
            for series in panel["series"]:
                _draw_series(axes, series, names.index(series["label"]))
            title = textwrap.wrap(panel["title"], 40 if len(panels) == 1 else 20)
            axes.set(title="\n".join([*title, panel["y_label"]]))
            if len(x_labels) > 1:
                axes.set_xlabel(panel["x_label"])
            _set_scales(axes, panel["series"])
        legend(figure, handle_length=2.2)
        bands = "bands: lowest to highest" if any(_has_band(row[3:]) for row in rows) else ""
        foot(figure, x_labels.pop() if len(x_labels) == 1 else "", bands, note)
    write_csv(path, ("panel", "measure", "series", "x", "y", "lowest", "highest", *MADE), rows)


def _rows(panels: Sequence[dict]) -> list[tuple]:
    rows: list[tuple] = []
    for panel, series in ((each, series) for each in panels for series in each["series"]):
        names, points = (panel["title"], panel["y_label"], series["label"]), series["points"]
        origins = series.get("made") or [("",) * len(MADE)] * len(points)
        rows += [(*names, *point, *origin) for point, origin in zip(points, origins, strict=True)]
    return rows


def _draw_series(axes, series: dict, number: int) -> None:
    colour = COLOURS[number % len(COLOURS)]
    look = {"color": colour, "linestyle": LINES[number % len(LINES)], "linewidth": 1.2}
    x, y, lowest, highest = zip(*sorted(series["points"], key=lambda point: point[0] or 0.0), strict=True)
    has_band = any(_has_band(point) for point in series["points"])
    low = [value if bound is None else bound for value, bound in zip(y, lowest, strict=True)]
    high = [value if bound is None else bound for value, bound in zip(y, highest, strict=True)]
    band_look = {"color": colour, "alpha": 0.2, "linewidth": 0}
    if x[0] is None:
        axes.axhline(y[0], label=series["label"], **look)
        if has_band:
            axes.axhspan(low[0], high[0], **band_look)
        return
    axes.plot(x, y, marker=MARKERS[number % len(MARKERS)], markersize=4, label=series["label"], **look)
    if has_band and len(x) > 1:
        axes.fill_between(x, low, high, **band_look)
    elif has_band:
        axes.vlines(x, low, high, color=colour, linewidth=1.2)


def _has_band(point: Point) -> bool:
    return point[2] is not None and point[3] is not None


def _set_scales(axes, lines: Sequence[dict]) -> None:
    from matplotlib.ticker import MaxNLocator, NullLocator

    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.ticklabel_format(axis="y", useOffset=False)
    axes.margins(y=0.12)
    ticks = sorted({point[0] for series in lines for point in series["points"]} - {None})
    if not ticks:
        axes.set_xticks([])
        return
    if ticks[0] > 0 and ticks[-1] / ticks[0] >= 10:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(ticks, [(f"{tick / 1000:g}k" if tick >= 1000 else f"{tick:g}") for tick in ticks])


@contextmanager
def canvas(path: Path, *, panels: int, panel_height: float, width: float = WIDTH) -> Iterator[tuple]:
    """Yield a figure and its axes, two panels per row, and then save it to ``path``.

    The user's matplotlib settings are ignored. ``panel_height`` and ``width`` are in inches.
    """
    import matplotlib
    from matplotlib.figure import Figure

    columns, rows = min(panels, 2), -(-panels // 2)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        figure = Figure(figsize=(width, panel_height * rows + 0.55), layout="constrained")
        grid = list(figure.subplots(rows, columns, squeeze=False).flat)
        for unused in grid[panels:]:
            unused.remove()
        yield figure, grid[:panels]
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(path, format=path.suffix.removeprefix("."), metadata=metadata)


def legend(figure, *, handle_length: float) -> None:
    """Draw the legend of a figure above all panels, with one entry per label."""
    handles = legend_handles(figure)
    look = {"handlelength": handle_length, "handletextpad": 0.5, "columnspacing": 1.2, "borderpad": 0.1}
    place = {"loc": "outside upper center", "ncols": min(len(handles), 3), "frameon": False}
    if handles:
        figure.legend(list(handles.values()), list(handles), **place, **look)


def legend_handles(figure) -> dict[str, Any]:
    pairs = (pair for axes in figure.axes for pair in zip(*axes.get_legend_handles_labels(), strict=True))
    handles: dict[str, Any] = {}
    for handle, label in pairs:
        handles.setdefault(label, handle)
    return handles


def foot(figure, label: str, *small_print: str) -> None:
    inches, height = 0.03, figure.get_figheight()
    for line in reversed([line for line in small_print if line]):
        figure.text(0.99, inches / height, line, fontsize=7, color=GREY, ha="right", va="bottom")
        inches += 0.12
    if label:
        figure.text(0.5, (inches + 0.02) / height, label, fontsize=9, ha="center", va="bottom")
        inches += 0.17
    figure.get_layout_engine().set(rect=(0, inches / height, 1, 1 - inches / height))


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence]) -> None:
    with open(path.with_suffix(".csv"), "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)
