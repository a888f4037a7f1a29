"""Drawings and pages of what was measured: equal data give equal bytes, numbers lie as CSV beside them."""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe and Ito
MARKERS, LINES = ("o", "s", "^", "D", "v", "P", "X"), ("-", "--", "-.", ":")
WIDTH, HEIGHT = 3.4, 2.6  # inches of a panel, as wide as one column of a page
STEPS = {"0": 0.0, "0.1": 0.1, "0.2": 0.2, "0.3": 0.3, "0.4": 0.4, "> 0.5": 0.5}  # where shades change
SHADES = ("#ffffff", "#e6eef7", "#c3d7ec", "#92b9dd", "#5b93c7", "#24619e")
ROLES = {  # how a scatter's points look, the later ones in front
    "other": {"marker": "o", "s": 12, "facecolors": "none", "edgecolors": "#767676"},
    "relevant": {"marker": "o", "s": 18, "color": COLOURS[1]},
    "query": {"marker": "*", "s": 110, "color": COLOURS[0], "edgecolors": "white"},
}


def curves(panels: Sequence[dict], path: Path, *, note: str) -> None:
    """Lines over an x-axis, two panels a row.

    Args:
        panels: {"title", "x_label", "y_label", "series": [{"label", "points": [(x, y, low, high), …]}]}. A
            point with x None is a level line; low and high, where given, are drawn as a band.
        path: of the SVG; the numbers go into a .csv of the same name.
        note: small print on it; empty for none.
    """
    figure, grid = _grid(len(panels))
    names, rows = list(dict.fromkeys(s["label"] for panel in panels for s in panel["series"])), []
    for axes, panel in zip(grid, panels, strict=True):
        for series in panel["series"]:
            _line(axes, series, names.index(series["label"]))
            rows += [(panel["title"], panel["y_label"], series["label"], *xy) for xy in series["points"]]
        axes.set_title(panel["title"], fontsize=9)
        axes.set_xlabel(panel["x_label"], fontsize=9)
        axes.set_ylabel(panel["y_label"], fontsize=9)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        _x_scale(axes, sorted({x for s in panel["series"] for x, *_ in s["points"] if x is not None}))
    _save(figure, path, note)
    _csv(path, ("panel", "measure", "series", "x", "y", "low", "high"), rows)


def scatter(panels: Sequence[tuple[str, dict]], path: Path, *, note: str) -> None:
    """One query and its candidates in a plane, two systems a row.

    Args:
        panels: pairs of a label and an exhibit of the stage ``project``.
        path, note: as for ``curves``.
    """
    (figure, grid), rows = _grid(len(panels)), []
    for axes, (label, exhibit) in zip(grid, panels, strict=True):
        for depth, (role, look) in enumerate(ROLES.items(), 2):
            points = [p for p in exhibit["points"] if p["role"] == role]
            rows += [(label, p["id"], role, p["grade"], p["x"], p["y"]) for p in points]
            x, y = [p["x"] for p in points], [p["y"] for p in points]
            axes.scatter(x, y, label=role, linewidths=0.7, zorder=depth, **look)
        auc = exhibit.get("measured", {}).get("auc")
        axes.set_title(label if auc is None else f"{label} (AUC before projection: {auc:.2f})", fontsize=9)
        axes.set(xticks=[], yticks=[])
        axes.set_aspect("equal", adjustable="datalim")  # distances are all that such a picture shows
    _save(figure, path, note)
    _csv(path, ("system", "id", "role", "grade", "x", "y"), rows)


def shade(value: float) -> str:
    """The colour of a word's value: white at 0, darkest from 0.5 on."""
    return SHADES[max(sum(value >= step for step in STEPS.values()) - 1, 0)]


def shaded_text(words: Iterable[tuple[str, float]]):
    """Words with their shades for a terminal, the legend behind them; a rich Text."""
    from rich.text import Text

    text = Text()
    for word, value in words:
        text.append(word, style=f"{_ink(value)} on {shade(value)}").append(" ")
    text.append("\n\nprobability: ")
    for label, step in STEPS.items():
        text.append(f" {label} ", style=f"{_ink(step)} on {shade(step)}")
    return text


def shaded_words(exhibit: dict, path: Path, *, note: str) -> None:
    """The same for an exhibit of the stage ``inspect_text``, as a page of HTML that needs no other file."""
    title = html.escape(exhibit["title"] or "(no title)")
    if not exhibit.get("found", True):
        note = "the first text, as the one asked for is not in the collection" + (note and f"; {note}")
    page = f"""<!doctype html>
<meta charset="utf-8"><title>{title}</title><style>
body {{ font: 16px/1.8 Georgia, serif; max-width: 42em; margin: 2em auto; padding: 0 1em }}
span {{ padding: 0.1em 0.25em; border-radius: 0.2em }} small {{ color: #555 }}</style>
<h1>{title}</h1>
<p>Probability: {" ".join(_span(*step) for step in STEPS.items())}</p>
<p>{" ".join(_span(*word) for word in exhibit["words"])}</p>
<p><small>{html.escape(note)}</small></p>
"""
    path.write_text(page, encoding="utf-8")
    _csv(path, ("word", "value"), exhibit["words"])


