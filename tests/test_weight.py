"""Limits on how much a reader has to hold in mind at once; the suite's whole source is counted."""

from collections.abc import Iterator
from pathlib import Path

import click
from radon.complexity import cc_visit

from repro.cli import cli
from repro.cli.groups import LazyGroup

ROOT = Path(__file__).resolve().parents[1]
# through a function: McCabe's number, in which radon counts `and`, `or` and comprehensions, too
MOST_PATHS = 10
SHARE_ABOVE = 0.02
FORMATTED_BY_HAND = 10
VERBS, OPTIONS = 14, 160  # of the command line, its own and every verb's and view's


def sources(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def complexities() -> dict[str, int]:
    """The complexity of every function and method, also of those inside others, by file and line."""
    counted, numbers = [], {}
    for path in sources("repro", "papers"):
        name = path.relative_to(ROOT)
        counted += [(name, block) for block in cc_visit(path.read_text(encoding="utf-8"))]
    while counted:
        name, block = counted.pop()
        if hasattr(block, "methods"):
            counted += [(name, inner) for inner in (*block.methods, *block.inner_classes)]
        else:
            numbers[f"{name}:{block.lineno} {block.name}"] = block.complexity
            counted += [(name, inner) for inner in block.closures]
    return numbers


def test_few_functions_have_more_than_ten_paths():
    numbers = complexities()
    above = {where: number for where, number in numbers.items() if number > MOST_PATHS}
    listed = "\n".join(
        f"{number} {where}" for where, number in sorted(above.items(), key=lambda item: -item[1])
    )
    assert len(numbers) > 1500 and len(above) <= SHARE_ABOVE * len(numbers), listed


def test_hardly_any_line_is_kept_from_the_formatter():
    mark = "# fmt: " + "skip"
    lines = [
        path for path in sources("repro", "papers", "tests") for _ in range(path.read_text().count(mark))
    ]
    assert len(lines) <= FORMATTED_BY_HAND, lines


def commands(command: click.Command) -> Iterator[click.Command]:
    """A command, the one that it means where none is named, and all of its own."""
    yield command
    if isinstance(command, LazyGroup) and command.default:
        yield command.resolve_command(click.Context(command), [""])[1]
    if isinstance(command, click.Group):
        for name in command.list_commands(None):
            yield from commands(command.get_command(None, name))


def test_the_command_line_has_few_verbs_and_options():
    assert len(cli.list_commands(None)) <= VERBS
    options = [p for command in commands(cli) for p in command.params if isinstance(p, click.Option)]
    assert 100 < len(options) <= OPTIONS
