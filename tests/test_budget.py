"""Limits on the size of the code. ``python -m tests.test_budget`` prints the current numbers."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
from radon.complexity import cc_visit

from repro.cli import cli
from repro.cli.groups import LazyGroup

ROOT = Path(__file__).resolve().parents[1]
LIMITS = {
    "lines of repro": 52_900,
    "characters of repro": 2_250_000,
    "modules of repro": 299,
    "lines of repro without plugins": 37_600,
    "lines of the longest file of repro": 400,
    "functions of repro with more than 60 lines": 0,
    "verbs": 14,
    "options": 148,
    "lines of tests": 55_000,
    "characters of tests": 2_400_000,
    "modules of tests": 487,
    "pages in docs/decisions": 10,
    "words of CONTRIBUTING.md": 1_394,
}
MOST_PATHS = 10  # through a function: McCabe's number, with each `and`, `or` and comprehension
SHARE_ABOVE = 0.017
FORMATTED_BY_HAND = 10


@cache
def texts(folder: str) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / folder).rglob("*.py"))}


def numbers() -> dict[str, int]:
    """Return the current numbers by the names of ``LIMITS``, e.g. ``{"verbs": 14}``."""
    lines = {path: text.count("\n") for path, text in texts("repro").items()}
    options = [p for command in commands(cli) for p in command.params if isinstance(p, click.Option)]
    found = {
        "lines of repro without plugins": sum(
            n for path, n in lines.items() if not path.is_relative_to(ROOT / "repro/plugins")
        ),
        "lines of the longest file of repro": max(lines.values()),
        "functions of repro with more than 60 lines": sum(n > 60 for n in function_lengths()),
        "verbs": len(cli.list_commands(None)),
        "options": len(options),
        "pages in docs/decisions": len(list((ROOT / "docs/decisions").glob("*.md"))),
        "words of CONTRIBUTING.md": len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split()),
    }
    for folder in ("repro", "tests"):
        contents = texts(folder).values()
        found[f"lines of {folder}"] = sum(text.count("\n") for text in contents)
        found[f"characters of {folder}"] = sum(map(len, contents))
        found[f"modules of {folder}"] = len(contents)
    return {name: found[name] for name in LIMITS}


def function_lengths() -> Iterator[int]:
    """Yield the lines of every function of repro, decorators excluded."""
    for text in texts("repro").values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.end_lineno - node.lineno + 1


def commands(command: click.Command) -> Iterator[click.Command]:
    """Yield a command, its default view and its subcommands."""
    yield command
    if isinstance(command, LazyGroup) and command.default:
        yield command.resolve_command(click.Context(command), [""])[1]
    if isinstance(command, click.Group):
        for name in command.list_commands(None):
            yield from commands(command.get_command(None, name))


def test_no_number_is_above_its_limit():
    above = {name: f"{n:,} > {LIMITS[name]:,}" for name, n in numbers().items() if n > LIMITS[name]}
    assert above == {}


def test_few_functions_have_more_than_ten_paths():
    counted = [
        block for folder in ("repro", "papers") for text in texts(folder).values() for block in cc_visit(text)
    ]
    complexities = []
    while counted:
        block = counted.pop()
        if hasattr(block, "methods"):
            counted += [*block.methods, *block.inner_classes]
        else:
            complexities.append((block.complexity, block.name))
            counted += block.closures
    above = sorted(pair for pair in complexities if pair[0] > MOST_PATHS)
    assert len(complexities) > 1500 and len(above) <= SHARE_ABOVE * len(complexities), above


def test_hardly_any_line_is_kept_from_the_formatter():
    mark = "# fmt: " + "skip"
    marks = {p: text.count(mark) for f in ("repro", "papers", "tests") for p, text in texts(f).items()}
    assert sum(marks.values()) <= FORMATTED_BY_HAND, {path: n for path, n in marks.items() if n}


if __name__ == "__main__":
    for name, number in numbers().items():
        print(f"{number:>10,}  {name} (at most {LIMITS[name]:,})")
