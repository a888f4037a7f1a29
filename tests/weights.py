"""How heavy each part of the house is; ``python -m tests.weights`` writes the table, weights.yaml, anew.

A number may fall at any time. One that rises, or is new, takes ``--because "reason"``, which stays beside it
until it falls.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
import yaml

from repro.cli import cli
from repro.cli.groups import LazyGroup

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "tests" / "weights.yaml"
SOURCES = ("repro", "papers", "tests", "benchmarks", "oracles", "docs")
OF_MANY_ROOMS = ("repro", "repro/plugins", "repro/retrieval")  # each folder in them is a room of its own

Weights = dict[str, dict[str, int]]  # part of the house -> what is counted -> how many


def weights() -> Weights:
    """Return lines and modules by room, the words of CONTRIBUTING, and what the command line offers."""
    lines, modules = Counter[str](), Counter[str]()
    for path in (path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.py"))):
        lines[room(path)] += path.read_text(encoding="utf-8").count("\n")
        modules[room(path)] += 1
    counted = {name: {"lines": lines[name], "modules": modules[name]} for name in sorted(lines)}
    options = [p for command in commands(cli) for p in command.params if isinstance(p, click.Option)]
    offered = {"verbs": len(cli.list_commands(None)), "options": len(options)}
    words = len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split())
    return {**counted, "the command line": offered, "CONTRIBUTING.md": {"words": words}}


def room(path: Path) -> str:
    """Return the room of a module, such as repro/cli or repro/plugins/yours."""
    name, *inner = path.relative_to(ROOT).parent.parts
    while inner and name in OF_MANY_ROOMS:
        name = f"{name}/{inner.pop(0)}"
    return name


def commands(command: click.Command) -> Iterator[click.Command]:
    """Yield a command, the one that it means where none is named, and all of its own."""
    yield command
    if isinstance(command, LazyGroup) and command.default:
        yield command.resolve_command(click.Context(command), [""])[1]
    if isinstance(command, click.Group):
        for name in command.list_commands(None):
            yield from commands(command.get_command(None, name))


def heavier(one: dict[str, dict], other: dict[str, dict], slack: float = 0.0) -> list[str]:
    """Return what of one table is above its number in another, by more than a share of it."""
    return [
        f"{part}: {number} {unit}, in the other table {than}"
        for part, units in one.items()
        for unit, number in units.items()
        if unit != "because" and number > (1 + slack) * (than := other.get(part, {}).get(unit, 0))
    ]


@click.command(help=__doc__)
@click.option("--because", help="Why numbers rise.")
def write(because: str | None) -> None:
    """Write the table of today."""
    true, old = weights(), yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    if (rising := heavier(true, old)) and not because:
        raise click.ClickException("\n".join(["these rise: say --because", *rising]))
    lines = ["# Written by python -m tests.weights, which lets numbers fall and asks why one rises.\n"]
    for part, units in true.items():
        stays = units.items() <= old.get(part, {}).items()
        reason = because if heavier({part: units}, old) else old[part].get("because") if stays else None
        entry = {**units, **({"because": reason} if reason else {})}
        lines.append(
            f"{part}: {yaml.safe_dump(entry, default_flow_style=True, sort_keys=False, width=10**6)}"
        )
    TABLE.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    write()
