"""Digests of every transcribed table: of its strings, and of the numbers in the paper's text.

``python tests/papers/published_digests.py [FOLDER OF TEXTS]`` writes ``published_digests.json``.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from tests.papers.texts import NEAR

ROOT = Path(__file__).resolve().parents[2]
FILE = Path(__file__).with_suffix(".json")
PAPERS = ("costa", "cotmae_v2", "cpdae", "simlm")
NUMBER = re.compile(r"\d*\.\d+|\d+(?=GB)")
FOREIGN = 12  # numbers that may stand between two lines of a table


@functools.cache
def tables(paper: str) -> dict[str, dict]:
    text = (ROOT / "papers" / paper / "cells.yaml").read_text(encoding="utf-8")
    manifest = yaml.load(text, yaml.CSafeLoader)
    return {str(table["id"]): table for table in manifest["tables"] if lines(table)}


def lines(table: dict) -> list[tuple[str, list[str]]]:
    """Return the rows that are published: id and cells as they are transcribed."""
    rows = ((row["id"], row.get("cells")) for row in table.get("rows", ()) if row.get("role") != "reference")
    return [(name, list(cells)) for name, cells in rows if cells]


def numbers(table: dict) -> list[list[str]]:
    """Return the decimals of a table line by line, as the paper has its lines."""
    cells = [cells for _, cells in lines(table)]
    cells = zip(*cells, strict=True) if table.get("transposed") else cells
    return [[number for cell in line for number in NUMBER.findall(cell)] for line in cells]


def digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()


def numbers_of_text(text: str, table: dict) -> list[list[str]] | None:
    """Return the numbers of a table as a text has them; None where it has not.

    Between two lines of the table a text may have a few other numbers, as of a page.
    """
    every, wanted = NUMBER.findall(text), list(filter(None, numbers(table)))
    if not wanted:
        return None
    for start in _places(every, wanted[0], 0, len(every)):
        ends, places = start, []
        for line in wanted:
            place = next(iter(_places(every, line, ends, ends + FOREIGN + 1)), None)
            if place is None:
                break
            places.append(place)
            ends = place + len(line)
        else:
            return [every[n : n + len(line)] for n, line in zip(places, wanted, strict=True)]
    return None


def _places(every: Sequence[str], line: Sequence[str], first: int, end: int) -> list[int]:
    return [n for n in range(first, min(end, len(every))) if every[n : n + len(line)] == line]


def entry(table: dict, texts: Sequence[str]) -> dict:
    """Return what is kept of a table: digests of its strings, and of its numbers where a text has them."""
    found = next(filter(None, (numbers_of_text(text, table) for text in texts)), None)
    strings = {"cells": sum(len(cells) for _, cells in lines(table)), "strings": digest(lines(table))}
    return strings | ({"numbers": digest(found)} if found else {})


def main(folder: Path) -> None:
    content = {}
    for paper in PAPERS:
        texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob(f"{paper}*.txt"))]
        content[paper] = {name: entry(table, texts) for name, table in tables(paper).items()}
        for name, kept in content[paper].items():
            print(
                paper,
                name,
                kept["cells"],
                "held against the text" if "numbers" in kept else "NOT in the text",
            )
    FILE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else NEAR)
