"""Size, type, palette and small print of all charts, and the two files written for each."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Okabe and Ito's palette, told apart by the colour-blind; markers and lines differ as well
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
WIDTH = 3.4  # inches: one column of a page
GREY = "#555555"
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same letters on every machine
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "legend.fontsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "axes.titlepad": 4,
    "axes.labelpad": 2,
    "text.parse_math": False,
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.w_pad": 0.02,
    "savefig.dpi": 200,
    "svg.hashsalt": "repro",
    "svg.fonttype": "path",
}


@contextmanager
def canvas(path: Path, *, panels: int, panel_height: float, width: float = WIDTH) -> Iterator[tuple]:
    """A figure and its axes, two panels a row; saved to ``path`` when the block is left.

    The reader's own matplotlib settings neither enter the drawing nor are changed by it.

    Args:
        path: .svg, or another suffix that matplotlib writes.
        panels: how many.
        panel_height: inches of one row of them.
        width: inches, e.g. one column of a page.
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
    """Draw one entry for each name above all panels, in at most three rows; ``handle_length`` in letters'
    heights."""
    handles: dict[str, object] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if handles:
        figure.legend(
            list(handles.values()),
            list(handles),
            loc="outside upper center",
            ncols=min(len(handles), 3),
            frameon=False,
            handlelength=handle_length,
            handletextpad=0.5,
            columnspacing=1.2,
            borderpad=0.1,
        )


def foot(figure, label: str, *small_print: str) -> None:
    """Write the x-axis' name and lines of small print below all panels, in room that matplotlib would not
    leave."""
    inches, height = 0.03, figure.get_figheight()
    for line in reversed([line for line in small_print if line]):
        figure.text(0.99, inches / height, line, fontsize=7, color=GREY, ha="right", va="bottom")
        inches += 0.12
    if label:
        figure.text(0.5, (inches + 0.02) / height, label, fontsize=9, ha="center", va="bottom")
        inches += 0.17
    figure.get_layout_engine().set(rect=(0, inches / height, 1, 1 - inches / height))


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence]) -> None:
    """The numbers of the drawing at ``path``, in a .csv of the same name."""
    with open(path.with_suffix(".csv"), "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)
