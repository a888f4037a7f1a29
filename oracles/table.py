"""The table of all oracles in README.md, made from the numbers in papers/*/oracles/ alone.

``python -m oracles.table`` writes it anew.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from types import ModuleType

import oracles
from oracles import written

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- table: python -m oracles.table -->", "<!-- end of the table -->"
HEADS = ("compared", "released code", "format", "loss", "gradient", "equal values", "draws")
HEADS += ("numbers", "script")


def scripts() -> dict[str, ModuleType]:
    """The modules of this folder that compare something, by name."""
    names = (f"{oracles.__name__}.{found.name}" for found in pkgutil.iter_modules(oracles.__path__))
    modules = {name: importlib.import_module(name) for name in sorted(names)}
    return {name: module for name, module in modules.items() if hasattr(module, "ORACLE")}


def table() -> str:
    """The table in Markdown, a line for each file of numbers."""
    lines = [HEADS, ("---",) * len(HEADS)]
    lines += [_line(name, oracle) for name, oracle in written.oracles().items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _line(name: str, oracle: written.Oracle) -> tuple[str, ...]:
    d, folder = oracle.difference, name.partition("/")
    numbers = ["–" if number is None else f"{number:.1e}" for number in (d.loss, d.gradient)]
    equal = "–" if d.cases is None else f"{d.cases:,}"
    apart = "–" if d.deviation is None else f"{d.deviation:.1f} standard errors"
    place = f"[{name}](../papers/{folder[0]}/oracles/{folder[2]}.json)"
    script = oracle.script.rpartition(".")[2]
    dtypes = ", ".join(oracle.dtypes) or "–"
    code = f"{oracle.code}"
    return (oracle.objective, code, dtypes, *numbers, equal, apart, place, f"[{script}]({script}.py)")


def renewed(text: str) -> str:
    """README.md with the table of now. Raises ValueError where its place is not marked."""
    before, rest = text.split(f"{BEGIN}\n", 1)
    _, after = rest.split(END, 1)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(renewed(README.read_text(encoding="utf-8")), encoding="utf-8")