def passages(pairs: Sequence[tuple[str, dict]], path: Path, *, note: str) -> None:
    """What several systems find for the same queries, as Markdown: a heading a query, a table a system.

    Args:
        pairs: a label and an exhibit of the stage ``top_passages`` each.
        path, note: of the page, as for ``curves``.
    """
    lines = [f"*{_plain(note)}*", ""] if note else []
    for wanted in dict.fromkeys(query["wanted"] for _, exhibit in pairs for query in exhibit["queries"]):
        lines += [f"## {_plain(wanted)}", ""]
        for label, exhibit in pairs:
            for query in (query for query in exhibit["queries"] if query["wanted"] == wanted):
                instead = "" if query["found"] else f" (not at hand; instead: {_plain(query['text'])})"
                lines += [f"**{_plain(label)}**{instead}", ""]
                lines += ["| rank | grade | score | passage |", "|---:|---:|---:|:---|"]
                lines += [*map(_passage, query["passages"]), ""]
    path.write_text("\n".join(lines), encoding="utf-8")


def _passage(found: dict) -> str:
    title = f"**{_plain(found['title'])}** " if found["title"].strip() else ""
    numbers = (found["rank"], "–" if found["grade"] is None else found["grade"], f"{found['score']:.4g}")
    return "".join(f"| {number} " for number in numbers) + f"| {title}{_plain(found['text'])} |"


def _plain(text: str) -> str:
    """Text on one line, with nothing in it that Markdown would take for markup."""
    return re.sub(r"([\\`*_\[\]|#~$<>&])", r"\\\1", " ".join(text.split()))


def _span(text: str, value: float) -> str:
    look = f'style="background: {shade(value)}; color: {_ink(value)}" title="{value:.3f}"'
    return f"<span {look}>{html.escape(text)}</span>"


def _ink(value: float) -> str:
    return "white" if shade(value) == SHADES[-1] else "black"


def _grid(panels: int) -> tuple:
    """A figure, and as many axes as there are panels."""
    from matplotlib.figure import Figure

    columns, rows = min(panels, 2), -(-panels // 2)
    figure = Figure(figsize=(WIDTH * columns, HEIGHT * rows + 0.4), layout="constrained")
    return figure, [figure.add_subplot(rows, columns, place) for place in range(1, panels + 1)]


def _line(axes, series: dict, number: int) -> None:
    """One name's points, and its level lines, with the look its number has in all panels."""
    colour, dashes = COLOURS[number % len(COLOURS)], LINES[number % len(LINES)]
    look = {"color": colour, "linestyle": dashes, "linewidth": 1.3, "label": series["label"]}
    band = {"color": colour, "alpha": 0.2, "linewidth": 0}
    for _, y, low, high in (point for point in series["points"] if point[0] is None):
        axes.axhline(y, **look)
        if None not in (low, high):
            axes.axhspan(low, high, **band)
    if points := sorted((p for p in series["points"] if p[0] is not None), key=lambda point: point[:2]):
        x, y, low, high = zip(*points, strict=True)
        axes.plot(x, y, marker=MARKERS[number % len(MARKERS)], markersize=4, **look)
        axes.fill_between(x, *(np.array(edge, dtype=float) for edge in (low, high)), **band)  # None is nan


def _x_scale(axes, places: list[float]) -> None:
    """Every place a tick; logarithmic where they span more than a decade."""
    if places and places[0] > 0 and places[-1] / places[0] > 10:
        axes.set_xscale("log")
        axes.minorticks_off()
    axes.set_xticks(places, [f"{place:g}" for place in places])


def _save(figure, path: Path, note: str) -> None:
    """One legend for all panels, the note, and the file."""
    import matplotlib

    found = {}
    for axes in figure.axes:
        found = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True)) | found
    look = {"loc": "outside upper center", "ncols": 3 * min(len(figure.axes), 2), "frameon": False}
    figure.legend(found.values(), found.keys(), fontsize=9, **look)
    figure.supxlabel(note, fontsize=7, color="#555555", x=0.99, ha="right")
    with matplotlib.rc_context({"svg.hashsalt": "repro", "svg.fonttype": "path"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=150)


def _csv(path: Path, head: Sequence[str], rows: Iterable[Sequence]) -> None:
    with open(path.with_suffix(".csv"), "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])
