"""The growth of cost with the size of the work: CPU seconds over sizes, and the exponents fitted to them.

An exponent of 1 is a cost in proportion to the size. It is the slope of a line through the logarithms of
size and seconds, over all sizes and between the last two, where what is done once counts least. Beside ours
stands a peer where there is one.
"""

from __future__ import annotations

import argparse
import gc
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import growth_works
import numpy as np
from measuring import sizes_of
from report import write

# the work -> what is counted, and how many of it
SIZES = {
    "encode": ("texts", (10_000, 100_000, 1_000_000)),
    "search": ("vectors", (10_000, 100_000, 1_000_000)),
    "scoring": ("lines", (100_000, 1_000_000, 10_000_000)),
    "mining": ("lines", (10_000, 100_000, 1_000_000)),
    "planning": ("rows", (10, 100, 1_000)),
    "store": ("artefacts", (100, 1_000, 10_000, 100_000)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", nargs="*", choices=SIZES, default=list(SIZES))
    parser.add_argument("--sizes", nargs="*", type=sizes_of(SIZES), default=[], metavar="WORK=N,N,…")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    sizes = {work: ns for work, (_, ns) in SIZES.items()} | dict(asked.sizes)
    points = [
        point for work in asked.work for size in sizes[work] for point in measured(work, size, asked.rounds)
    ]
    write("Growth", table(points), rounds=points)


def measured(work: str, size: int, rounds: int) -> Iterator[dict]:
    """A point for each tool: CPU seconds of every round, in which the tools of a work take turns.

    What removes something comes last and once, since a second round would find less.
    """
    with tempfile.TemporaryDirectory() as folder:
        tools = getattr(growth_works, work)(Path(folder), size)
        taken = {tool: [] for tool in tools}
        for removing in (False, True):
            for _ in range(1 if removing else rounds):
                for tool, run in tools.items():
                    if ("removing" in tool) is removing:
                        taken[tool].append(cpu_seconds(run))
        for tool, seconds in taken.items():
            counted = {"work": work, "tool": tool, "size": size, "of": SIZES[work][0]}
            seconds = [round(one, 6) for one in seconds]
            print(f"{tool}, {size:,}: {seconds}", file=sys.stderr)
            yield counted | {"seconds": min(seconds), "most": max(seconds), "each": seconds}


def cpu_seconds(run: Callable[[], object]) -> float:
    gc.collect()
    started = time.process_time()
    run()
    return time.process_time() - started


def exponent(points: Sequence[dict]) -> float:
    """The slope of the line through the logarithms of sizes and seconds that is nearest to them."""
    sizes, seconds = ([math.log(max(p[key], 1e-6)) for p in points] for key in ("size", "seconds"))
    return float(np.polyfit(sizes, seconds, 1)[0])


def table(points: Sequence[dict]) -> list[dict]:
    """A row for each tool: its seconds at every size and both exponents."""
    rows = []
    for tool, of_tool in _by_tool(points).items():
        spreads = [
            f"{p['most'] / max(p['seconds'], 1e-6):.2f}" if len(p["each"]) > 1 else "–" for p in of_tool
        ]
        rows.append(
            {
                "work": tool,
                "sizes": f"{of_tool[0]['size']:,} to {of_tool[-1]['size']:,} {of_tool[0]['of']}",
                "CPU seconds, least": ", ".join(f"{p['seconds']:.3g}" for p in of_tool),
                "most over least": ", ".join(spreads),
                "exponent": f"{exponent(of_tool):.2f}",
                "between the last two": f"{exponent(of_tool[-2:]):.2f}",
            }
        )
    return rows


def _by_tool(points: Sequence[dict]) -> dict[str, list[dict]]:
    tools: dict[str, list[dict]] = {}
    for point in points:
        tools.setdefault(point["tool"], []).append(point)
    return tools


if __name__ == "__main__":
    main()
